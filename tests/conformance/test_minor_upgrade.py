"""The pull request of a real minor upgrade, as the action opens it, with everything that it has to say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import txtar
from conformance.real_files import regenerator_of
from convergence.fleet import Fleet, fleet_at
from e2e.fleet import plain
from flux_upgrade.manifests.options import InstallOptions
from real_parts import require_program

pytestmark = pytest.mark.real_part("shared data")

CASE = Path(__file__).parent / "minor_upgrade.txtar"
TEXTS = Path(__file__).parent / "minor_upgrade"
"""Files of their own: ``docs/picture.py`` draws ``fixed.md``."""
MANIFEST = "clusters/production/flux-system/gotk-components.yaml"
KUSTOMIZATION = "clusters/production/flux-system/kustomization.yaml"
BROKEN = "# switched off, to find out who still uses it\n"
"""What stands above the patch that breaks, the last one."""
COMPONENTS = (
    "source-controller",
    "kustomize-controller",
    "helm-controller",
    "notification-controller",
    "image-reflector-controller",
    "image-automation-controller",
)
RAN = (("v2.6.1", "2025-06-03"), ("v2.7.5", "2025-12-01"), ("v2.8.8", "2026-05-26"))
"""The releases of the cluster, and since when."""
HIDDEN = re.compile(r"::[0-9a-f]+::")
CONFIG = "migrate: with-upgrade\nkubernetes-version: 1.34\n"


@pytest.fixture
def fleet(releases: Path, tmp_path: Path) -> Iterator[Fleet]:
    require_program("kustomize")
    regenerator = regenerator_of(releases)
    with fleet_at(tmp_path, txtar.read(CASE).under("before"), CONFIG) as fleet:
        fleet.source, fleet.token = releases, fleet.hub.token("app")
        for tag, day in RAN:
            fleet.hub.clock.set(f"{day}T09:00:00Z")
            options = InstallOptions(tag)._replace(components=COMPONENTS)
            content = regenerator.regenerate(options).text.encode()
            fleet.people.push("", {MANIFEST: content}, f"Flux {tag}\n")
        fleet.hub.clock.set("2026-08-20T06:00:00Z")
        yield fleet


def test_a_broken_patch_holds_it(fleet: Fleet, *, update_golden: bool) -> None:
    ran = fleet.run()
    assert (ran.code, ran.outcome) == (0, "held"), ran.log + ran.err
    assert not fleet.repository.pulls
    shown = "".join(line for line in ran.log.splitlines(keepends=True) if not is_hidden(line))
    texts = {"held.md": plain(ran.summary).encode(), "held.txt": plain(shown).encode()}
    case = txtar.read(CASE)
    found = replace(case, files={**case.files, **texts})
    if update_golden:
        txtar.write(CASE, found)
    assert txtar.render(found) == CASE.read_text()


def test_approved_it_is_a_thing_to_do(fleet: Fleet, *, update_golden: bool) -> None:
    ran = fleet.run(approve="2.9")
    assert (ran.code, ran.outcome) == (0, "opened"), ran.log + ran.err
    require_golden(fleet, "pull_request.md", update_golden=update_golden)


def test_once_the_patch_is_gone_it_needs_approval(fleet: Fleet, *, update_golden: bool) -> None:
    above, _, below = txtar.read(CASE).text(f"before/{KUSTOMIZATION}").partition(BROKEN)
    assert below
    fleet.people.push("", {KUSTOMIZATION: above.encode()}, "Serve all versions of Alert\n")
    ran = fleet.run()
    assert (ran.code, ran.outcome) == (0, "opened"), ran.log + ran.err
    require_golden(fleet, "fixed.md", update_golden=update_golden)


def require_golden(fleet: Fleet, name: str, *, update_golden: bool) -> None:
    """The one pull request, which is a draft, is that of a golden file."""
    (pull,) = fleet.repository.pulls.values()
    assert pull.is_draft
    text = plain(f"<!-- {pull.title} -->\n{pull.body}")
    if update_golden:
        (TEXTS / name).write_text(text, encoding="utf-8")
    assert text == (TEXTS / name).read_text(encoding="utf-8")


def is_hidden(line: str) -> bool:
    """Lines that the runner obeys, and does not show."""
    return line.startswith(("::add-mask::", "::stop-commands::")) or HIDDEN.fullmatch(line.rstrip()) is not None
