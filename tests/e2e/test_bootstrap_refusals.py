"""A bootstrap that cannot succeed is refused with one error, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from e2e.bootstraps import ACTION, FOLDER, NAME, Site, opened
from e2e.fleet import everything
from error_names import require_error
from flux_upgrade.bootstrap.workflow_file import PATH as WORKFLOW
from flux_upgrade.bootstrap.workflow_file import workflow_text
from flux_upgrade.model.errors import (
    AlreadyBootstrapped,
    FluxUpgradeError,
    ForbiddenByForge,
    ReleaseNotFound,
    RepositoryUnfit,
    UsageError,
)

ARCHIVED, BOOTSTRAPPED, OCCUPIED = "octo-org/archived", "octo-org/bootstrapped", "octo-org/occupied"
NOWHERE = "octo-org/nowhere"
SECRET = {"actions-secret": "FLUX"}


@dataclass(frozen=True)
class Bad:
    """What is given, and what is said of it."""

    inputs: Mapping[str, str]
    error: type[FluxUpgradeError]
    message: str
    env: Mapping[str, str] = field(default_factory=dict)
    is_app: bool = False
    """The token is an App's."""
    event: str = "workflow_dispatch"
    refused: int = 0
    """Calls that would have written, had GitHub not refused them: it alone knows what a token may."""


BAD = {
    # Flags
    "an-unknown-flag": Bad({"flags": "netwrok-policy=false"}, UsageError, "did you mean 'network-policy'?"),
    "a-flag-that-is-an-input": Bad({"flags": "brunch=x"}, UsageError, "did you mean 'branch'?"),
    "no-boolean": Bad({"flags": "network-policy: maybe"}, UsageError, "network-policy"),
    "no-duration": Bad({"flags": "interval: often"}, UsageError, "interval"),
    "a-list-for-a-text": Bad({"flags": "log-level: [info, debug]"}, UsageError, "log-level"),
    "no-yaml": Bad({"flags": "components-extra: [x"}, UsageError, "flags"),
    "of-gitlab": Bad({"flags": "deploy-token-auth=true"}, UsageError, "deploy-token-auth"),
    "of-git": Bad({"flags": "silent=true"}, UsageError, "silent"),
    "before-its-version": Bad({"flags": "version=v2.8.8 sparse-checkout=clusters"}, UsageError, "v2.9"),
    "no-such-version": Bad({"flags": "version=v2.9.99"}, ReleaseNotFound, "v2.9.99"),
    "no-version": Bad({"flags": "version=newest"}, UsageError, "newest"),
    "no-such-component": Bad({"flags": "components-extra=image-reflektor-controller"}, UsageError, "image-reflektor-controller"),
    "without-source-controller": Bad({"flags": "components=helm-controller"}, UsageError, "source-controller"),
    "several-at-once": Bad({"flags": "netwrok-policy=false interval=often"}, UsageError, "interval"),
    # Path and branch
    "out-of-the-repository": Bad({"path": "../x"}, UsageError, "../x"),
    "an-absolute-path": Bad({"path": "clusters/../../x"}, UsageError, "../x"),
    "no-such-branch": Bad({"base": "no-such-branch"}, RepositoryUnfit, "no-such-branch"),
    # Repository
    "no-such-repository": Bad({"repository": NOWHERE}, RepositoryUnfit, f"{NOWHERE} does not exist"),
    "archived": Bad({"repository": ARCHIVED}, RepositoryUnfit, "archived"),
    "for-another-path": Bad({"repository": BOOTSTRAPPED}, AlreadyBootstrapped, "would be overwritten"),
    "by-another-flux": Bad(
        {"repository": BOOTSTRAPPED, "path": "clusters/other"}, AlreadyBootstrapped, "another Flux reconciles"
    ),
    "may-not-create": Bad(
        {"repository": NOWHERE, "create-repository": "true"}, ForbiddenByForge, "Administration", refused=1
    ),
    "no-such-owner": Bad(
        {"repository": "nobody/x", "create-repository": "true"}, UsageError, "the account nobody does not exist", is_app=True, refused=1
    ),
    "describes-what-is-not-created": Bad({"description": "Mine"}, UsageError, "create-repository"),
    # Access
    "a-secret-that-begins-with-a-digit": Bad({"actions-secret": "1ST"}, UsageError, "'1ST'"),
    "a-secret-of-githubs": Bad({"actions-secret": "GITHUB_FLUX"}, UsageError, "GITHUB_"),
    "an-environment-without-a-secret": Bad({"actions-environment": "prod"}, UsageError, "actions-secret"),
    "no-such-environment": Bad(
        {**SECRET, "actions-environment": "prod"}, ForbiddenByForge, "no environment prod", is_app=True
    ),
    "an-environment-of-a-new-repository": Bad(
        {**SECRET, "actions-environment": "prod", "repository": NOWHERE, "create-repository": "true"},
        UsageError,
        "environment",
        is_app=True,
    ),
    "may-not-list-keys": Bad(SECRET, ForbiddenByForge, "Administration"),
    "a-token-of-the-job-for-flux": Bad(
        {**SECRET, "flags": "token-auth=true"}, UsageError, "FLUX_UPGRADE_SYNC_TOKEN", is_app=True
    ),
    "an-app-without-a-key": Bad(
        {**SECRET, "flags": "app-id=1 app-installation-id=2"}, UsageError, "FLUX_UPGRADE_APP_PRIVATE_KEY", is_app=True
    ),
    "an-app-before-its-version": Bad({"flags": "app-id=1 version=v2.4.0"}, UsageError, "v2.5"),
    # The workflow
    "may-not-write-workflows": Bad({"add-workflow": "true"}, ForbiddenByForge, "the token cannot write"),
    "another-workflow-in-its-place": Bad(
        {"repository": OCCUPIED, "add-workflow": "true"}, UsageError, WORKFLOW, is_app=True
    ),
    # Mode and inputs
    "no-such-mode": Bad({"mode": "bootstrp"}, UsageError, "did you mean 'bootstrap'?"),
    "with-a-policy": Bad({"policy": "minor"}, UsageError, "is not for mode: bootstrap"),
    "with-an-approval": Bad({"approve": "2.9"}, UsageError, "is not for mode: bootstrap"),
    "creates-and-upgrades": Bad({"mode": "upgrade", "create-repository": "true"}, UsageError, "is only for mode: bootstrap"),
    "seals-and-plans": Bad({"mode": "plan", **SECRET}, UsageError, "is only for mode: bootstrap"),
    "neither-true-nor-false": Bad({"create-repository": "yes"}, UsageError, "must be true or false"),
    "an-empty-token": Bad({"token": ""}, UsageError, "the input token is empty"),
    "no-token": Bad({"token": "ghs_notAToken"}, ForbiddenByForge, "token"),
    "on-a-pull-request": Bad({}, UsageError, "pull_request", event="pull_request"),
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Nothing is ever written here, so that one is enough."""
    with opened(tmp_path_factory.mktemp("refusals")) as found:
        readme = {"README.md": b"Fleet\n"}
        found.hub.create_repository(NAME, readme)
        found.hub.create_repository(ARCHIVED, readme, is_archived=True)
        found.hub.create_repository(OCCUPIED, {WORKFLOW: b"on: push\njobs: {}\n"})
        elsewhere = SYNC.replace(b"PATH", b"./clusters/other")
        found.hub.create_repository(BOOTSTRAPPED, {f"{FOLDER}/gotk-sync.yaml": elsewhere})
        yield found


SYNC = b"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 1m0s
  ref:
    branch: main
  secretRef:
    name: flux-system
  url: ssh://git@127.0.0.1/octo-org/bootstrapped
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 10m0s
  path: PATH
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
"""


@pytest.mark.parametrize("name", BAD)
def test_it_is_refused_before_anything_is_written(site: Site, name: str) -> None:
    bad = BAD[name]
    token = site.app if bad.is_app else site.job
    before = sorted(site.hub.repositories)
    done = site.bootstrap(bad.inputs, event=bad.event, env=bad.env, token=token)
    (annotation,) = (each for each in done.annotations if each.level == "error")
    assert (done.exit_code, annotation.properties) == (
        bad.error.exit_code,
        {"title": f"flux-upgrade: {bad.error.slug}"},
    ), done.log
    assert bad.message in annotation.message
    assert (done.outputs["outcome"], "Traceback" in done.log) == ("failed", False)
    assert [each for each in done.annotations if each.level != "error"] == []
    assert "eft to do" not in done.log + done.summary
    written = site.written()
    assert len(written) == bad.refused
    assert [call.status for call in site.hub.writes if call.status < 400] == []
    assert (sorted(site.hub.repositories), site.repository().pulls) == (before, {})
    assert token.value not in everything(done)


def test_the_workflow_that_a_token_may_not_write_can_be_pasted(site: Site) -> None:
    done = site.bootstrap({"add-workflow": "true"})
    text = workflow_text(ACTION)
    (annotation,) = done.annotations
    assert annotation.message.endswith(f"as {WORKFLOW}:\n\n{text}")
    assert f"```yaml\n{text}```\n" in done.summary
    assert site.written() == []


def test_a_secret_is_shown_nowhere(site: Site) -> None:
    secret = "ghp_aTokenThatFluxIsToHave"
    for env in ({"FLUX_UPGRADE_SYNC_TOKEN": secret}, {"FLUX_UPGRADE_APP_PRIVATE_KEY": secret}):
        done = site.bootstrap({"flags": f"token-auth=true branch={secret}"}, env=env)
        require_error(RepositoryUnfit, done.exit_code, done.log)
        assert secret not in everything(done)
