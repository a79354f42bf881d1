"""Flags in one text: a YAML mapping, or words as on Flux's command line, each in a line or all in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from yaml import Node

from flux_upgrade.config.install_flags import canonical, default, unknown
from flux_upgrade.config.values import read_install_flags
from flux_upgrade.config.yaml_text import YamlText, quoted
from flux_upgrade.manifests.options import refuse
from flux_upgrade.model.errors import UsageError

V = TypeVar("V")


class Vocabulary(NamedTuple, Generic[V]):
    hint: str
    refusal: Callable[[str], str]  # Why a flag cannot be given; empty for one that can
    called: Callable[[str], str]
    stray: Callable[[int, str], str]
    """What messages call a word that is neither a flag nor its value, by its number, from 1, and itself."""
    is_list: Callable[[str], bool]  # Whether it may be given again
    is_boolean: Callable[[str], bool]  # Whether it needs no value
    value: Callable[[str, str], V]  # Of a name and a text; raises UsageError
    mapping: Callable[[str, Node, YamlText], Mapping[str, V] | None]
    """What a mapping says, by what it is called; problems go to the source."""


def read_flag_text(text: str, where: str, vocabulary: Vocabulary[V]) -> Mapping[str, V]:
    """Flux's name → value. ``where``: what the text was given as. Raises UsageError with all problems."""
    source, words = YamlText(), text.split()
    flags: Mapping[str, V] | None
    if words and (words[0].startswith("--") or "=" in words[0].partition(":")[0]):
        flags = _from_words(words, vocabulary, source)
    else:
        root = source.compose(text)
        flags = None if root is None else vocabulary.mapping("this", root, source)
    refuse((message for _, message in source.problems()), vocabulary.hint, f"{where}: ")
    return flags or {}


def _from_words(words: list[str], vocabulary: Vocabulary[V], source: YamlText) -> Mapping[str, V]:
    texts, flags = dict[str, str](), dict[str, V]()
    for name, text in _pairs(words, vocabulary, source):
        is_list = vocabulary.is_list(name)
        if name in texts and not is_list:
            source.refuse(1, f"{vocabulary.called(name)} is given twice")
        # As Flux reads them: a list that is given again goes on.
        texts[name] = f"{texts[name]},{text}" if name in texts and is_list else text
    for name, text in texts.items():
        try:
            flags[name] = vocabulary.value(name, text)
        except UsageError as error:
            source.refuse(1, error.message)
    return flags


def _pairs(words: list[str], vocabulary: Vocabulary[V], source: YamlText) -> Iterator[tuple[str, str]]:
    for number, word in enumerate(words, 1):
        name, equals, text = word.removeprefix("--").partition("=")
        refusal = vocabulary.refusal(name)
        if not equals and not word.startswith("--"):
            source.refuse(1, f"{vocabulary.stray(number, word)} is not name=value")
        elif refusal:
            source.refuse(1, refusal)
        elif not equals and not vocabulary.is_boolean(name):
            source.refuse(1, f"{vocabulary.called(name)} has no value; write --{name}=…")
        else:
            # A boolean by itself is true, as Flux reads its own.
            yield name, text if equals else "true"


INSTALL_FLAGS = Vocabulary(
    hint="see docs/reference/config.md for the flags and their values",
    refusal=unknown,
    called=lambda name: f"flag '{name}'",
    stray=lambda _, word: quoted(word),
    is_list=lambda name: isinstance(default(name), list),
    is_boolean=lambda name: isinstance(default(name), bool),
    value=canonical,
    mapping=read_install_flags,
)
"""The flags of ``flux install``, valued as in ``config.Governance``."""
