"""A suggestion is one that exists, and none is better than a wrong one."""

from __future__ import annotations

import pytest

from flux_upgrade.cli import intents
from flux_upgrade.cli.parse import COMMANDS, build_parser
from flux_upgrade.cli.parser import Parser
from flux_upgrade.manifests.options import COMPONENTS, LOG_LEVELS, nearest


def flags() -> set[str]:
    parsers = []
    for command, (declare, _) in COMMANDS.items():
        parser = Parser(prog=command)
        declare(parser)
        parsers.append(parser)
    return {word for parser in parsers for each in parser._actions for word in each.option_strings}  # noqa: SLF001


def test_every_command_that_is_meant_exists() -> None:
    targets = {target for each in intents.COMMANDS.values() for target in each}
    assert targets <= {*COMMANDS, *(word for each in build_parser()._actions for word in each.option_strings)}  # noqa: SLF001
    assert not set(COMMANDS) & set(intents.COMMANDS)


def test_every_flag_that_is_meant_exists() -> None:
    assert {target for each in intents.FLAGS.values() for target in each} <= flags()


@pytest.mark.parametrize("word", ["completly", "xyz", "act", "kubernetes", "c", ""])
def test_what_is_far_from_everything_has_no_suggestion(word: str) -> None:
    known = [name for name in COMMANDS if name != "completion"]
    assert intents.meant(word, intents.COMMANDS, known) == ""


def test_an_intent_without_its_flag_is_none() -> None:
    assert intents.meant("--version", intents.FLAGS, ["--policy"]) == ""
    assert intents.meant("--insecure", intents.FLAGS, ["--plain-http"]) == ", did you mean '--plain-http'?"


def test_a_part_of_one_name_is_enough() -> None:
    assert nearest("watcher", COMPONENTS) == ", did you mean 'source-watcher'?"
    assert nearest("source", COMPONENTS) == ""


@pytest.mark.parametrize(("word", "close"), [("inof", "info"), ("debgu", "debug"), ("eror", "error"), ("warning", "")])
def test_a_slip_is_found_and_another_word_is_not(word: str, close: str) -> None:
    assert nearest(word, LOG_LEVELS) == (f", did you mean '{close}'?" if close else "")
