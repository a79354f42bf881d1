"""Arguments and environment of `bootstrap` become settings, and secrets are shown nowhere."""

from __future__ import annotations

from typing import Any

import config_reference
import pytest

from config_files import load
from flux_upgrade.bootstrap.options import Provider, Source
from flux_upgrade.bootstrap.request import (
    BootstrapCluster,
    BootstrapRequest,
    CredentialsRequest,
    KubernetesRequest,
    clusters_of,
)
from flux_upgrade.cli.options import BootstrapCommand, Invocation
from flux_upgrade.cli.parse import parse_command
from flux_upgrade.config.config import BootstrapConfig
from flux_upgrade.config.environment import BootstrapSecrets, bootstrap_secrets_of, secrets_of
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.masking import Mask
from parsed_options import bootstrap_command

ENV = {"HOME": "/home/me", "PATH": "/bin"}
REPOSITORY = "--repository=o/r"
TWO = BootstrapConfig(
    flags={"repository": "o/r", "log-level": "debug"},
    clusters=(("staging", {"path": "a"}), ("production", {"path": "b", "log-level": "error"})),
)


GITHUB = {"provider": "github", "owner": "o", "repository": "r", "url": "https://github.com/o/r.git"}
GITEA = {"provider": "gitea", "hostname": "git.example.com", "owner": "o", "repository": "r"}
SERVERS = {"ghes.example.com": "github", "forge.example.com": "gitea"}
OCI = ("--source=oci", "--url=oci://r.example.com/a:b")


def invocation(*words: str, env: dict[str, str] | None = None) -> Invocation:
    return parse_command(["bootstrap", *words], {**ENV, **(env or {})})


def request_of(*words: str, env: dict[str, str] | None = None) -> BootstrapRequest:
    return bootstrap_command(*words, env={**ENV, **(env or {})}).request


def clusters(
    *words: str,
    found: BootstrapConfig | None = None,
    env: dict[str, str] | None = None,
    known: dict[str, str] | None = None,
    servers: dict[str, str] | None = None,
) -> tuple[BootstrapCluster, ...]:
    return clusters_of(request_of(*words, env=env), found, known or {}, servers or {})


def problems(*words: str, found: BootstrapConfig | None = None, env: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(UsageError) as caught:
        clusters(*words, found=found, env=env)
    assert caught.value.hint
    return caught.value.message.split("; ")


def test_without_arguments_there_is_nothing_but_defaults() -> None:
    assert invocation().command == "bootstrap"
    assert bootstrap_command() == BootstrapCommand(".", "", "github", BootstrapRequest())
    assert bootstrap_command("x").checkout == "x"


def test_everything_that_is_ours_is_taken() -> None:
    words = (
        "tree", "--provider=github", "--source=git", "--config=c.yaml", "--cluster=x", "--create-repository",
        "--description=d", "--add-workflow", "--secret-file=s.yaml", "--known-hosts=k", "--rotate-key",
        "--app-private-key=p.pem", "--kubeconfig=kc", "--context=ctx", "--timeout=10m", "--push", "--json", "--dry-run",
        "--ca-file=ca.pem", "--docker-config=d.json", "--release-source=rel",
    )  # fmt: skip
    found = invocation(*words)
    request = BootstrapRequest(
        {"ca-file": "ca.pem"}, "github", "git", "x", create_repository=True, description="d", add_workflow=True,
        push=True, json=True, dry_run=True, kubernetes=KubernetesRequest("kc", "ctx", 600),
        credentials=CredentialsRequest("s.yaml", known_hosts="k", rotate_key=True, app_private_key="p.pem"),
    )  # fmt: skip
    assert found.options == BootstrapCommand("tree", "c.yaml", "rel", request)
    environment = found.environment
    assert (environment.ca_file, environment.registry.docker_config) == ("ca.pem", "d.json")


def test_what_is_given_by_itself_and_in_flags_has_to_be_the_same() -> None:
    found = request_of(
        "--flags=path: a\ncomponents-extra: [x, y]\nprivate: 'false'",
        "--path=a",
        "--private=0",
        "--components-extra=x,y",
    )
    assert (found.flags["path"], found.flags["components-extra"]) == ("a", ["x", "y"])
    with pytest.raises(UsageError) as caught:
        request_of("--flags=path=b registry-creds=u:hush", "--path=a", "--registry-creds=u:hush2")
    assert caught.value.message == (
        "--registry-creds has another value in --flags; --path has another value in --flags"
    )
    # What cannot be read at all is reported later, with all other problems.
    assert request_of("--flags=path=a", "--path=..").flags == {"path": ".."}
    with pytest.raises(UsageError, match="--flags: unknown flag 'pth'"):
        request_of("--flags=pth: a")


@pytest.mark.parametrize(
    ("words", "env", "kubeconfig"),
    [
        ((), {"KUBECONFIG": "/kc"}, ""),
        (("--context=c",), {"KUBECONFIG": "/kc:/other"}, "/kc:/other"),
        (("--context=c",), {}, "/home/me/.kube/config"),
        (("--kubeconfig=k", "--context=c"), {"KUBECONFIG": "/kc"}, "k"),
    ],
)
def test_no_cluster_is_touched_unless_one_is_named(
    words: tuple[str, ...], env: dict[str, str], kubeconfig: str
) -> None:
    assert request_of(*words, env=env).kubernetes.kubeconfig == kubeconfig


@pytest.mark.parametrize("text", ["60", "0s", "x", ""])
def test_a_timeout_has_units(text: str) -> None:
    with pytest.raises(UsageError, match=r"--timeout: .* is not a duration with units"):
        request_of(f"--timeout={text}")


def test_a_timeout_is_no_less_than_a_second() -> None:
    assert request_of("--timeout=1500ms").kubernetes.timeout == 1
    with pytest.raises(UsageError, match="--timeout: '500ms' is less than a second"):
        request_of("--timeout=500ms")


def test_no_value_is_shown_of_a_flag_that_is_misspelt() -> None:
    with pytest.raises(UsageError) as caught:
        request_of("--registry-cred=u:hush")
    assert caught.value.message == "unknown argument '--registry-cred', did you mean '--registry-creds'?"


def test_what_is_in_many_a_word_is_not_masked() -> None:
    assert request_of("--registry-creds=a:b").secret_values() == ("a:b",)


def test_secrets_are_read_and_shown_nowhere() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nhushhushhushhushhush\n-----END RSA PRIVATE KEY-----\n"
    env = {
        "FLUX_UPGRADE_SYNC_TOKEN": "hush-sync",
        "FLUX_UPGRADE_APP_PRIVATE_KEY": key,
        "FLUX_UPGRADE_CLUSTER_USERNAME": "robot",
        "FLUX_UPGRADE_CLUSTER_PASSWORD": "hush-cluster",
        "GITLAB_TOKEN": "hush-gitlab",
        "GIT_PASSWORD": "hush-git",
        "GH_TOKEN": "hush-gh",
    }
    found = invocation("--registry-creds=u:hush-creds", "--image-pull-secret=s", env=env)
    assert isinstance(found.options, BootstrapCommand)
    request = found.options.request
    assert request.credentials.secrets == BootstrapSecrets(
        "hush-sync", key.strip(), "robot", "hush-cluster", {"gitlab": "hush-gitlab", "git": "hush-git", "github": "hush-gh"}
    )  # fmt: skip
    assert "hush" not in repr(found) + repr(found.options) + repr(request.credentials.secrets) + repr(found.environment)
    assert set(found.secrets) == {"u:hush-creds", "hush-creds"}
    shown = " ".join([*env.values(), "line: hushhushhushhushhush"])
    mask = Mask(secrets_of(env))
    assert "hush" not in mask(shown)
    assert mask("-----BEGIN RSA PRIVATE KEY----- robot") == "-----BEGIN RSA PRIVATE KEY----- robot"
    # Neither Git nor Docker's helpers have any use for them.
    assert "hush" not in str(dict(found.environment.git)) + str(dict(found.environment.registry.environment))


@pytest.mark.parametrize(
    ("env", "provider", "token"),
    [
        ({"FLUX_UPGRADE_SYNC_TOKEN": "s", "GITHUB_TOKEN": "t"}, "github", "s"),
        ({"GITHUB_TOKEN": "t"}, "gitlab", ""),
        ({}, "git", ""),
    ],
)
def test_flux_gets_the_token_that_is_for_it(env: dict[str, str], provider: str, token: str) -> None:
    assert bootstrap_secrets_of(env).token_for(provider) == token


@pytest.mark.parametrize(
    ("name", "provider"),
    [("GITHUB_TOKEN", "github"), ("BITBUCKET_TOKEN", "bitbucket-server"), ("GITEA_TOKEN", "gitea")],
)
def test_flux_never_gets_the_token_that_the_bootstrap_works_with(name: str, provider: str) -> None:
    with pytest.raises(UsageError, match="can do more than that") as caught:
        bootstrap_secrets_of({name: "hush", "FLUX_UPGRADE_SYNC_TOKEN": ""}).token_for(provider)
    assert "FLUX_UPGRADE_SYNC_TOKEN" in caught.value.hint
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "FLUX_UPGRADE_SYNC_TOKEN"])
def test_the_token_of_a_job_is_not_for_a_cluster(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        bootstrap_secrets_of({name: "ghs_hush"}).token_for("github")
    assert "hush" not in caught.value.message
    assert "FLUX_UPGRADE_SYNC_TOKEN" in caught.value.hint


@pytest.mark.parametrize(
    ("words", "known", "provider"),
    [
        ((REPOSITORY,), {}, "github"),
        (("--url=ssh://git@x/y",), {}, "git"),
        ((REPOSITORY, "--hostname=gitlab.example.com"), {}, "gitlab"),
        ((REPOSITORY, "--hostname=bitbucket.example.com"), {}, "bitbucket-server"),
        ((REPOSITORY,), {"provider": "gitea"}, "gitea"),
        ((REPOSITORY, "--provider=gitlab"), {"provider": "gitea"}, "gitlab"),
        ((), {"provider": "gitlab", "owner": "a/b", "repository": "c"}, "gitlab"),
        ((REPOSITORY, "--hostname=gitlab.example.com"), GITHUB, "gitlab"),
        ((REPOSITORY, "--hostname=https://GitLab.example.com:8443/git"), GITHUB, "gitlab"),
        (("--url=ssh://git@git.example.com/x",), GITHUB, "git"),
        ((REPOSITORY, "--hostname=acme.ghe.com"), {}, "github"),
        (("--hostname=Git.example.com:8443",), GITEA, "gitea"),
        (("--provider=gitlab",), GITEA | {"provider": "git"}, "gitlab"),
        ((REPOSITORY, "--hostname=ghes.example.com"), {}, "github"),
        ((REPOSITORY, "--hostname=forge.example.com"), GITHUB, "gitea"),
    ],
)
def test_the_provider_follows_from_the_flags_and_the_remote(
    words: tuple[str, ...], known: dict[str, str], provider: str
) -> None:
    (only,) = clusters(*words, known=known, servers=SERVERS)
    assert only.options.provider is Provider(provider)


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (("--hostname=gitlab.example.com",), {"provider": "github", "owner": "o", "repository": "r"}),
        (("--hostname=github.example.com",), {"provider": "github", "owner": "o", "repository": "r"}),
        (("--provider=gitlab",), {"provider": "github", "owner": "o", "repository": "r"}),
        (("--provider=gitlab",), {"provider": "gitea", "hostname": "x.example.com", "owner": "o", "repository": "r"}),
    ],
)
def test_the_names_of_the_remote_are_for_its_own_server_alone(words: tuple[str, ...], known: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="--owner is missing; --repository is missing"):
        clusters(*words, known=known)


def test_the_names_of_the_remote_are_for_the_server_that_is_named_again() -> None:
    (only,) = clusters("--hostname=Git.example.com:8443", known=GITEA)
    assert (only.options.owner, only.options.repository) == ("o", "r")
    bitbucket = {"provider": "git", "hostname": "git.example.com", "owner": "scm/o", "repository": "r"}
    (only,) = clusters("--provider=bitbucket-server", known=bitbucket)
    assert only.options.owner == "o"


def test_an_artifact_is_of_no_provider() -> None:
    (only,) = clusters(*OCI, known=GITHUB)
    assert only.options.provider is Provider.GIT


def test_a_cluster_beats_what_is_for_all_and_arguments_beat_both() -> None:
    staging, production = clusters(found=TWO)
    assert (staging.name, staging.options.sync_path, staging.options.install.log_level) == ("staging", "./a", "debug")
    assert (production.name, production.options.install.log_level) == ("production", "error")
    assert [each.options.install.log_level for each in clusters("--log-level=info", found=TWO)] == ["info", "info"]
    (only,) = clusters("--cluster=production", "--kubeconfig=k", found=TWO)
    assert only == production
    (alone,) = clusters(found=BootstrapConfig(source="oci", flags={"url": "oci://r.example.com/a:b"}))
    assert (alone.name, alone.options.source) == ("", Source.OCI)
    assert [each.name for each in clusters(found=load(config_reference.BOOTSTRAP_EXAMPLE, "x").bootstrap)] == [
        "staging",
        "production",
    ]


def test_the_registry_username_comes_with_its_password() -> None:
    registry = invocation("--source=oci", "--username=me", "--password-stdin").environment.registry
    assert (registry.username, registry.is_password_on_stdin) == ("me", True)
    assert invocation("--username=me").environment.registry.username == ""
    assert invocation("--username=me", "--password-stdin").environment.registry.username == "me"
    git = invocation("--username=me", "--password-stdin", "--source=git")
    assert git.environment.registry.username == ""
    in_a_file = BootstrapConfig(source="oci", flags={"url": "oci://r.example.com/a:b"})
    assert clusters("--password-stdin", "--username=me", found=in_a_file)


APP = (REPOSITORY, "--app-id=1", "--app-installation-id=2")
PROBLEMS: list[tuple[tuple[str, ...], dict[str, Any], list[str]]] = [
    ((REPOSITORY, "--provider=gitlab", "--actions-secret=A"), {}, ["--actions-secret works only on GitHub, not with gitlab"]),
    ((REPOSITORY, "--provider=gitea", "--create-repository"), {}, ["--create-repository works only on GitHub, not with gitea"]),
    (("--url=ssh://git@x/y", "--add-workflow"), {}, ["--add-workflow works only on GitHub, not with git"]),
    ((*OCI, "--create-repository"), {}, ["--create-repository works only on GitHub, not with an artifact"]),
    ((REPOSITORY, "--hostname=git.example.com"), {}, ["the provider of git.example.com is unknown: add --provider"]),
    ((REPOSITORY, "--password-stdin", "--path=.."), {}, ["--path '..' is not a directory inside the repository", "--password-stdin needs --source=oci and --username"]),
    ((*OCI, "--password-stdin"), {}, ["--password-stdin needs --source=oci and --username"]),
    (("--source=oci",), {}, ["--url is missing: use an address such as oci://ghcr.io/org/flux-manifests:production"]),
    (("--source=oci", "--url=ghcr.io/a:b"), {}, ["--url: the URL of the artifact is not valid (such as oci://ghcr.io/org/flux-manifests:production)"]),
    ((*OCI, "--provider=github"), {}, ["--provider cannot be combined with --source=oci"]),
    ((REPOSITORY, "--team=a"), {}, ["--team needs --create-repository or --reconcile"]),
    (("--provider=gitlab", REPOSITORY, "--team=a"), {}, ["--team has no effect: flux-upgrade gives access only on GitHub"]),
    ((REPOSITORY, "--private=false", "--reconcile"), {}, ["--private needs --create-repository: an existing repository keeps its visibility"]),
    (("--provider=gitlab", REPOSITORY, "--visibility=internal"), {}, ["--visibility needs --create-repository: an existing repository keeps its visibility"]),
    ((REPOSITORY, "--toleration-keys=a,,b"), {}, ["--toleration-keys 'a,,b' is not a list such as a,b"]),
    ((*OCI, "--push"), {}, ["--push cannot be combined with --source=oci"]),
    ((*OCI, "--known-hosts=k"), {}, ["--known-hosts cannot be combined with --source=oci"]),
    ((REPOSITORY, "--secret-file=x", "--actions-secret=A"), {}, ["--secret-file and --actions-secret cannot be combined: the credentials go to one place"]),
    ((REPOSITORY, "--actions-environment=e"), {}, ["--actions-environment needs --actions-secret"]),
    ((REPOSITORY, "--push", "--pull-request"), {}, ["--push and --pull-request cannot be combined"]),
    ((REPOSITORY, "--description=d"), {}, ["--description needs --create-repository"]),
    ((REPOSITORY, "--rotate-key"), {}, ["--rotate-key needs --secret-file, --actions-secret or --kubeconfig for the new key"]),
    ((REPOSITORY, "--actions-secret=GITHUB_X"), {}, ["--actions-secret 'GITHUB_X' must not begin with GITHUB_"]),
    ((REPOSITORY, "--app-private-key=p"), {}, ["--app-private-key needs --app-id"]),
    ((REPOSITORY, "--app-id=1", "--app-private-key=p", "--secret-file=x"), {}, ["--app-id needs --app-installation-id or --app-installation-owner"]),
    ((REPOSITORY, "--app-id=1"), {}, ["--app-id needs --app-installation-id or --app-installation-owner"]),
    ((*APP, "--secret-file=x"), {}, ["--app-id needs the key of the app: --app-private-key or FLUX_UPGRADE_APP_PRIVATE_KEY"]),
    ((*APP, "--app-private-key=p", "--secret-file=x", "--rotate-key"), {}, ["--rotate-key cannot be combined with --app-id, which needs no deploy key"]),
    (("--kubeconfig=k",), {"found": TWO}, ["--kubeconfig is for one of the 2 clusters: select it with --cluster"]),
    (("--cluster=stagin",), {"found": TWO}, ["the config file has no cluster 'stagin', did you mean 'staging'?"]),
    ((REPOSITORY, "--cluster=x"), {}, ["the config file has no cluster 'x'"]),
    (("--path=c",), {"found": TWO}, ["clusters 'staging' and 'production' have the same path ./c"]),
    ((), {"found": TWO._replace(clusters=(("a", {"path": "x"}), ("b", {"path": "x/y"})))}, ["clusters 'a' and 'b' overlap: ./x/y is inside ./x"]),
    ((), {"found": TWO._replace(clusters=(("a", {"path": "x"}), ("b", {})))}, ["clusters 'a' and 'b' overlap: ./x is inside ./"]),
    ((), {"found": TWO._replace(clusters=(("a", {"path": "x"}), ("b", {"path": "y", "branch": "z"})))}, ["the clusters have different values of --branch: bootstrap them one at a time, with --cluster"]),
    (("--team=a:x", "--reconcile"), {"found": TWO}, [f"cluster '{name}': --team 'a:x' is not a name, or name:permission with pull|triage|push|maintain|admin" for name in ("staging", "production")]),
    (("--push", "--pull-request", "--path=..", "--interval=1"), {}, ["--push and --pull-request cannot be combined", "--path '..' is not a directory inside the repository", "--interval '1' is not a duration such as 1s or 1m", "--owner is missing", "--repository is missing"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "more", "expected"), PROBLEMS)
def test_what_does_not_go_together_is_reported_at_once(
    words: tuple[str, ...], more: dict[str, Any], expected: list[str]
) -> None:
    assert sorted(problems(*words, **more)) == sorted(expected)


def test_what_goes_together_is_let_pass() -> None:
    key = {"FLUX_UPGRADE_APP_PRIVATE_KEY": "k"}
    assert clusters(*APP, "--actions-secret=A", "--actions-environment=e", env=key)
    assert clusters(*APP)
    assert clusters(REPOSITORY, "--create-repository", "--description=d", "--add-workflow", "--pull-request")
    assert clusters(REPOSITORY, "--kubeconfig=k", "--rotate-key", "--known-hosts=k")
    assert clusters(*OCI, "--kubeconfig=k", "--secret-file=x")
    assert clusters(REPOSITORY, "--team=a", "--reconcile", "--private")
    assert clusters(REPOSITORY, "--team=a", "--private=false", "--create-repository")
    # What a repository is once it is created, a config file goes on to say.
    assert clusters(REPOSITORY, found=BootstrapConfig(flags={"team": ("a",), "private": False}))
    assert len(clusters(found=TWO._replace(clusters=(("a", {"path": "x"}), ("b", {"path": "x-y"}))))) == 2
