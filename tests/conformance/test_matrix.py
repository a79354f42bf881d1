"""What Flux's own generator wrote is rendered again, byte for byte."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from conformance.real_files import members, regenerator_of, rows, tell
from flux_upgrade.manifests.generators import known_generator
from flux_upgrade.manifests.node_copies import serialize
from flux_upgrade.manifests.nodes import compose
from flux_upgrade.manifests.options import InstallOptions, validate
from parsed_options import render_options

pytestmark = pytest.mark.real_part("shared data")


def test_every_golden_of_flux_2(conformance: Path, releases: Path) -> None:
    regenerator = regenerator_of(releases)
    goldens = dict(members(conformance / "matrix.tar.xz"))
    different, equal = [], 0
    for row in rows(conformance / "matrix.jsonl"):
        if known_generator(row["version"]) is None:
            continue
        options = _options(row)
        validate(options, regenerator.manifests(row["version"]).components)
        text = regenerator.regenerate(options).text.encode()
        assert hashlib.sha256(goldens[row["file"]]).hexdigest() == row["sha256"]
        if text == goldens[row["file"]]:
            equal += 1
        else:
            different.append(row["file"])
    tell(f"matrix: {equal} goldens of Flux 2 byte-identical, {len(different)} different")
    assert not different
    assert equal >= 70


def _options(row: dict[str, object]) -> InstallOptions:
    """The golden's own command line, less ``install --export``, read as ours."""
    arguments = row["flux_args"]
    assert isinstance(arguments, list)
    return render_options(*arguments[2:]).install


def test_every_document_is_serialized_as_flux_wrote_it(releases: Path) -> None:
    """What carrying an edit stands on: an object that is written again keeps its untouched lines."""
    regenerator = regenerator_of(releases)
    seen: set[str] = set()
    for tag in regenerator.stable_tags():
        components = regenerator.manifests(tag).components
        base = regenerator.regenerate(InstallOptions(tag, components=components))
        for document in base.manifest.objects.values():
            text = document.text.replace(tag, "v2.0.0")
            if text not in seen:
                seen.add(text)
                assert serialize(compose(text)) == text, f"{tag} {document.key}"
    tell(f"serialized: {len(seen)} distinct documents of {len(regenerator.stable_tags())} releases, all equal")


def test_the_manifest_that_flux_published(releases: Path) -> None:
    """The second evidence for an unknown release, on one that is known."""
    regenerator = regenerator_of(releases)
    published = (releases / "v2.9.4" / "gotk-components.yaml").read_text()
    components = next(line for line in published.splitlines() if line.startswith("# Components: "))
    names = tuple(components.removeprefix("# Components: ").split(","))
    assert regenerator.regenerate(InstallOptions("v2.9.4", components=names)).text == published
