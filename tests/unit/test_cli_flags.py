"""Arguments are parsed as documented, and a bad one is reported by its name."""

from __future__ import annotations

import argparse
import re

import pytest

from flux_upgrade.bootstrap.flag_table import FLAGS, FlagUse
from flux_upgrade.cli.flag_kinds import boolean
from flux_upgrade.cli.flags import CONFIG, DEFAULT_SOURCE
from flux_upgrade.cli.overview import GROUPS
from flux_upgrade.cli.parse import COMMANDS, build_parser, parse, parse_command
from flux_upgrade.cli.parser import Parser
from flux_upgrade.cli.sections import is_rare
from flux_upgrade.config.config import PATH
from flux_upgrade.model.errors import UsageError


def test_every_command_is_in_one_group_of_the_help() -> None:
    shown = build_parser().format_help()
    for name, (_, line) in COMMANDS.items():
        assert f"  {name:<11}  {line}\n" in shown
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)


def test_a_command_without_a_name_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """As kubectl and flux do, with 0; git ends with 1."""
    with pytest.raises(SystemExit) as caught:
        parse_command([], {})
    assert caught.value.code in (0, None)
    assert capsys.readouterr().out == build_parser().format_help()


def shown(command: str, flag: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        parse(command, [flag])
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_whole_help_has_every_flag_and_the_usual_one_says_so(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usual, whole = shown(command, "--help", capsys), shown(command, "--help-all", capsys)
    parser = Parser(prog=f"flux-upgrade {command}")
    COMMANDS[command][0](parser)
    actions = parser._actions  # noqa: SLF001 argparse offers no other way to its flags
    rare = [each for each in actions if is_rare(each)]
    for each in actions:
        for word in each.option_strings:
            assert f"{word}" in whole
            assert (re.search(rf"^  (-. ?\S*, )?{word}\b", usual, re.MULTILINE) is None) is (each in rare), word
    last = f"`flux-upgrade {command} --help-all` shows {len(rare)} more options.\n"
    assert usual.endswith(last) is bool(rare)
    assert last not in whole


def test_the_help_of_an_upgrade_is_in_sections(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("upgrade", "--help", capsys).splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == [
        "Arguments:", "What to upgrade:", "Policy:", "Pull requests:", "Releases and network:", "Output:", "Help:",
    ]  # fmt: skip
    for rare in ("--docker-config", "--ca-file", "--plain-http", "--promote"):
        assert rare not in "\n".join(lines)


def test_flags_without_a_use_are_apart_in_the_whole_help(capsys: pytest.CaptureFixture[str]) -> None:
    heading = "Flags of Flux that are refused or have no effect:"
    assert heading not in shown("bootstrap", "--help", capsys)
    before, _, below = shown("bootstrap", "--help-all", capsys).partition(heading)
    for flag in FLAGS.values():
        text = before if flag.use is FlagUse.USED else below
        assert re.search(rf"--{flag.name}\b", text), flag.name
    assert "refused: " not in before
    assert "has no effect: " not in before


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_can_be_parsed_by_itself_as_among_all(command: str) -> None:
    words = {"config": ["check"], "completion": ["bash"]}.get(command, [])
    alone = vars(parse(command, words))
    together = vars(build_parser().parse_args([command, *words]))
    assert together == {**alone, "command": command}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_well(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(command, ["--help"])
    assert caught.value.code in (0, None)
    assert f"flux-upgrade {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        ("plan", ["--polcy=minor"], "did you mean '--policy'?"),
        ("plan", ["--diff"], "unknown argument '--diff'"),
        ("plan", ["--dry-run"], "unknown argument '--dry-run'"),
        ("upgrade", ["--json"], "unknown argument '--json'"),
        ("upgrade", ["--approve"], "--approve"),
        ("upgrade", ["--pol", "minor"], "unknown argument '--pol'"),
        ("config", [], "check"),
        ("config", ["chekc"], "check"),
        ("config", ["check", "--release-source=x"], "unknown argument"),
        ("action", ["--policy=minor"], "unknown argument"),
        ("inspect", ["--policy=minor"], "unknown argument"),
    ],
)
def test_what_cannot_be_parsed_is_said(command: str, words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(command, words)
    assert message in caught.value.message
    assert caught.value.hint == f"see `flux-upgrade {command} --help`"


@pytest.mark.parametrize("command", ["plan", "upgrade"])
def test_what_plan_and_upgrade_decide_by_is_the_same(command: str) -> None:
    given = parse(command, ["x", "--policy=minor", "--range", ">=2.6 <2.9", "--approve=2.9", "--approve", "v2.8.8"])
    assert (given.path, given.policy, given.range, given.approve) == ("x", "minor", ">=2.6 <2.9", ["2.9", "v2.8.8"])
    assert (given.config, given.flags, given.repository, given.base) == ("", "", "", "")
    assert (given.release_source, given.ca_file, given.pull_request) == (DEFAULT_SOURCE, "", False)


def test_what_is_given_twice_counts_by_its_last_word() -> None:
    assert parse("plan", ["--policy=minor", "--policy=patch"]).policy == "patch"
    # Approvals add up, and those of one parser are not those of the next.
    assert parse("plan", ["--approve=2.9"]).approve == ["2.9"]
    assert parse("plan", []).approve == []


def test_a_range_may_begin_with_any_operator() -> None:
    for text in ("<2.9", ">=2.6", "!=2.7.0", "~2.8", "^2", "=2.8.8", "2.6 - 2.8", "*"):
        assert parse("plan", [f"--range={text}"]).range == text


def test_the_config_file_is_where_it_is_documented() -> None:
    assert CONFIG == PATH
    assert parse("config", ["check"]).path == ""
    assert parse("config", ["check", "x.yaml"]).path == "x.yaml"


@pytest.mark.parametrize(
    ("words", "network_policy", "watch_all"),
    [
        ([], True, True),
        (["--network-policy"], True, True),
        (["--network-policy=false"], False, True),
        (["--network-policy", "--watch-all-namespaces=0"], True, False),
        (["--network-policy=T"], True, True),
    ],
)
def test_a_boolean_by_itself_is_true(words: list[str], *, network_policy: bool, watch_all: bool) -> None:
    given = parse("render", words)
    assert (given.network_policy, given.watch_all_namespaces) == (network_policy, watch_all)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("render", ["--network-policy", "false"]),
        ("plan", ["--multi-step", "false"]),
        ("plan", [".", "--multi-step", "true"]),
        ("bootstrap", ["github", "--personal", "false"]),
    ],
)
def test_the_value_of_a_boolean_is_no_word_of_its_own(command: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse(command, words)
    assert f"did you mean '{'='.join(words[-2:])}'?" in caught.value.message
    assert f"./{words[-1]}" in caught.value.hint


def test_a_path_may_follow_a_boolean() -> None:
    for path in ("clusters", "./false", "falsehoods"):
        given = parse("plan", ["--multi-step", path])
        assert (given.multi_step, given.path) == (True, path)


@pytest.mark.parametrize("command", ["plan", "render", "bootstrap"])
def test_help_says_that_a_boolean_is_complete_without_its_value(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(command, ["--help"])
    shown = capsys.readouterr().out
    assert "[=BOOL]" in shown
    assert " BOOL" not in shown


@pytest.mark.parametrize("text", ["yes", "", "TrUe", "2", " true"])
def test_what_is_no_boolean_to_go_is_none_here(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be true or false"):
        boolean(text)


@pytest.mark.parametrize(
    ("words", "components"),
    [
        ([], None),
        (["--components=a,b"], [["a", "b"]]),
        (["--components=a", "--components=b"], [["a"], ["b"]]),
        (["--components="], [[]]),
    ],
)
def test_lists_are_separated_by_commas_or_repeated(words: list[str], components: list[list[str]] | None) -> None:
    assert parse("render", words).components == components
