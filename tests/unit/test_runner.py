"""Annotations, outputs and summaries are read by the runner as they were meant, and secrets are masked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from e2e.runner import pairs, read_commands
from flux_upgrade.action import runner
from flux_upgrade.action.runner import annotate, annotation_command, runner_of
from flux_upgrade.report.wording import Annotation, Level

ENV = {
    "GITHUB_WORKSPACE": "/github/workspace",
    "GITHUB_REPOSITORY": "octo-org/fleet",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_WORKFLOW_REF": "octo-org/fleet/.github/workflows/flux.yaml@refs/heads/a@b",
    "GITHUB_RUN_ID": "42",
    "RUNNER_DEBUG": "1",
}
# What may be in the way: line ends, command syntax, the percent of an escape, delimiters, any letter.
ANY = st.text(st.one_of(st.sampled_from("\r\n:,%=<>#[]0ADx-"), st.characters(codec="utf-8")), max_size=40)


def test_the_facts_of_a_run() -> None:
    here = runner_of(ENV)
    assert here.is_github
    assert here.run_url == "https://github.com/octo-org/fleet/actions/runs/42"
    assert here.workflow == "flux.yaml"
    assert here.workflow_url == "https://github.com/octo-org/fleet/actions/workflows/flux.yaml"
    assert here.approve_command() == "gh workflow run flux.yaml -f approve="
    assert here.approve_command("octo-org/fleet") == "gh workflow run flux.yaml -f approve="
    assert here.approve_command("octo-org/other") == "gh workflow run flux.yaml -R octo-org/fleet -f approve="


def test_what_is_unknown_is_empty() -> None:
    nowhere = runner_of({})
    assert (nowhere.run_url, nowhere.workflow_url, nowhere.approve_command()) == ("", "", "")


def test_the_command_to_approve_names_the_server_where_it_is_another() -> None:
    here = runner_of({**ENV, "GITHUB_SERVER_URL": "https://ghe.example"})
    assert not here.is_github
    assert "-R ghe.example/octo-org/fleet" in here.approve_command("octo-org/other")


def test_an_annotation_is_one_line() -> None:
    annotation = Annotation(Level.ERROR, "100 %\r\n::warning::x", title="a: b, c", file="x.yaml", line=7)
    assert annotation_command(annotation) == "::error title=a%3A b%2C c,file=x.yaml,line=7::100 %25%0D%0A::warning::x"
    assert annotation_command(Annotation(Level.WARNING, "x")) == "::warning::x"


@given(ANY, ANY)
def test_the_runner_reads_an_annotation_as_it_was_meant(message: str, title: str) -> None:
    (line,), _ = annotate([Annotation(Level.WARNING, message, title)])
    (read,) = read_commands(line)
    assert read.level == "warning"
    assert read.message == message
    assert read.properties.get("title", "") == title


def test_ten_annotations_of_each_level_and_the_others_are_given_back() -> None:
    many = [Annotation(level, str(number)) for number in range(12) for level in Level]
    lines, others = annotate(many)
    assert len(lines) == 10 * len(Level)
    assert [each.message for each in others] == ["10"] * len(Level) + ["11"] * len(Level)


def test_every_line_of_a_secret_is_masked() -> None:
    assert runner.mask("one\ntwo%\n\n") == ("::add-mask::one", "::add-mask::two%25")
    assert runner.mask("") == ()


@given(ANY, st.sampled_from(["x", "x-", "token"]))
def test_nothing_in_stopped_text_is_a_command(text: str, token: str) -> None:
    log = runner.stopped(f"::error::{text}\n::{token}::\n::notice::no", token) + "::notice::after\n"
    assert [each.message for each in read_commands(log)] == ["after"]


@given(st.dictionaries(st.sampled_from(["a", "b-c"]), ANY.map(lambda text: text.replace("\r", ""))))
def test_outputs_are_read_as_they_were_meant(outputs: dict[str, str]) -> None:
    assert dict(pairs(runner.outputs_text(outputs, "x"))) == outputs


def test_a_value_cannot_set_another_output() -> None:
    text = runner.outputs_text({"a": "1\neof\nb=2", "c": "eof-"}, "eof")
    assert dict(pairs(text)) == {"a": "1\neof\nb=2", "c": "eof-"}


def test_outputs_that_fit_are_left_alone() -> None:
    outputs = {"outcome": "none", "report": "x" * 499_000}
    assert runner.fitting(outputs) == (outputs, ())


def test_the_largest_output_gives_way() -> None:
    outputs = {"outcome": "none", "report": "x" * 500_000, "pull-requests": "[]"}
    assert runner.fitting(outputs) == ({**outputs, "report": ""}, ("report",))


def test_a_summary_that_fits_is_left_alone() -> None:
    assert runner.summary_within("ä" * 5, 10) == "ä" * 5


def test_a_summary_is_cut_after_a_line_and_says_so_on_top() -> None:
    text = "".join(f"| ä{number} |\n" for number in range(40))
    cut = runner.summary_within(text, 200)
    assert len(cut.encode()) <= 200
    note, _, rest = cut.partition("\n\n")
    assert note.startswith("> This summary was too long")
    assert rest.endswith("|\n")
    assert text.startswith(rest)
