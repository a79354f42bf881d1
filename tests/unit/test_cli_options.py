"""Arguments and environment become the settings of each command, and secrets are shown nowhere."""

from __future__ import annotations

import pytest

from flux_upgrade.cli.options import parse_settings, tag
from flux_upgrade.config.environment import secrets_of
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import UsageError

ENV = {"HOME": "/home/me", "PATH": "/bin", "GITHUB_TOKEN": "secret"}


def test_render_has_the_flags_of_flux() -> None:
    settings = parse_settings(
        [
            "render",
            "--version=2.9.4",
            "--namespace=x",
            "--components=a,b",
            "--components=c",
            "--components-extra=d,e",
            "--registry=r",
            "--image-pull-secret=s",
            "--watch-all-namespaces=false",
            "--network-policy=F",
            "--log-level=debug",
            "--cluster-domain=c.l",
            "--toleration-keys=k,l",
            "--toleration-keys=m",
        ],
        ENV,
    )
    assert settings.options == InstallOptions(
        version="v2.9.4",
        namespace="x",
        components=("a", "b", "c", "d", "e"),
        registry="r",
        image_pull_secret="s",
        watch_all_namespaces=False,
        network_policy=False,
        log_level="debug",
        cluster_domain="c.l",
        toleration_keys=("k", "l", "m"),
    )


def test_defaults_are_those_of_flux() -> None:
    assert parse_settings(["render"], ENV).options == InstallOptions(version="")
    assert parse_settings(["render", "--network-policy"], ENV).options.network_policy
    extra = parse_settings(["render", "--components-extra=source-watcher"], ENV).options.components
    assert extra == (*InstallOptions("").components, "source-watcher")


def test_upgrade() -> None:
    settings = parse_settings(
        ["upgrade", "x", "--to", "2.9.4", "--dry-run", "--on-conflict=take-release"], ENV
    )
    assert (settings.path, settings.to, settings.dry_run, settings.take_release) == (
        "x",
        "v2.9.4",
        True,
        True,
    )
    plain = parse_settings(["upgrade"], ENV)
    assert (plain.path, plain.to, plain.dry_run, plain.take_release) == (".", "", False, False)
    assert plain.release_source == "github"


@pytest.mark.parametrize(
    ("env", "cache"),
    [
        ({"HOME": "/h"}, "/h/.cache/flux-upgrade"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/c"}, "/c/flux-upgrade"),
        ({}, ""),
    ],
)
def test_the_cache_is_where_caches_are(env: dict[str, str], cache: str) -> None:
    assert parse_settings(["inspect"], env).cache_dir == cache


def test_the_token_is_not_shown() -> None:
    settings = parse_settings(["inspect"], ENV)
    assert settings.tokens == ("secret", "", "secret")
    assert "secret" not in repr(settings)
    assert parse_settings(["inspect"], {"GH_TOKEN": " other\n"}).tokens.repository == "other"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "no command"),
        (["rendr"], "did you mean 'render'?"),
        (["render", "--verson=v2.9.4"], "did you mean '--version'?"),
        (["render", "--components-extras=x"], "did you mean '--components-extra'?"),
        (["render", "--network-policy=maybe"], "'maybe' is neither true nor false"),
        (["render", "stray"], "unknown argument 'stray'"),
        (["upgrade", "--on-conflict=x"], "take-release"),
        (["upgrade", "--to"], "--to"),
        (["upgrade", "--namespace=x"], "unknown argument '--namespace'"),
        (["upgrade", ".", "other"], "unknown argument 'other'"),
        (["inspect", "--yaml"], "unknown argument '--yaml'"),
    ],
)
def test_bad_usage(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_settings(argv, ENV)
    assert message in caught.value.message
    assert "--help" in caught.value.hint
    assert "\n" not in caught.value.message


SERVER = {"GITHUB_API_URL": "https://ghe.example/api/v3"}
GOVERNED = {
    "--policy=minor": ("policy", "minor"),
    "--range=>=2.6 <2.9": ("range", ">=2.6 <2.9"),
    "--config=x.yaml": ("config", "x.yaml"),
    "--flags=log-level: debug": ("flags", "log-level: debug"),
    "--repository=acme/fleet": ("repository", "acme/fleet"),
    "--base=release": ("base", "release"),
    "--pull-request": ("pull_request", True),
    "--check-images=false": ("check_images", False),
    "--migrate=with-upgrade": ("migrate", "with-upgrade"),
    "--ladder=false": ("ladder", False),
    "--scan=apps/**": ("scan", ("apps/**",)),
    "--kubernetes-version=1.33": ("kubernetes_version", "1.33"),
    "--migrated": ("migrated", True),
    "--approve=2.9": ("approve", ("2.9",)),
    "--ca-file=ca.pem": ("ca_file", "ca.pem"),
    "--release-source=/mirror": ("release_source", "/mirror"),
}


@pytest.mark.parametrize("command", ["plan", "upgrade"])
def test_plan_and_upgrade_have_what_governs_them(command: str) -> None:
    settings = parse_settings([command, "x", *GOVERNED], ENV)
    assert settings.command == command
    assert settings.path == "x"
    for name, value in GOVERNED.values():
        assert getattr(settings, name) == value
    plain = parse_settings([command], ENV)
    for name, value in GOVERNED.values():
        assert getattr(plain, name) != value


def test_images_are_looked_for_as_the_config_file_says_unless_asked() -> None:
    assert parse_settings(["plan"], ENV).check_images is None
    assert parse_settings(["plan", "--check-images"], ENV).check_images is True
    assert parse_settings(["upgrade", "--check-images", "x"], ENV).path == "x"
    with pytest.raises(UsageError, match="'never' is neither true nor false"):
        parse_settings(["plan", "--check-images=never"], ENV)


def test_what_an_upgrade_means_is_as_the_config_file_says_unless_asked() -> None:
    assert parse_settings(["plan"], ENV).ladder is None
    assert parse_settings(["plan", "--ladder"], ENV).ladder is True
    asked = parse_settings(["upgrade", "--migrated", "x", "--scan=b", "--scan", "!b/c"], ENV)
    assert (asked.migrated, asked.path, asked.scan) == (True, "x", ("b", "!b/c"))
    assert not parse_settings(["upgrade", "--migrated=false"], ENV).migrated
    with pytest.raises(UsageError, match="with-upgrade"):
        parse_settings(["plan", "--migrate=later"], ENV)


ARTIFACT = "oci://ghcr.io/org/flux:production"


def test_an_artifact_is_an_address_and_the_tree_is_around_the_working_folder() -> None:
    settings = parse_settings(["upgrade", ARTIFACT, "--username=me", "--password-stdin"], ENV)
    assert (str(settings.artifact), settings.path) == (ARTIFACT, ".")
    assert settings.registry.is_password_on_stdin
    assert parse_settings(["plan", "clusters"], ENV).artifact is None


@pytest.mark.parametrize(
    ("flags", "promote"),
    [
        ([], ""),
        (["--promote=tag"], "tag"),
        (["--pull-request"], "pull-request"),
        (["--pull-request", "--promote=pull-request"], "pull-request"),
    ],
)
def test_who_asks_for_a_pull_request_has_an_artifact_promoted_by_one(flags: list[str], promote: str) -> None:
    assert parse_settings(["upgrade", ARTIFACT, *flags], ENV).promote == promote


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["upgrade", ARTIFACT, "--pull-request", "--promote=tag"], "--pull-request moves no tag"),
        (["upgrade", ARTIFACT, "--username=me"], "--username is given without a password"),
        (["upgrade", ARTIFACT, "--password-stdin"], "--password-stdin is given without --username"),
        (["upgrade", "clusters", "--plain-http"], "--plain-http is about the registry of an artifact"),
        (["upgrade", "oci://Ghcr.io/Org/flux"], "the address of the artifact cannot be used"),
        (["rollback", "clusters"], "what is rolled back is the tag of an artifact"),
        (["rollback"], "what is rolled back is the tag of an artifact"),
        (["rollback", "oci://ghcr.io/org/flux"], "what is rolled back is the tag of an artifact"),
    ],
)
def test_what_cannot_be_meant_about_an_artifact_is_said(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_settings(argv, ENV)


def test_credential_helpers_get_none_of_our_own_secrets() -> None:
    env = {**ENV, "AWS_PROFILE": "ci", "INPUT_TOKEN": "a", "FLUX_UPGRADE_REGISTRY_PASSWORD": "b"}
    environment = parse_settings(["upgrade", ARTIFACT], env).registry.environment
    assert environment == {"HOME": "/home/me", "PATH": "/bin", "AWS_PROFILE": "ci"}


def test_the_config_to_check_is_a_path() -> None:
    assert parse_settings(["config", "check"], ENV).path == ".github/flux-upgrade.yaml"
    assert parse_settings(["config", "check", "x.yaml"], ENV).path == "x.yaml"


@pytest.mark.parametrize(
    ("env", "github"),
    [
        ({}, ("https://github.com", "https://api.github.com", "https://api.github.com/graphql")),
        (
            {
                "GITHUB_SERVER_URL": "https://ghe.example/",
                "GITHUB_API_URL": "https://ghe.example/api/v3/",
                "GITHUB_GRAPHQL_URL": "https://ghe.example/api/graphql",
            },
            ("https://ghe.example", "https://ghe.example/api/v3", "https://ghe.example/api/graphql"),
        ),
        (
            {"GITHUB_SERVER_URL": "https://ghe.example", "GITHUB_API_URL": "https://ghe.example/api/v3"},
            ("https://ghe.example", "https://ghe.example/api/v3", "https://ghe.example/api/graphql"),
        ),
    ],
    ids=["a laptop", "an Enterprise Server", "one that tells no address of GraphQL"],
)
def test_where_github_is(env: dict[str, str], github: tuple[str, str, str]) -> None:
    assert parse_settings(["plan"], env).github == github


@pytest.mark.parametrize(
    ("env", "tokens"),
    [
        ({}, ("", "", "")),
        ({"GITHUB_TOKEN": "a"}, ("a", "", "a")),
        ({"GH_TOKEN": "b"}, ("b", "", "b")),
        ({"GITHUB_TOKEN": "a", "GH_TOKEN": "b"}, ("a", "", "a")),
        ({"GITHUB_TOKEN": "a", "FLUX_UPGRADE_RELEASE_TOKEN": "c"}, ("a", "", "c")),
        ({"GITHUB_TOKEN": "a", "FLUX_UPGRADE_TOKEN": "d"}, ("a", "d", "a")),
        # The token of an Enterprise Server is not sent to github.com.
        ({"GITHUB_TOKEN": "a", **SERVER}, ("a", "", "")),
        ({"GITHUB_TOKEN": "a", "FLUX_UPGRADE_RELEASE_TOKEN": "c", **SERVER}, ("a", "", "c")),
    ],
)
def test_each_token_is_for_one_place(env: dict[str, str], tokens: tuple[str, str, str]) -> None:
    assert parse_settings(["plan"], env).tokens == tokens


def test_every_token_is_a_secret() -> None:
    env = {
        "GITHUB_TOKEN": "a",
        "GH_TOKEN": " b\n",
        "FLUX_UPGRADE_RELEASE_TOKEN": "c",
        "INPUT_TOKEN": "d",
        "INPUT_RELEASE-TOKEN": "e",
        "FLUX_UPGRADE_TOKEN": "f",
        "INPUT_POLICY": "minor",
    }
    assert set(secrets_of(env)) == set("abcdef")
    assert secrets_of({"INPUT_TOKEN": " ", "GITHUB_TOKEN": ""}) == ()


def test_git_gets_its_users_settings_but_no_path_of_another_repository() -> None:
    env = {
        "GIT_SSH_COMMAND": "ssh -i key",
        "SSH_AUTH_SOCK": "/run/agent",
        "GIT_DIR": "/elsewhere/.git",
        "GIT_WORK_TREE": "/elsewhere",
        "GIT_INDEX_FILE": "/elsewhere/index",
        "OTHER": "x",
    }
    assert parse_settings(["upgrade"], env).git == {
        "GIT_SSH_COMMAND": "ssh -i key",
        "SSH_AUTH_SOCK": "/run/agent",
    }


@pytest.mark.parametrize(
    ("given", "expected"), [("2.9.4", "v2.9.4"), ("v2.9.4", "v2.9.4"), ("", ""), ("main", "main")]
)
def test_a_version_is_taken_as_a_tag(given: str, expected: str) -> None:
    assert tag(given) == expected
