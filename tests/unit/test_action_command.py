"""A crash ends with the outcome `failed`, which the next steps of the workflow see."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from e2e.runner import pairs
from flows import fleet
from flux_upgrade import main
from flux_upgrade.model.timing import Timing

TOKEN = "ghs_notARealToken"


def _broken() -> float:
    raise ZeroDivisionError(f"a clock that says {TOKEN}")


def test_a_defect_is_a_failure_for_later_steps_too(tmp_path: Path, written_source: Path) -> None:
    workspace = tmp_path / "workspace"
    for path, content in {**fleet({"clusters/a": "v2.8.8"}), ".git/HEAD": b"ref: refs/heads/main\n"}.items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_bytes(content)
    env = {
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_REPOSITORY": "acme/fleet",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "INPUT_TOKEN": TOKEN,
        "INPUT_RELEASE-SOURCE": str(written_source),
    }
    out, err = io.BytesIO(), io.StringIO()
    with contextlib.chdir(workspace):
        code = main.run(["action"], env, out, err, Timing(_broken, _slept, _broken))
    assert code == 1
    assert dict(pairs((tmp_path / "output").read_text())) == {"outcome": "failed"}
    log = out.getvalue().decode()
    assert "::error title=flux-upgrade%3A unexpected::ZeroDivisionError at test_action_command.py" in log
    assert log.replace(f"::add-mask::{TOKEN}\n", "").count(TOKEN) == 0
    assert "flux-upgrade: ZeroDivisionError at test_action_command.py" in err.getvalue()
    assert "a clock that says ***" in err.getvalue()
    assert "report this bug" in (tmp_path / "summary").read_text()


def _slept(seconds: float) -> None:
    raise AssertionError(seconds)
