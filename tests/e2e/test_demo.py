"""Each act of ``make demo-full`` shows what its title promises, and the demo stops at any other result."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import fleet
import pytest
from acts import Demo
from bootstrap_act import BootstrapDemo
from github_stand_in import Clock, StandIn
from stage import Machine, Stage, Surprise
from telling import Teller

from real_parts import require_program

DEMO = Path(__file__).resolve().parents[2] / "demo" / "run.py"


def performed(folder: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The demo, as `make demo-full` starts it."""
    return subprocess.run(  # noqa: S603 the demo itself
        [sys.executable, DEMO, "--full", folder], cwd=cwd, capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def acts(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the demo tells, by the number of the act; of the others by their title."""
    require_program("git")
    cwd = tmp_path_factory.mktemp("cwd")
    done = performed(kept, cwd)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert not list(cwd.iterdir())
    found = re.split(r"^── (?:(\d+)\. )?(.*?) ─*$", done.stdout, flags=re.MULTILINE)[1:]
    return {number or title: text for number, title, text in zip(*[iter(found)] * 3, strict=True)}


def states(text: str) -> list[str]:
    return re.findall(r"^  #\d (\w+) +Upgrade Flux to (?:v\S+) in clusters/\w+$", text, re.MULTILINE)


def test_it_has_all_its_acts(acts: dict[str, str]) -> None:
    assert [name for name in acts if name.isdigit()] == [str(number) for number in range(1, 15)]
    assert len(acts) == 18


def test_a_scheduled_run_opens_the_patch_and_a_draft_for_the_pending_minor(acts: dict[str, str]) -> None:
    text = acts["1"]
    assert states(text) == ["open", "open", "draft", "draft"]
    assert "calls: 1 read to fluxcd/flux2, 1 read to acme/fleet, 20 writes to acme/fleet" in text
    # The rendered pull request, and the summary.
    assert "**Minor** · `clusters/staging` · v2.8.7 → v2.9.3 · needs approval" in text
    assert "gh workflow run flux-upgrade.yaml -f approve=2.9" in text
    assert "| Cluster | Pull request | Version | Size | State |" in text


def test_a_second_run_reads_twice_and_writes_nothing(acts: dict[str, str]) -> None:
    assert re.findall(r"^  ([A-Z]+ .*)$", acts["2"], re.MULTILINE) == [
        "GET /repos/fluxcd/flux2/releases",
        "POST /graphql (query)",
    ]
    assert acts["2"].count("unchanged") == 4


def test_a_draft_is_kept_current(acts: dict[str, str]) -> None:
    assert states(acts["3"]) == ["open", "merged", "draft", "draft"]
    assert "#4 draft   Upgrade Flux to v2.9.4 in clusters/staging" in acts["3"]


def test_an_approval_makes_drafts_ready_and_nothing_is_lost_in_what_is_merged(acts: dict[str, str]) -> None:
    assert "on: workflow_dispatch, approve: 2.9" in acts["4"]
    assert states(acts["4"]) == ["open", "merged", "open", "open"]
    assert "memory: 2Gi # the charts are large" in acts["4"]


def test_a_revert_is_respected(acts: dict[str, str]) -> None:
    assert "| v2.8.8 → v2.9.4 | minor | held: **reverted** |" in acts["5"]
    assert "opened" not in acts["5"]


def test_a_conflict_is_held_and_ends_red(acts: dict[str, str]) -> None:
    assert "hold v2.9.4 · edit-conflict" in acts["6"]
    assert "exit code 3" in acts["6"]
    assert states(acts["6"]) == ["open", "merged", "open", "merged"]


def test_the_laptop_shows_the_proof(acts: dict[str, str]) -> None:
    text = next(text for name, text in acts.items() if name.startswith("On a laptop"))
    assert "the version header (line 3) is wrong: v2.9.3" in text
    assert "1 file changed" in text


def test_pins_are_found_and_move_as_sets(acts: dict[str, str]) -> None:
    text = next(text for name, text in acts.items() if name.startswith("Another repository"))
    inspected, planned, upgraded, changed = re.split(
        r"^\$ (?:flux-upgrade (?:plan|upgrade)|git diff) .*$", text, flags=re.MULTILINE
    )
    assert inspected.rstrip().endswith("2 installations, 6 version references of 6 kinds, 1 drifting")
    assert planned.startswith("\ndrift: clusters/production: its version references disagree: v2.8.7 in ")
    *_, counts, following = upgraded.rstrip().splitlines()
    assert counts == "2 clusters: 2 upgraded. 2 other version references: 2 upgraded."
    assert following.startswith("Next:     review the changed files, commit them, and merge them")
    assert "6 files changed" in changed


def test_what_the_minor_does_not_serve_is_moved_first(acts: dict[str, str]) -> None:
    assert re.findall(r"^clusters/production · (.*): opened", acts["7"], re.MULTILINE) == ["migration"]
    assert "  +apiVersion: helm.toolkit.fluxcd.io/v1 # as the wiki has it\n" in acts["7"]
    assert "Warning: HelmRelease apps/shop is migrated to v1." in acts["7"]


def test_then_the_minor_says_what_it_changes_and_which_patch_keeps_it_out(acts: dict[str, str]) -> None:
    assert re.findall(r"^clusters/production · (.*): opened", acts["8"], re.MULTILINE) == ["minor"]
    assert "Not applied: `--requeue-dependency=5s`" in acts["8"]
    assert "`NetworkPolicy/allow-webhooks`: lets in only TCP 9292" in acts["8"]


def test_a_new_repository_has_flux_in_its_first_commit_and_access_to_itself(acts: dict[str, str]) -> None:
    text = acts["9"]
    assert "repository acme/atlas: created" in text
    assert "deploy key: flux-system-main-flux-system-./clusters/production, reads, ssh-ed25519" in text
    assert "teams: {'platform': 'maintain'}" in text
    assert "warning" not in text.lower()
    assert "PRIVATE KEY" not in text


def test_what_was_bootstrapped_is_upgraded_with_no_configuration(acts: dict[str, str]) -> None:
    assert re.findall(r"^clusters/production · patch: (\w+)", acts["10"], re.MULTILINE) == ["opened"]


def test_a_repository_with_content_gets_one_pull_request_that_says_what_is_left_to_do(acts: dict[str, str]) -> None:
    assert "#1 Bootstrap Flux v2.9.4 in clusters/production" in acts["11"]
    assert "**Action required**" in acts["11"]
    assert "gh repo deploy-key add identity.pub" in acts["11"]


def test_a_bootstrap_that_is_run_again_writes_nothing(acts: dict[str, str]) -> None:
    assert "alice merges #1" in acts["12"]
    assert "up to date" in acts["12"]
    assert "write" not in acts["12"]


def test_production_waits_for_staging(acts: dict[str, str]) -> None:
    assert "`production`, patch, v2.8.7 → v2.8.8: staging runs v2.8.7" in acts["13"]
    assert re.findall(r"^(\w+) · patch: (\w+)", acts["13"], re.MULTILINE) == [
        ("production", "opened"),
        ("staging", "opened"),
    ]
    assert "| `production` | `staging`, soak 2d | soak | nothing |" in acts["14"]
    assert acts["14"].count("dashboard: updated") == 2


def test_what_is_kept_is_what_there_was_to_look_at(acts: dict[str, str], kept: Path) -> None:
    assert str(kept) in acts["That was the demo"]
    runs = sorted(each.name for each in kept.iterdir() if each.name[0].isdigit())
    assert [name[:2] for name in runs] == [f"{number:02}" for number in range(1, 18)]
    for name in runs:
        assert {each.name for each in (kept / name).iterdir()} == {"log.txt", "report.json", "summary.md"}
    assert json.loads((kept / runs[4] / "report.json").read_text())["outcome"] == "held"
    pulls = kept / "pull-requests"
    assert (
        (pulls / "fleet-2.md").read_text().startswith("# Upgrade Flux to v2.8.8 in clusters/staging #2\n\n**merged**")
    )
    assert "+# Flux Version: v2.9.4\n" in (pulls / "fleet-4.diff").read_text()
    first_upgrade = "# Upgrade Flux to v2.9.4 in clusters/production #1\n\n**open**"
    assert (pulls / "atlas-1.md").read_text().startswith(first_upgrade)
    assert (pulls / "shop-1.md").read_text().startswith("# Bootstrap Flux v2.9.4 in clusters/production #1\n")


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    done = performed(tmp_path, tmp_path)
    assert (done.returncode, done.stderr) == (1, f"demo: {tmp_path} is not empty\n")
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


def test_pull_requests_that_should_not_be_are_a_surprise(tmp_path: Path) -> None:
    require_program("git")
    with StandIn(tmp_path / "hub", Clock(fleet.BEGINNING)) as hub:
        demo = Demo(Stage(hub, tmp_path, tmp_path, Teller()))
        demo.expect()
        with pytest.raises(Surprise, match="has 0 pull requests"):
            demo.expect(staging="open draft")
        demo.repository.commit({"README.md": b""}, "Begin\n")
        demo.repository.people.push("mine", {"a": b""})
        demo.repository.people.open_pull("mine", "Mine")
        with pytest.raises(Surprise, match="there are 1 pull requests"):
            demo.expect()


def test_a_bootstrap_that_ends_otherwise_is_a_surprise(tmp_path: Path) -> None:
    require_program("git")
    with StandIn(tmp_path / "hub", Clock(fleet.BEGINNING)) as hub:
        kept = tmp_path / "kept"
        kept.mkdir()
        demo = BootstrapDemo(Stage(hub, tmp_path, kept, Teller()))
        # Somebody was there before: it is not empty, so there is a pull request and no first commit.
        hub.create_repository("acme/atlas", {"README.md": b""})
        with pytest.raises(Surprise, match="the outcome: opened, not updated"):
            demo.new_repository()


def test_another_exit_code_is_a_surprise(tmp_path: Path) -> None:
    require_program("git")
    with pytest.raises(Surprise, match="ended with 2, not 0"):
        Machine(Clock(fleet.BEGINNING)).run(("flux-upgrade", "nonsense"), tmp_path, {})
