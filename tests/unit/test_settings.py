from __future__ import annotations

import pytest

from flux_upgrade.errors import UsageError
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.settings import parse_settings

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
    assert settings.token == "secret"
    assert "secret" not in repr(settings)
    assert parse_settings(["inspect"], {"GH_TOKEN": " other\n"}).token == "other"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ([], "no command"),
        (["rendr"], "did you mean 'render'?"),
        (["render", "--verson=v2.9.4"], "did you mean '--version'?"),
        (["render", "--components-extras=x"], "did you mean '--components-extra'?"),
        (["render", "--network-policy=maybe"], "'maybe' is neither true nor false"),
        (["render", "stray"], "unknown argument 'stray'"),
        (["upgrade", "--on-conflict=x"], "take-release"),
        (["upgrade", "--to"], "--to"),
        (["upgrade", "--namespace=x"], "unknown argument '--namespace=x'"),
        (["upgrade", ".", "other"], "unknown argument 'other'"),
        (["inspect", "--yaml"], "unknown argument '--yaml'"),
    ],
)
def test_bad_usage(argv: list[str], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_settings(argv, ENV)
    assert told in caught.value.message
    assert "--help" in caught.value.hint
    assert "\n" not in caught.value.message
