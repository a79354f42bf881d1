"""Version references are not looked for in large files, and a report says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases_on_disk import run_in
from flux_upgrade.adapters.local.files import MAX_FILE
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.pins.unread_files import LARGEST, suspected_kind

INSTANCE = b"""apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata:
  name: flux
spec:
  distribution:
    version: 2.8.8
"""


@pytest.mark.parametrize("size", [LARGEST, MAX_FILE])
def test_a_large_file_that_may_have_a_version_reference_is_named(
    tmp_path: Path, written_source: Path, size: int
) -> None:
    (tmp_path / "flux.yaml").write_bytes(INSTANCE + b"\n" * size)
    (tmp_path / "other.yaml").write_bytes(b"kind: ConfigMap\n" + b"\n" * size)
    run = run_in(tmp_path, written_source, ["inspect", "--json"])
    (pin,) = json.loads(run.out)["pins"]
    assert (pin["path"], pin["kind"], pin["role"]) == ("flux.yaml", "flux-instance", "reported")
    assert pin["reason"] == "the file may set a Flux version, but it is too large"
    planned = run_in(tmp_path, written_source, ["plan"])
    assert "flux.yaml:1" in planned.out


def test_a_large_file_without_the_name_is_left_out(tmp_path: Path, written_source: Path) -> None:
    (tmp_path / "flux.yaml").write_bytes(INSTANCE)
    (tmp_path / "other.yaml").write_bytes(b"kind: source-controller\n" + b"\n" * MAX_FILE)
    assert "other.yaml" not in run_in(tmp_path, written_source, ["plan"]).out


def test_a_name_on_the_border_of_two_pieces_counts() -> None:
    assert suspected_kind("flux.yaml", [b"kind: Flux", b"Instance\n"]) == "flux-instance"
    assert suspected_kind("flux.sh", [b"kind: FluxInstance\n"]) == ""


def test_a_text_that_cannot_be_read_to_its_end_may_have_one() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"kind: ConfigMap\n"
        raise Unreadable("it is gone")

    assert suspected_kind("flux.yaml", pieces()) == "flux-instance"
