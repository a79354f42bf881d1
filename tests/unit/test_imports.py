"""What a run imports is most of what it costs."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import written_release

HEAVY = {"github", "git", "requests", "urllib3", "yaml", "semver", "subprocess", "dataclasses", "typing"}
PROGRAM = """
import sys, io
sys.path[:0] = sys.argv[1].split(":")
import flux_upgrade.main
if len(sys.argv) > 2:
    code = flux_upgrade.main.run(sys.argv[2:], {"PATH": "", "HOME": ""}, io.BytesIO(), sys.stderr)
    assert code == 0, code
loaded = set(sys.modules)
import json
print(json.dumps(sorted({name.partition(".")[0] for name in loaded})))
"""


def imported(*argv: str) -> set[str]:
    source = str(Path(__file__).parents[2] / "src")
    site = sysconfig.get_path("purelib")
    # Isolated and without site, whose imports are not ours.
    done = subprocess.run(  # noqa: S603 our own program
        [sys.executable, "-I", "-S", "-c", PROGRAM, f"{source}:{site}", *argv],
        capture_output=True,
        text=True,
        check=True,
    )
    found: set[str] = set(json.loads(done.stdout))
    return found


def test_the_entry_point_imports_nothing_heavy() -> None:
    assert imported() & HEAVY == set()


def test_render_imports_nothing_heavy(tmp_path: Path) -> None:
    source = str(written_release.write_source(tmp_path / "releases", ("v2.9.4",)))
    assert imported("render", "--version=v2.9.4", f"--release-source={source}") & HEAVY == set()


@pytest.mark.parametrize("heavy", ["requests", "github", "git"])
def test_an_upgrade_of_a_local_tree_needs_no_network(heavy: str, tmp_path: Path) -> None:
    source = str(written_release.write_source(tmp_path / "releases", ("v2.9.4",)))
    from flux_upgrade.manifests.options import InstallOptions
    from memory import rendered

    (tmp_path / "gotk-components.yaml").write_text(rendered(InstallOptions("v2.9.4")))
    assert heavy not in imported("upgrade", str(tmp_path), f"--release-source={source}")
