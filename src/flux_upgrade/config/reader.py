"""Text → config; all problems of a file are told at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flux_upgrade.config.flags import canonical, default, unknown
from flux_upgrade.config.install_flags import FlagValues
from flux_upgrade.config.keys import TOP
from flux_upgrade.config.source import Source, quoted
from flux_upgrade.config.values import Config, Group
from flux_upgrade.constraint import Constraint
from flux_upgrade.errors import InvalidConfig, UsageError
from flux_upgrade.policy import Bump, Pending, Policy

_MAPS = ("cool-down", "flags")


def load(text: str, path: str) -> Config:
    """The config file ``path`` with the content ``text``; bytes that are no UTF-8 as surrogates (PEP 383).

    Raises InvalidConfig with all problems, a line ``path:line: problem`` for each.
    """
    source = Source()
    root = source.compose(text)
    given = {} if root is None else TOP.read("the file", root, source) or {}
    problems = [f"{path}:{line}: {message}" for line, message in source.problems()]
    if problems:
        raise InvalidConfig("\n".join(problems), hint="see docs/reference/config.md for every key")
    return _config(given)


def _config(given: Mapping[str, Any]) -> Config:
    plain = Config()
    groups = given.get("groups", {})
    return Config(
        default=_group("", given),
        groups=tuple(_group(name, _inherited(given, own)) for name, own in groups.items()),
        ignore=given.get("ignore", plain.ignore),
        branch_prefix=given.get("branch-prefix", plain.branch_prefix),
        forge=given.get("forge", plain.forge),
        moves_operator=given.get("flux-operator") == "change",
        bootstrap=given.get("bootstrap", plain.bootstrap),
    )


def _inherited(top: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    maps = {name: {**top.get(name, {}), **own.get(name, {})} for name in _MAPS}
    return {**top, **own, **maps}


def _group(name: str, given: Mapping[str, Any]) -> Group:
    plain = Group()
    return Group(
        name=name,
        paths=given.get("paths", plain.paths),
        policy=_policy(given),
        flags=given.get("flags", plain.flags),
        labels=given.get("labels", plain.labels),
        reviewers=given.get("reviewers", plain.reviewers),
        assignees=given.get("assignees", plain.assignees),
        auto_merge=given.get("auto-merge") == "patch",
        take_release=given.get("on-conflict") == "take-release",
        check_images=given.get("check-images", plain.check_images),
        is_bump_given="policy" in given,
    )


def _policy(given: Mapping[str, Any]) -> Policy:
    plain = Policy()
    cool_down = given.get("cool-down", {})
    return Policy(
        bump=Bump(given.get("policy", Bump.MAJOR if "range" in given else plain.bump)),
        range=Constraint(given["range"]) if "range" in given else plain.range,
        pending=Pending(given.get("pending", plain.pending)),
        patch_cool_down=cool_down.get("patch", plain.patch_cool_down),
        minor_cool_down=cool_down.get("minor", plain.minor_cool_down),
    )


def parse_flags(text: str, where: str) -> Mapping[str, str]:
    """Install flags given in one text, as ``config.Group`` has them: Flux's name → value.

    Either a YAML mapping (``network-policy: false``), or ``name=value`` as on Flux's
    command line, each in a line or all in one, with or without ``--``. ``where``: what
    the text was given as. Raises UsageError with all problems.
    """
    source = Source()
    words = text.split()
    if words and (words[0].startswith("--") or "=" in words[0].partition(":")[0]):
        flags = _from_words(words, source)
    else:
        root = source.compose(text)
        flags = {} if root is None else FlagValues().read("this", root, source) or {}
    problems = [message for _, message in source.problems()]
    if problems:
        raise UsageError(
            f"{where}: {'; '.join(problems)}",
            hint="see docs/reference/config.md for the flags and their values",
        )
    return flags


def _from_words(words: list[str], source: Source) -> dict[str, str]:
    flags: dict[str, str] = {}
    for name, text in _pairs(words, source):
        is_list = isinstance(default(name), list)
        if name in flags and not is_list:
            source.refuse(1, f"flag '{name}' is given twice")
        # As Flux reads them: a list that is given again goes on.
        flags[name] = f"{flags[name]},{text}" if name in flags and is_list else text
    for name, text in flags.items():
        try:
            flags[name] = canonical(name, text)
        except UsageError as error:
            source.refuse(1, error.message)
    return flags


def _pairs(words: list[str], source: Source) -> Iterator[tuple[str, str]]:
    for word in words:
        name, equals, text = word.removeprefix("--").partition("=")
        told = unknown(name)
        if not equals and not word.startswith("--"):
            source.refuse(1, f"{quoted(word)} is not name=value")
        elif told:
            source.refuse(1, told)
        elif not equals and not isinstance(default(name), bool):
            source.refuse(1, f"flag '{name}' has no value; write --{name}=…")
        else:
            # A boolean by itself is true, as Flux reads its own.
            yield name, text if equals else "true"
