"""The Action with a config file that extends one of another repository on the stand-in for GitHub."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from github_stand_in import Repository, Token
from github_stand_in.model import Pull

from e2e.fleet import NAME, PERMISSIONS, Fleet, everything, git
from e2e.runner import Result
from flows import fleet
from flux_upgrade import main
from flux_upgrade.config.config import PATH
from flux_upgrade.model.errors import FluxUpgradeError, InvalidConfig, SharedConfigUnusable, UntrustedConfig
from replacing import replace

WHERE, SHARED = "octo-org/platform", "flux-upgrade.yaml"
PATCH, MINOR = "flux-upgrade/clusters.staging/patch", "flux-upgrade/clusters.staging/minor"
PRIVATE = "reviewers: [the-name-of-nobody]\npolicy: none\n"


class Shared:
    """The fleet and the repository with the shared file; the token of the job reads only the fleet."""

    def __init__(self, on: Fleet) -> None:
        self.on = on
        self.platform: Repository = on.hub.create_repository(WHERE, {SHARED: b"policy: none\n"})
        on.token = on.hub.token("actions", PERMISSIONS, repositories=(NAME,))

    def pin(self, commit: str = "", own: str = "") -> None:
        config = f"extends: {WHERE}/{SHARED}@{commit or self.platform.head()}\n{own}"
        self.on.repository.people.push("main", {PATH: config.encode()})

    def share(self, text: str, own: str = "") -> None:
        self.platform.people.push("main", {SHARED: text.encode()})
        self.pin(own=own)

    def reads(self) -> list[str]:
        """Calls about the repository with the shared file."""
        return [call.path for call in self.on.hub.calls if WHERE in call.path]


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    with Fleet(tmp_path, fleet({"clusters/staging": "v2.8.7"})) as on:
        yield Shared(on)


def held(shared: Shared, done: Result, text: str, error: type[FluxUpgradeError] = SharedConfigUnusable) -> None:
    """Nothing was opened, updated or closed, and the reason is an annotation and in the job summary."""
    assert done.exit_code == error.exit_code, done.log
    (annotation,) = done.annotations
    assert annotation.properties["title"] == f"flux-upgrade: {error.slug}"
    assert text in annotation.message
    assert text in done.summary.replace("\\", "")
    assert done.outputs == {"outcome": "failed"}
    assert shared.on.written() == []
    assert shared.on.token.value not in everything(done)


def test_the_shared_policy_decides_what_is_a_draft(shared: Shared) -> None:
    shared.pin()
    done = shared.on.run({"mode": "plan"})
    assert done.exit_code == 0, done.log
    assert shared.on.would_open(done) == {PATCH: True, MINOR: True}
    assert len(shared.reads()) == 3


def test_the_files_own_key_wins(shared: Shared) -> None:
    shared.pin(own="policy: minor\n")
    assert shared.on.would_open(shared.on.run({"mode": "plan"})) == {MINOR: False}


def test_a_run_keeps_no_copy_and_the_pin_decides(shared: Shared) -> None:
    shared.pin()
    for _ in range(2):
        done = shared.on.run({"mode": "plan"})
        assert (done.exit_code, len(shared.reads())) == (0, 3), done.log
        shared.platform.people.push("main", {SHARED: b"auto-merge: patch\n"})


def test_a_private_repository_is_read_with_a_token_that_may(shared: Shared) -> None:
    shared.platform.settings.is_private = True
    shared.share(PRIVATE)
    denied = shared.on.run()
    held(shared, denied, f"{WHERE} does not exist, or the token cannot read it")
    assert "use a token that can read octo-org/platform" in denied.annotations[0].message
    shared.on.token = shared.on.hub.token("app", PERMISSIONS, repositories=(NAME, WHERE))
    done = shared.on.run({"mode": "plan"})
    assert done.exit_code == 0, done.log
    assert shared.on.would_open(done) == {PATCH: True, MINOR: True}


def gone(shared: Shared) -> str:
    shared.pin()
    del shared.on.hub.repositories[WHERE]
    return "does not exist, or the token cannot read it"


def of_a_fork(shared: Shared) -> str:
    pull = shared.platform.people.open_from_fork("main", {SHARED: b"policy: none\n"}, "Looks good")
    shared.pin(pull.head_sha)
    return "is not on main, the default branch of octo-org/platform"


def too_large(shared: Shared) -> str:
    shared.share("#" * 300_000)
    return "is larger than 256 KiB"


def without_the_file(shared: Shared) -> str:
    shared.platform.people.push("main", {SHARED: None})
    shared.pin()
    return f"there is no {SHARED} in {WHERE}"


def unknown_key(shared: Shared) -> str:
    shared.share("polcy: none\n")
    return "unknown key 'polcy', did you mean 'policy'?"


def auto_merge(shared: Shared) -> str:
    shared.share("auto-merge: patch\n")
    return "key 'auto-merge' cannot be set in a shared file"


def test_what_cannot_be_used_holds_everything_with_its_reason(shared: Shared) -> None:
    shared.pin()
    assert shared.on.run().exit_code == 0
    opened = shared.on.opened()
    for spoil in (of_a_fork, too_large, without_the_file, unknown_key, auto_merge, gone):
        reason = spoil(shared)
        held(shared, shared.on.run(), reason)
        assert shared.on.opened() == opened


def test_what_is_looser_is_an_error_of_the_config_file(shared: Shared) -> None:
    shared.share("policy: minor\n")
    done = shared.on.run()
    held(shared, done, f"{PATH}:1: policy 'minor' in {WHERE}/{SHARED}@", InvalidConfig)
    assert "is looser than 'patch'" in done.annotations[0].message


# On a laptop


def on_laptop(shared: Shared, *argv: str, token: Token | None = None) -> tuple[int, str, str]:
    env = {
        "GITHUB_API_URL": shared.on.hub.api_url,
        "GITHUB_TOKEN": token.value if token else "",
        "FLUX_UPGRADE_RELEASE_TOKEN": shared.on.token.value,
    }
    out, err = io.BytesIO(), io.StringIO()
    shared.on.hub.forget()
    with contextlib.chdir(shared.on.check_out()):
        code = main.run(argv, env, out, err)
    return code, out.getvalue().decode(), err.getvalue()


def test_config_check_shows_which_file_each_value_comes_from(shared: Shared) -> None:
    shared.share("policy: none\nreviewers: [alice]\n", own="policy: patch\n")
    for token in (None, shared.on.token):
        code, out, err = on_laptop(shared, "config", "check", token=token)
        assert (code, err, len(shared.reads())) == (0, "", 3)
        file = f"{WHERE}/{SHARED}@{shared.platform.head()[:12]}"
        assert f"  policy: patch ({PATH}, instead of none)\n  reviewers: [alice] ({file})\n" in out
        assert "  without approval: patches\n" in out
        assert "  reviewers: alice\n" in out


@pytest.mark.parametrize("command", ["plan", "upgrade"])
def test_without_the_shared_file_nothing_is_written_on_a_laptop_either(shared: Shared, command: str) -> None:
    shared.platform.settings.is_private = True
    shared.pin()
    source = f"--release-source={shared.on.hub.api_url}/repos/fluxcd/flux2"
    code, out, err = on_laptop(shared, command, source)
    assert (code, out) == (SharedConfigUnusable.exit_code, "")
    assert f"flux-upgrade: {WHERE} does not exist, or the token cannot read it [shared-config]\n  Try: " in err
    assert git("-C", str(shared.on.workspace), "status", "--porcelain") == ""
    shared.on.token = shared.on.hub.token("fine-grained", {"contents": "read"}, repositories=(NAME, WHERE))
    code, out, err = on_laptop(shared, "plan", source, token=shared.on.token)
    assert (code, len(shared.reads())) == (0, 3), err
    assert "needs approval" in out


@pytest.mark.parametrize("command", ["check", "migrate", "inspect"])
def test_what_needs_no_shared_key_does_not_read_the_file(shared: Shared, command: str) -> None:
    shared.pin("f" * 40)
    _, _, err = on_laptop(shared, command, f"--release-source={shared.on.hub.api_url}/repos/fluxcd/flux2")
    assert "shared-config" not in err
    assert shared.reads() == []


def test_in_a_run_for_a_pull_request_the_base_branch_decides(shared: Shared) -> None:
    shared.pin()
    assert shared.on.run().exit_code == 0
    (pull,) = (each for each in shared.on.repository.pulls.values() if each.head == MINOR)
    on_base = {"GITHUB_REF": "refs/heads/main", "GITHUB_SHA": shared.on.repository.head()}

    done = shared.on.run(event="pull_request_target", env=on_base, payload=payload_of(pull))
    assert (done.exit_code, len(shared.reads())) == (0, 3), done.log
    left = shared.on.run(event="pull_request_target", env=on_base, payload=payload_of(replace(pull, head="other")))
    assert (left.exit_code, shared.reads()) == (0, []), left.log

    env = {"GITHUB_REF": f"refs/pull/{pull.number}/merge"}
    workspace = shared.on.check_out()
    git("-C", str(workspace), "checkout", "--quiet", MINOR)
    for inputs in ({"mode": "plan"}, {"dry-run": "true"}):
        done = shared.on.run(inputs, event="pull_request", env=env, is_checked_out=True)
        held(shared, done, "does not show that its commit is on main", UntrustedConfig)
        assert shared.on.hub.calls == []


def payload_of(pull: Pull) -> Mapping[str, Any]:
    """What GitHub tells of a change by a person."""
    head = {"ref": pull.head, "repo": {"full_name": NAME}}
    return {"pull_request": {"number": pull.number, "head": head}, "sender": {"type": "User"}}
