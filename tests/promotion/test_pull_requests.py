"""Where Git pins an artifact, a pull request changes the pin to one that is in the registry, and no tag moves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.faulty_registry import Fault, FaultyRegistry
from convergence.fleet import Fleet, fleet_at, installation
from convergence.runs import Ran
from error_names import require_error
from flux_upgrade.model.errors import ForbiddenByRegistry
from promotion.program import Seen, Site

PATH = "clusters/production/flux-source.yaml"
PINNED = "v2.8.7-0123456789ab"


@pytest.fixture
def site(registry_url: str, written_source: Path, tmp_path: Path) -> Site:
    return Site(registry_url, written_source, f"pinned/{tmp_path.name.replace('_', '-').lower()}")


@pytest.fixture
def seen(site: Site) -> Seen:
    return Seen(site.url, site.path)


@pytest.fixture
def fleet(site: Site, tmp_path: Path) -> Iterator[Fleet]:
    """A repository that pins the artifact by its tag and its digest; another tag moves."""
    digest = site.push("v2.8.7", tag=PINNED)
    site.push("v2.8.7")
    (tmp_path / "fleet").mkdir()
    content = (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\n"
        "metadata:\n  name: flux-components\n  namespace: flux-system\n"
        f"spec:\n  interval: 10m0s\n  url: {site.address.removesuffix(':production')}\n"
        f"  ref:\n    tag: {PINNED} # who moves this?\n    digest: {digest}\n"
    )
    with fleet_at(tmp_path / "fleet", {PATH: content.encode(), "README.md": b"# Fleet\n"}) as made:
        yield made


def run(fleet: Fleet, site: Site, *more: str) -> Ran:
    return fleet.command("upgrade", site.address, "--plain-http", *more)


def pins(fleet: Fleet, branch: str) -> tuple[str, str]:
    """Tag and digest on a branch."""
    content = fleet.repository.files(branch)[PATH].decode()
    found = re.search(r"tag: (\S+) # who moves this\?\n    digest: (\S+)\n", content)
    assert found is not None
    return found[1], found[2]


def by_subject(fleet: Fleet) -> dict[str, str]:
    """Subject → branch, of the open pull requests."""
    return {pull.head.rpartition("/")[2]: pull.head for pull in fleet.repository.pulls.values() if pull.state == "open"}


def test_the_pin_is_changed_by_pull_request_and_no_tag_moves(fleet: Fleet, site: Site, seen: Seen) -> None:
    before = seen.tags()

    ran = run(fleet, site)

    assert ran.code == 0, ran.err
    assert set(by_subject(fleet)) == {"patch", "minor"}
    tag, digest = pins(fleet, by_subject(fleet)["patch"])
    assert tag.startswith("v2.8.8-")
    assert seen.tags()[tag] == digest
    assert seen.version(tag) == "v2.8.8"
    assert {name: seen.tags()[name] for name in before} == before
    changed = fleet.repository.files(by_subject(fleet)["patch"])
    assert {name for name, content in changed.items() if content != fleet.repository.files()[name]} == {PATH}


def test_the_minor_is_a_draft(fleet: Fleet, site: Site) -> None:
    run(fleet, site)

    assert {pull.head.rpartition("/")[2]: pull.is_draft for pull in fleet.repository.pulls.values()} == {
        "patch": False,
        "minor": True,
    }


def test_a_second_run_writes_neither_there_nor_here(fleet: Fleet, site: Site, seen: Seen) -> None:
    run(fleet, site)
    before = seen.tags()

    again = run(fleet, site)

    assert again.writes == ()
    assert seen.tags() == before


def test_merged_it_is_at_rest(fleet: Fleet, site: Site, seen: Seen) -> None:
    run(fleet, site)
    fleet.people.merge(1, "squash")
    run(fleet, site)
    before = seen.tags()

    again = run(fleet, site)

    assert pins(fleet, "main")[0].startswith("v2.8.8-")
    assert set(by_subject(fleet)) == {"minor"}
    assert again.writes == ()
    assert seen.tags() == before


def test_a_dry_run_and_a_plan_push_nothing_and_open_nothing(fleet: Fleet, site: Site, seen: Seen) -> None:
    before = seen.tags()

    dry = run(fleet, site, "--dry-run")
    planned = fleet.command("plan", site.address, "--plain-http")

    assert (dry.code, planned.code) == (0, 0), dry.err + planned.err
    assert "would be opened" in dry.log
    assert "v2.8.7 → v2.8.8" in planned.log
    assert seen.tags() == before
    assert not fleet.repository.pulls


GROUPS = b"""groups:
  artifact: {paths: [clusters/production/]}
  vendored: {paths: [clusters/staging/]}
  none: {paths: [clusters/prod/]}
"""


@pytest.mark.parametrize("command", ["plan", "upgrade"])
def test_only_a_group_without_any_pin_is_warned_of(fleet: Fleet, site: Site, command: str) -> None:
    files = installation("v2.8.7", "clusters/staging")
    fleet.people.push("main", {".github/flux-upgrade.yaml": GROUPS, **files}, "Groups\n")

    ran = fleet.command(command, site.address, "--plain-http")

    assert ran.code == 0, ran.err
    (warning,) = (line for line in ran.err.splitlines() if "warning" in line)
    assert warning.endswith(
        'group "none" matches nothing: paths clusters/prod/ (nearest directory: clusters/production)'
    )


def test_who_asks_for_the_tag_moves_the_tag(fleet: Fleet, site: Site, seen: Seen) -> None:
    ran = run(fleet, site, "--promote=tag")

    assert ran.code == 0, ran.err
    assert seen.version() == "v2.8.8"
    assert not fleet.repository.pulls


def test_a_registry_that_takes_nothing_fails_the_proposal_and_opens_nothing(
    fleet: Fleet, site: Site, seen: Seen
) -> None:
    with FaultyRegistry(site.url) as proxy:
        proxy.spoil("PUT", "/manifests/v2.", Fault(status=403, body=b'{"errors":[{"code":"DENIED"}]}'), -1)
        content = fleet.repository.files()[PATH].decode()
        fleet.people.push("main", {PATH: content.replace(site.url[7:], proxy.url[7:]).encode()}, "Move\n")

        ran = run(fleet, Site(proxy.url, site.source, site.path))

    require_error(ForbiddenByRegistry, ran.code, ran.err)
    assert not fleet.repository.pulls
    assert not [tag for tag in seen.tags() if tag.startswith("v2.8.8-")]
