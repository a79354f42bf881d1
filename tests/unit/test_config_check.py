"""`config check` compares the groups with the checkout, without network."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from error_names import require_error
from flows import fleet
from flux_upgrade import main
from flux_upgrade.model.errors import InvalidConfig, UsageError

CONFIG = b"groups:\n  production: {paths: ['clusters/prod/**']}\n"
FLEET = fleet({"clusters/production": "v2.8.8"})
ACTION = b"steps:\n- uses: fluxcd/flux2/action@v2.8.8\n"


def check(root: Path, files: Mapping[str, bytes], file: str = ".github/flux-upgrade.yaml") -> tuple[int, str, str]:
    for path, content in {".git/HEAD": b"ref: refs/heads/main\n", file: CONFIG, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    out, err = io.BytesIO(), io.StringIO()
    code = main.run(["config", "check", str(root / file)], {}, out, err)
    return code, out.getvalue().decode(), err.getvalue()


def test_any_file_in_the_checkout_is_compared_with_its_root(tmp_path: Path) -> None:
    code, out, err = check(tmp_path, FLEET, "ci/flux.yaml")
    require_error(InvalidConfig, code, err)
    assert "  matches nothing (nearest directory: clusters/production)\n" in out
    assert f'{tmp_path}/ci/flux.yaml:2: group "production" matches nothing' in err


def test_without_groups_nothing_is_looked_for(tmp_path: Path) -> None:
    code, out, err = check(tmp_path, {**FLEET, ".github/flux-upgrade.yaml": b"policy: minor\n"})
    assert (code, err) == (0, "")
    assert "matches" not in out


RINGS = b"""\
groups:
  staging:
    paths: [clusters/staging/**]
    healthy: {context: kustomization/flux-system/staging, creator: 'flux-staging[bot]'}
  production: {paths: [clusters/production/**], after: staging, soak: 3d}
"""


def test_it_says_what_a_group_waits_for(tmp_path: Path) -> None:
    files = fleet({"clusters/production": "v2.8.8", "clusters/staging": "v2.8.8"})
    code, out, err = check(tmp_path, {**files, ".github/flux-upgrade.yaml": RINGS})
    assert (code, err) == (0, "")
    assert "  after: staging, once it has run the same release for 3d\n" in out
    assert "  healthy: flux-staging[bot] posts success for kustomization/flux-system/staging\n" in out
    assert "  note: Flux v2.8.8 posts no failures\n" in out
    assert out.count("posts no") == 1, "no health is asked of production"
    assert "one release" not in out


def test_it_says_that_a_group_keeps_its_release(tmp_path: Path) -> None:
    files = fleet({"clusters/production": "v2.8.8", "clusters/staging": "v2.8.8"})
    config = RINGS.replace(b"    healthy:", b"    one-release-at-a-time: true\n    healthy:")
    code, out, err = check(tmp_path, {**files, ".github/flux-upgrade.yaml": config})
    assert (code, err) == (0, "")
    assert "  one release at a time: until the groups after it run its release\n" in out


@pytest.mark.parametrize(
    ("release", "note"),
    [
        ("v2.8.7", "  note: Flux v2.8.7 posts no failures, so `on-failure: revert` has no effect until you upgrade\n"),
        ("v2.9.4", ""),
    ],
)
def test_it_says_which_statuses_a_release_does_not_post(tmp_path: Path, release: str, note: str) -> None:
    files = fleet({"clusters/production": "v2.8.8", "clusters/staging": release})
    config = RINGS.replace(b"    healthy:", b"    on-failure: revert\n    healthy:")
    code, out, err = check(tmp_path, {**files, ".github/flux-upgrade.yaml": config})
    assert (code, err) == (0, "")
    assert note in out
    assert ("has no effect" in out) is bool(note)


@pytest.mark.parametrize(
    ("healthy", "line"),
    [
        ("{context: staging, creator: flux}", "  on failure: a draft that reverts the upgrade (GitHub only)\n"),
        ("soak", "  on failure: nothing is reverted, because `healthy` names no commit statuses\n"),
    ],
)
def test_it_says_what_a_failure_leads_to(tmp_path: Path, healthy: str, line: str) -> None:
    group = f"groups:\n  all: {{paths: [clusters/**], healthy: {healthy}, on-failure: revert}}\n"
    files = fleet({"clusters/production": "v2.8.8"})
    code, out, err = check(tmp_path, {**files, ".github/flux-upgrade.yaml": group.encode()})
    assert (code, err) == (0, "")
    assert line in out


WORKFLOW = """\
name: flux-upgrade
on:
  schedule:
    - cron: "17 5 * * *"
jobs:
  upgrade:
    steps:
      - uses: acme/flux-upgrade@v1
"""
WINDOW = "schedule: '* 9-15 * * 1-4'\ntimezone: Europe/Berlin\n"
NEVER = (
    "nothing is opened in the schedule of the config file, * 9-15 * * 1-4 (Europe/Berlin): "
    "the workflow runs at 17 5 * * * (UTC)"
)


@pytest.mark.parametrize(
    ("workflows", "config", "is_told"),
    [
        ({"flux.yaml": WORKFLOW}, WINDOW, True),
        ({"flux.yaml": WORKFLOW}, WINDOW.replace("9-15", "6-7"), False),
        ({"flux.yaml": WORKFLOW}, WINDOW.replace("Europe/Berlin", "America/New_York").replace("9-15", "0-1"), False),
        ({"flux.yaml": WORKFLOW, "b.yml": WORKFLOW.replace("17 5", "17 *")}, WINDOW, False),
        ({"flux.yaml": WORKFLOW.replace("17 5 * * *", "${{ vars.CRON }}")}, WINDOW, False),
        ({"flux.yaml": WORKFLOW.replace("acme/flux-upgrade", "acme/other")}, WINDOW, False),
        ({"flux.yaml": WORKFLOW.replace("schedule", "workflow_dispatch")}, WINDOW, False),
        ({"flux.yaml": WORKFLOW.replace("  schedule:", "  push: {branches: [main]}\n  schedule:")}, WINDOW, False),
        ({"flux.yaml": WORKFLOW, "b.yaml": WORKFLOW.replace("on:", "on: [push]\nother:")}, WINDOW, False),
        ({"flux.yaml": WORKFLOW, "b.yaml": WORKFLOW.replace("on:", "on: workflow_call\nother:")}, WINDOW, False),
        ({"flux.yaml": WORKFLOW + "\n---\n[\n"}, WINDOW, False),
        ({"flux.yaml": WORKFLOW}, "schedule: '* * 29 2 *'\n", False),
        ({"flux.yaml": WORKFLOW.replace("17 5", "*/5 5")}, WINDOW, False),
        ({}, WINDOW, False),
    ],
)
def test_a_schedule_in_which_no_workflow_runs(
    tmp_path: Path, workflows: Mapping[str, str], config: str, *, is_told: bool
) -> None:
    files = {f".github/workflows/{name}": text.encode() for name, text in workflows.items()}
    code, _, err = check(tmp_path, {**FLEET, **files, ".github/flux-upgrade.yaml": config.encode()})
    assert code == 0
    assert (NEVER in err) is is_told


def test_a_group_with_a_schedule_of_its_own_is_named(tmp_path: Path) -> None:
    config = b"groups:\n  staging: {paths: [clusters/**], schedule: '* 20 * * *'}\n"
    files = {**FLEET, ".github/workflows/flux.yaml": WORKFLOW.encode(), ".github/flux-upgrade.yaml": config}
    code, _, err = check(tmp_path, files)
    assert code == 0
    assert "the schedule of the group staging, * 20 * * * (UTC)" in err


def test_a_schedule_is_named_once_and_only_if_it_governs_an_installation(tmp_path: Path) -> None:
    groups = "groups:\n  a: {paths: ['clusters/**']%s}\n  b: {paths: ['b/**']}\n"
    files = {**FLEET, ".github/workflows/flux.yaml": WORKFLOW.encode()}
    _, _, err = check(tmp_path, {**files, ".github/flux-upgrade.yaml": (WINDOW + groups % "").encode()})
    assert err.count("nothing is opened") == 1
    assert NEVER in err
    inner = WINDOW + groups % ", schedule: '* 5 * * *', timezone: UTC"
    _, _, err = check(tmp_path, {**files, ".github/flux-upgrade.yaml": inner.encode()})
    assert "nothing is opened" not in err


def test_it_says_which_schedule_needs_both_days(tmp_path: Path) -> None:
    text = b"schedule: ['* * */10 * MON', '* * 1-31/10 * MON']\ngroups:\n  all: {paths: [clusters/**], schedule: []}\n"
    code, out, err = check(tmp_path, {**FLEET, ".github/flux-upgrade.yaml": text})
    assert (code, err) == (0, "")
    notes = [each for each in out.splitlines() if "both days" in each]
    assert notes == [
        "  note: schedule '* * */10 * MON' opens only if both days match, because one of them begins with `*`"
    ]


def test_entries_of_known_that_do_not_count_are_named(tmp_path: Path) -> None:
    entry = "{paths: [%s], reason: It ran., release: %s, until: %s, migrated: true}"
    entries = [
        entry % ("clusters/**", "v2.8", "2999-12-31"),
        entry % ("clusters/**", "v2.8", "2020-12-31"),
        entry % ("nowhere/**", "v2.8", "2999-12-31"),
    ]
    text = "known:\n" + "".join(f"- {line}\n" for line in entries)
    files = fleet({"clusters/production": "v2.8.8"})
    code, out, err = check(tmp_path, {**files, ".github/flux-upgrade.yaml": text.encode()})
    assert code == 0
    assert out.count("says that flux migrate has run") == 2
    warnings = [line.partition(".yaml:")[2] for line in err.splitlines() if "warning" in line]
    assert warnings == [
        "3: this entry of `known` counted until 2020-12-31",
        "4: this entry of `known` matches no file that installs Flux",
    ]


def test_a_sparse_checkout_is_not_compared(tmp_path: Path) -> None:
    code, out, err = check(tmp_path, {**FLEET, ".git/info/sparse-checkout": b"clusters\n"})
    assert code == 0
    assert "no problem" in out
    assert "the checkout is sparse" in err


def test_pins_of_tools_are_no_installation_yet(tmp_path: Path) -> None:
    code, _, err = check(tmp_path, {".github/workflows/lint.yaml": ACTION})
    assert code == 0
    assert "has no Flux installation" in err


def test_a_group_of_an_artifact_is_left_to_runs_about_it(tmp_path: Path) -> None:
    repository = b"kind: OCIRepository\nspec: {url: oci://ghcr.io/acme/flux}\n"
    code, out, err = check(tmp_path, {**FLEET, "clusters/prod/flux.yaml": repository})
    assert (code, err) == (0, "")
    assert "no problem" in out


def test_what_is_recognized_and_never_changed_is_a_match(tmp_path: Path) -> None:
    script = b"flux install --version=v2.8.7\n"
    code, out, _ = check(tmp_path, {**FLEET, "clusters/prod/setup.sh": script})
    assert code == 0
    assert "  matches:\n    clusters/prod/setup.sh:1 (never changed)\n" in out


def in_checkout(
    root: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, bytes], *words: str
) -> tuple[int, str, str]:
    for path, content in {".git/HEAD": b"ref: refs/heads/main\n", **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    monkeypatch.chdir(root / "clusters" if (root / "clusters").exists() else root)
    out, err = io.BytesIO(), io.StringIO()
    code = main.run(["config", "check", *words], {}, out, err)
    return code, out.getvalue().decode(), err.getvalue()


def test_without_a_file_the_defaults_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = in_checkout(tmp_path, monkeypatch, FLEET)
    assert (code, err) == (0, "")
    assert out.startswith("../.github/flux-upgrade.yaml does not exist, so these defaults apply:\n")
    assert "clusters/production/flux-system/gotk-components.yaml" in out
    assert "  without approval: patches\n" in out


def test_without_a_file_and_without_flux_a_bootstrap_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = in_checkout(tmp_path, monkeypatch, {})
    assert (code, out[:12]) == (0, ".github/flux")
    assert "has no Flux installation\n" in err


def test_the_file_of_the_checkout_is_read_from_a_directory_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = in_checkout(tmp_path, monkeypatch, {**FLEET, ".github/flux-upgrade.yaml": b"policy: minor\n"})
    assert code == 0
    assert out.startswith("../.github/flux-upgrade.yaml: no problem\n")


def test_a_file_that_is_named_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = in_checkout(tmp_path, monkeypatch, FLEET, "no.yaml")
    require_error(UsageError, code, err)
    assert out == ""
    assert "no.yaml cannot be read" in err
    assert "omit it" in err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("dashboard: true\n", "dashboard: one issue\n"),
        ("dashboard: true\nforge: gitlab\n", "dashboard: none, because it needs GitHub, not gitlab\n"),
        ("dashboard: false\n", ""),
    ],
)
def test_a_dashboard_needs_github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: str) -> None:
    code, out, _ = in_checkout(tmp_path, monkeypatch, {**FLEET, ".github/flux-upgrade.yaml": text.encode()})
    assert code == 0
    assert line in out and ("dashboard" in out) is bool(line)
