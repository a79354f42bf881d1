"""Real manifests of public repositories get the right verdict, and are upgraded without a loss."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from conformance.judged_pins import NOT_VENDORED
from conformance.real_files import Record, rows, tell

pytestmark = pytest.mark.real_part("shared data")

# The index calls these edited; what each really is, and why:
DISPUTED = {
    "23a5d8055afb5657.yaml": "formatting",  # comments, blanks and line ends only; there are no comments
    "22d8ffc022b19bf8.yaml": "unreadable",  # broken YAML in line 4863
}


def test_no_traceback(records: list[Record]) -> None:
    traces = [f"{record.row['file']}\n{record.trace}" for record in records if record.trace]
    assert not traces, "\n".join(traces)
    assert all(record.verdict for record in records)
    tell(f"wild: {len(records)} files, each with a verdict, no traceback")


def test_verdicts_of_flux_2(records: list[Record]) -> None:
    wrong = []
    counted: Counter[tuple[str, str]] = Counter()
    for record in filter(lambda each: each.is_v2, records):
        known = str(record.row["verdict"])
        expected = {"mixed": "edited", "exact-wrong-header": "edited", "formatting+images": "formatting"}.get(
            known, known
        )
        expected = DISPUTED.get(record.row["file"], expected)
        counted[known, record.verdict] += 1
        if record.verdict != expected:
            wrong.append(f"{record.row['file']}: {record.verdict}, not {expected}")
    for (known, verdict), count in sorted(counted.items()):
        tell(f"proof: {count:4} files of Flux 2 marked {known}: {verdict}")
    assert not wrong, "\n".join(wrong)


def test_flags_of_exact_files(records: list[Record]) -> None:
    wrong, right = [], 0
    for record in records:
        if not record.is_v2 or record.row["verdict"] not in ("exact", "images"):
            continue
        flags = {name.replace("_", "-"): value for name, value in record.row["options"].items()}
        version = flags.pop("version")
        if record.flags == flags and record.version == version:
            right += 1
        else:
            wrong.append(f"{record.row['file']}: {record.version} {record.flags}, not {version} {flags}")
    tell(f"flags: {right} exact and images files with the flags of the index, {len(wrong)} with others")
    assert not wrong, "\n".join(wrong)


def test_older_files_say_why(records: list[Record]) -> None:
    counted = Counter(record.verdict for record in records if not record.is_v2)
    for verdict, count in sorted(counted.items()):
        tell(f"proof: {count:4} files of Flux 0: {verdict}")
    assert set(counted) <= {"unverified", "unreadable"}
    assert all(record.reason for record in records if not record.is_v2)


def test_upgrades_lose_nothing(records: list[Record]) -> None:
    faults = [f"{each.row['file']}: {', '.join(each.faults)}" for each in records if each.faults]
    assert not faults, "\n".join(faults)
    counted: Counter[tuple[str, str]] = Counter(
        (str(each.row["verdict"]), each.upgrade) for each in records if each.is_v2
    )
    for (known, upgrade), count in sorted(counted.items()):
        tell(f"upgrade to v2.9.4: {count:4} files marked {known}: {upgrade}")
    written = {verdict: count for (verdict, upgrade), count in counted.items() if upgrade == "written"}
    for verdict in ("exact", "images", "formatting"):
        all_of_them = sum(count for (known, _), count in counted.items() if known == verdict)
        # What is already v2.9.4 and whole has nothing to be written.
        assert written[verdict] + counted[verdict, "up-to-date"] == all_of_them
    assert written["edited"] + written["mixed"] >= 25


def test_replay_of_upgrades_that_people_committed(conformance: Path, records: list[Record]) -> None:
    """Where nobody touched flags or edits, our upgrade is what they committed."""
    record = {each.row["file"]: each for each in records}
    equal, wrong, others = 0, [], []
    for row in rows(conformance / "replay.jsonl"):
        before, after = record[row["before"]], record[row["after"]]
        comparable = after.verdict == "exact" and before.verdict in ("exact", "images") and before.flags == after.flags
        name = f"{row['repo']} {row['from']} → {row['to']} ({row['before']} → {row['after']})"
        if before.upgraded[row["to"]] == after.digest:
            equal += comparable
        elif comparable:
            wrong.append(name)
        else:
            others.append(f"{name}: {_who_is_right(before, after, row['to'])}")
    tell(f"replay: {equal} of {equal + len(wrong)} comparable upgrades to the byte; {len(others)} others differ:")
    for line in others:
        tell(f"  {line}")
    assert not wrong, "\n".join(wrong)
    assert equal >= 160


def _who_is_right(before: Record, after: Record, to: str) -> str:
    lost = sorted(set(before.flags["components"]) - set(after.flags.get("components", [])))
    table = (
        (after.verdict == "unreadable", "theirs is broken YAML; ours is whole"),
        (after.version != to, f"theirs is {after.version} under a header that says {to}; ours is {to}"),
        (bool(lost), f"theirs dropped {', '.join(lost)}; ours keeps them"),
        (
            before.residue > 0 and after.residue == 0,
            f"theirs dropped {before.residue} edits; ours keeps them or refuses",
        ),
        (after.verdict == "formatting", "the same data; theirs was formatted by another tool again"),
        (after.verdict == "images", "theirs has images bumped at the same time; ours has the release's"),
        (True, "theirs is of another generator, or edited at the same time; ours is the release's own"),
    )
    return next(explanation for holds, explanation in table if holds)


def test_vendored_manifests_hold_no_pins(records: list[Record]) -> None:
    found = {record.row["file"]: pin for record in records for pin in record.pins}
    seconds = sum(record.seconds for record in records)
    tell(f"pins: {len(found)} in {len(records)} vendored manifests, in {seconds:.1f} s: {sorted(found)}")

    assert found == NOT_VENDORED
    # They are large, and their schemas speak of everything: to parse each would take some 0.3 s.
    assert seconds < 0.05 * len(records)
