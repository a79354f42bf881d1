"""A configuration of Git that another user wrote is not used, and no program of it runs."""

from __future__ import annotations

import re
from contextlib import closing, suppress
from pathlib import Path

import pytest

from adapters.hostile_settings import ROWS, Hostile, Planted
from adapters.on_git import NOW, PATH, QUESTION, opening
from flux_upgrade.adapters.git.checkout import Checkout
from flux_upgrade.adapters.git.forge import GitForge
from flux_upgrade.adapters.git.git_history import GitHistory
from flux_upgrade.adapters.git.remotes import RemoteAccess, flavour_of
from flux_upgrade.model.errors import FluxUpgradeError, UsageError
from git_servers import PERSON, Bare, HttpHost, git, give_away

EVERY = [pytest.param(row, id=name) for name, row in ROWS.items()]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """The server's repository, with two commits."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "fleet").mkdir()
    bare, first = Bare.make(folder / "fleet" / "infra.git"), folder / "first"
    git("clone", "--quiet", bare.folder, first)
    (first / PATH).parent.mkdir(parents=True)
    for text in ("v2.9.2\n", "apiVersion: helm.toolkit.fluxcd.io/v2\nv2.9.3\n"):
        (first / PATH).write_text(text)
        (first / "app.yaml").write_text(text)
        git("add", "--all", at=first)
        git("commit", "--quiet", "-m", "Change", at=first)
    git("push", "--quiet", "origin", "HEAD:main", at=first)
    return bare


def attacked(row: Hostile, served: Bare, tmp_path: Path, port: int) -> tuple[Planted, Path, str]:
    """The canary, a clone with the row's settings, and the address of its remote."""
    planted, clone = Planted.make(tmp_path / "planted"), tmp_path / "clone"
    git("clone", "--quiet", *row.clone, f"file://{served.folder}", clone)
    # A file that Git has to look into, to say how it differs.
    (clone / PATH).write_text("changed\r\n")

    def fill(text: str) -> str:
        return text.replace("{bare}", str(served.folder)).replace("{port}", str(port))

    url = fill(row.url).replace("{canary}", str(planted.canary))
    git("config", "remote.origin.url", url, at=clone)
    planted.put(row, clone, fill)
    return planted, clone, url


def everything(checkout: Checkout, url: str, environment: dict[str, str]) -> None:
    """All that a run may do with Git in a checkout, and with the server that it names."""
    with suppress(FluxUpgradeError):
        url = checkout.remote_url()
    checkout.origin(), checkout.identity(), checkout.objects()
    past = GitHistory(checkout, [PATH])
    past.of(PATH), past.mentions(["helm.toolkit.fluxcd.io/v2"])
    for base in (checkout.head, "0" * 40):
        checkout.explain(PATH, base)
    with (
        suppress(FluxUpgradeError),
        closing(GitForge(RemoteAccess(url, "git"), environment, lambda: NOW, checkout)) as forge,
    ):
        forge.apply(opening(forge.fetch(QUESTION)))


@pytest.mark.parametrize("row", EVERY)
def test_no_program_of_a_configuration_runs(row: Hostile, served: Bare, tmp_path: Path) -> None:
    ran = {}
    with HttpHost(served.folder.parents[1]) as host:
        port = int(host.url.rpartition(":")[2])
        planted, clone, url = attacked(row, served, tmp_path, port)
        environment = {**PERSON, "PATH": planted.path}
        for where, workspace in (("own", ""), ("outside", ""), ("workspace", str(tmp_path))):
            if where == "outside":
                give_away(clone)
            planted.ran.unlink(missing_ok=True)
            everything(Checkout(str(clone), environment, workspace), url, environment)
            ran[where] = planted.ran.exists()
    assert ran == {"own": row.is_owners, "outside": False, "workspace": False}


@pytest.mark.parametrize(
    "url", ["ext::sh -c true", "fd::17", "canary::https://example.com/fleet", "EXT::x", "a+b-c.d::x"]
)
def test_a_remote_helper_is_refused_by_name(url: str, served: Bare, tmp_path: Path) -> None:
    git("clone", "--quiet", served.folder, tmp_path / "clone")
    git("config", "remote.origin.url", url, at=tmp_path / "clone")
    checkout = Checkout(str(tmp_path / "clone"), PERSON)
    name = url.partition("::")[0]
    with pytest.raises(UsageError, match=rf"remote helper `{re.escape(name)}`, which flux-upgrade does not run"):
        GitForge(RemoteAccess(checkout.remote_url(), "git", token="x"), PERSON, lambda: NOW, checkout)
    with pytest.raises(UsageError, match="remote helper"):
        flavour_of(url, {})


def _refused(url: str, **more: str) -> UsageError:
    with (
        pytest.raises(UsageError) as caught,
        closing(GitForge(RemoteAccess(url, "git"), {**PERSON, **more}, lambda: NOW)) as forge,
    ):
        forge.fetch(QUESTION)
    return caught.value


def test_a_transport_that_is_not_allowed_is_named(served: Bare) -> None:
    url = f"file://{served.folder}"
    assert "is reached by `foo`, which is not allowed" in _refused("foo://example.com/fleet").message
    assert "is reached by `file`, which is not allowed" in _refused(url, GIT_ALLOW_PROTOCOL="https:ssh").message
    allowed = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.allow", "GIT_CONFIG_VALUE_0": "always"}
    error = _refused("foo://example.com/fleet", **allowed, GIT_ALLOW_PROTOCOL="foo:https")
    assert "is reached by `foo`" in error.message
    assert "https or ssh URL" in error.hint
