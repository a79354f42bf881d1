"""Arguments and environment become the options of each command, and secrets are shown nowhere."""

from __future__ import annotations

import pytest

from flux_upgrade.cli.options import UpgradeOptions
from flux_upgrade.cli.parse import parse_command, tag
from flux_upgrade.config.environment import environment_of, secrets_of
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import UsageError
from flux_upgrade.planning.plan import UpgradeRequest
from parsed_options import parsed, render_options, upgrade_options

ENV = {"HOME": "/home/me", "PATH": "/bin", "GITHUB_TOKEN": "secret"}


def test_render_has_the_flags_of_flux() -> None:
    options = render_options(
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
    )
    assert options.install == InstallOptions(
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


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", ()),
        ("a,b", ("a", "b")),
        ('"a","b"', ("a", "b")),
        ('"a,b"', ("a,b",)),
        ('"a""b"', ('a"b',)),
        ("a,", ("a", "")),
    ],
)
def test_lists_are_read_as_flux_reads_them(text: str, items: tuple[str, ...]) -> None:
    assert render_options(f"--toleration-keys={text}").install.toleration_keys == items


def test_a_list_with_an_open_quote_is_refused() -> None:
    with pytest.raises(UsageError, match="not a comma-separated list"):
        render_options('--toleration-keys="a')


def test_defaults_are_those_of_flux() -> None:
    assert render_options().install == InstallOptions(version="")
    assert render_options("--network-policy").install.network_policy
    extra = render_options("--components-extra=source-watcher").install.components
    assert extra == (*InstallOptions("").components, "source-watcher")


def test_upgrade() -> None:
    options = upgrade_options("upgrade", "x", "--to", "2.9.4", "--dry-run", "--on-conflict=take-release")
    request = options.request
    assert (options.path, request.to, request.writes) == ("x", "v2.9.4", False)
    assert options.governing == {"on-conflict": "take-release"}
    plain = upgrade_options("upgrade")
    assert (plain.path, plain.request) == (".", UpgradeRequest(writes=True))
    assert plain.release_source == "github"


@pytest.mark.parametrize(
    ("env", "cache"),
    [({"HOME": "/h"}, "/h/.cache/flux-upgrade"), ({"HOME": "/h", "XDG_CACHE_HOME": "/c"}, "/c/flux-upgrade"), ({}, "")],
)
def test_the_cache_is_where_caches_are(env: dict[str, str], cache: str) -> None:
    assert environment_of(env).cache_dir == cache


@pytest.mark.parametrize(
    ("env", "repositories", "registry"),
    [
        ({}, "", ""),
        ({"HOME": "/h"}, "/h/.config/helm/repositories.yaml", "/h/.config/helm/registry/config.json"),
        (
            {"HOME": "/h", "XDG_CONFIG_HOME": "c"},
            "/h/.config/helm/repositories.yaml",
            "/h/.config/helm/registry/config.json",
        ),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}, "/c/helm/repositories.yaml", "/c/helm/registry/config.json"),
        ({"HOME": "/h", "HELM_CONFIG_HOME": "/x"}, "/x/repositories.yaml", "/x/registry/config.json"),
        ({"HELM_REPOSITORY_CONFIG": "/r.yaml", "HELM_REGISTRY_CONFIG": "/c.json"}, "/r.yaml", "/c.json"),
    ],
)
def test_helms_files_are_where_helm_has_them(env: dict[str, str], repositories: str, registry: str) -> None:
    access = environment_of(env).registry
    assert (access.helm_repositories, access.helm_registry) == (repositories, registry)


def test_the_token_is_not_shown() -> None:
    found = parse_command(["inspect"], ENV)
    assert found.environment.tokens == ("secret", "", "secret")
    assert "secret" not in repr(found) + repr(found.options) + repr(found.environment)
    assert environment_of({"GH_TOKEN": " other\n"}).tokens.repository == "other"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["rendr"], "did you mean 'render'?"),
        (["update"], "did you mean 'upgrade'?"),
        (["install"], "did you mean 'bootstrap' or 'render'?"),
        (["help"], "did you mean '--help'?"),
        (["upgrade", "--dryrun"], "did you mean '--dry-run'?"),
        (["plan", "--ladder=false"], "'--ladder', did you mean '--multi-step'?"),
        (["migrate", "--scan=apps"], "did you mean '--include'?"),
        (["upgrade", "--migrated"], "did you mean '--flux-migrate-done'?"),
        (["upgrade", "--version=v2.9.4"], "did you mean '--to'?"),
        (["render", "--verson=v2.9.4"], "did you mean '--version'?"),
        (["render", "--components-extras=x"], "did you mean '--components-extra'?"),
        (["render", "--network-policy=maybe"], "'maybe' must be true or false"),
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
        parse_command(argv, ENV)
    assert message in caught.value.message
    assert "--help" in caught.value.hint
    assert "\n" not in caught.value.message


SERVER = {"GITHUB_API_URL": "https://ghe.example/api/v3"}
GOVERNED = {
    "--policy=minor": ("policy", "minor"),
    "--range=>=2.6 <2.9": ("range", ">=2.6 <2.9"),
    "--flags=log-level: debug": ("flags", "log-level: debug"),
    "--check-images=false": ("check-images", False),
    "--migrate=with-upgrade": ("migrate", "with-upgrade"),
    "--multi-step=false": ("multi-step", False),
    "--include=apps/**": ("include", ["apps/**"]),
    "--kubernetes-version=1.33": ("kubernetes-version", "1.33"),
}
ASKED = {
    "--config=x.yaml": ("config", "x.yaml"),
    "--repository=acme/fleet": ("repository", "acme/fleet"),
    "--pull-request": ("pull_request", True),
    "--release-source=/mirror": ("release_source", "/mirror"),
}
REQUESTED = {
    "--base=release": ("base", "release"),
    "--flux-migrate-done": ("migrated", True),
    "--approve=2.9,production=v2.9.4+migrated": ("approve", ("2.9", "production=v2.9.4+migrated")),
}


@pytest.mark.parametrize("command", ["plan", "upgrade"])
def test_plan_and_upgrade_have_what_governs_them(command: str) -> None:
    found = parse_command([command, "x", "--ca-file=ca.pem", *GOVERNED, *ASKED, *REQUESTED], ENV)
    options, plain = found.options, upgrade_options(command)
    assert isinstance(options, UpgradeOptions)
    assert (found.command, options.path, found.environment.ca_file) == (command, "x", "ca.pem")
    assert (dict(options.governing), dict(plain.governing)) == (dict(GOVERNED.values()), {})
    for name, value in ASKED.values():
        assert getattr(options, name) == value != getattr(plain, name)
    for name, value in REQUESTED.values():
        assert getattr(options.request, name) == value != getattr(plain.request, name)
    assert options.request.writes == (command == "upgrade")


def test_images_are_looked_for_as_the_config_file_says_unless_asked() -> None:
    assert upgrade_options("plan").governing == {}
    assert upgrade_options("plan", "--check-images").governing == {"check-images": True}
    assert upgrade_options("upgrade", "--check-images", "x").path == "x"
    with pytest.raises(UsageError, match="'never' must be true or false"):
        parse_command(["plan", "--check-images=never"], ENV)


def test_what_an_upgrade_means_is_as_the_config_file_says_unless_asked() -> None:
    assert upgrade_options("plan", "--multi-step").governing == {"multi-step": True}
    asked = upgrade_options("upgrade", "--flux-migrate-done", "x", "--include=b", "--include", "!b/c")
    assert (asked.request.migrated, asked.path, asked.governing) == (True, "x", {"include": ["b", "!b/c"]})
    assert not upgrade_options("upgrade", "--flux-migrate-done=false").request.migrated
    with pytest.raises(UsageError, match="with-upgrade"):
        parse_command(["plan", "--migrate=later"], ENV)


ARTIFACT = "oci://ghcr.io/org/flux:production"


def test_an_artifact_is_an_address_and_the_tree_is_around_the_working_folder() -> None:
    words = ("--username=me", "--password-stdin")
    options = upgrade_options("upgrade", ARTIFACT, *words)
    assert (str(options.artifact), options.path) == (ARTIFACT, ".")
    registry = parse_command(["upgrade", ARTIFACT, *words], ENV).environment.registry
    assert (registry.host, registry.is_password_on_stdin) == ("ghcr.io", True)
    assert upgrade_options("plan", "clusters").artifact is None


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
    assert upgrade_options("upgrade", ARTIFACT, *flags).promote == promote


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["upgrade", ARTIFACT, "--pull-request", "--promote=tag"], "--pull-request moves no tag"),
        (["upgrade", ARTIFACT, "--username=me"], "--username is given without a password"),
        (["upgrade", ARTIFACT, "--password-stdin"], "--password-stdin is given without --username"),
        (["upgrade", "clusters", "--plain-http"], "--plain-http needs an artifact"),
        (["upgrade", "oci://Ghcr.io/Org/flux"], "the URL of the artifact is not valid"),
        (["rollback", "clusters"], "rollback needs the tag of an artifact"),
        (["rollback"], "rollback needs the tag of an artifact"),
        (["rollback", "oci://ghcr.io/org/flux"], "rollback needs the tag of an artifact"),
    ],
)
def test_what_cannot_be_meant_about_an_artifact_is_said(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_command(argv, ENV)


def test_credential_helpers_get_none_of_our_own_secrets() -> None:
    env = {**ENV, "AWS_PROFILE": "ci", "INPUT_TOKEN": "a", "FLUX_UPGRADE_REGISTRY_PASSWORD": "b"}
    environment = environment_of(env).registry.environment
    assert environment == {"HOME": "/home/me", "PATH": "/bin", "AWS_PROFILE": "ci"}


def test_the_config_to_check_is_a_path() -> None:
    assert parsed(str, ["config", "check"]) == ""
    assert parsed(str, ["config", "check", "x.yaml"]) == "x.yaml"


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
    assert environment_of(env).github == github


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
    assert environment_of(env).tokens == tokens


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
    assert environment_of(env).git == {"GIT_SSH_COMMAND": "ssh -i key", "SSH_AUTH_SOCK": "/run/agent"}


@pytest.mark.parametrize(("given", "expected"), [("2.9.4", "v2.9.4"), ("v2.9.4", "v2.9.4"), ("", ""), ("main", "main")])
def test_a_version_is_taken_as_a_tag(given: str, expected: str) -> None:
    assert tag(given) == expected
