"""Mentions that no structure tells of: comments, files that are no YAML, documents that are broken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flux_upgrade.kinds.formats.passages import Passage
from flux_upgrade.kinds.formats.template_lines import ENDS
from flux_upgrade.kinds.formats.yaml_places import is_variable
from flux_upgrade.resources.lines import is_commented, mapping_at, row_at, subject
from flux_upgrade.resources.mentions import Groups, Mention, is_version
from flux_upgrade.resources.structure import Broken
from flux_upgrade.resources.use import Place, Use

_COMMENT = "it is a comment"
_NO_MANIFEST = "the file is no manifest"
_ASKS = "a template asks whether the cluster serves it"
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?= |\r?$)", re.MULTILINE)
"""https://git-scm.com/docs/git-merge#_how_conflicts_are_presented"""
_PUT_IN = re.compile(r"%\{|\[%|\[\[")
"""How further templates begin: Terraform's, and those of Go and Jinja with other delimiters."""
_KEY = re.compile(r"\b(?:apiVersion|group)\W{1,6}$")
_CAPABILITY = re.compile(r"\.Capabilities\.[^\n]*$")
"""https://helm.sh/docs/chart_template_guide/builtin_objects/"""


def in_text(path: str, file: Passage, mentions: Iterable[Mention]) -> Iterator[Use]:
    """Those of a file that is no YAML."""
    return (_use(path, file, each, Place.TEXT, _NO_MANIFEST) for each in mentions if not each.is_put_in)


def in_comments(path: str, file: Passage, mentions: Iterable[Mention]) -> Iterator[Use]:
    """What is left of a file of YAML."""
    return (_use(path, file, each, Place.TEXT, _COMMENT) for each in mentions if not each.is_put_in)


def in_broken(
    path: str, file: Passage, mentions: Iterable[Mention], broken: Broken, groups: Groups
) -> Iterator[Use]:
    """Those of a document that cannot be read: a template, or one with a fault."""
    text = file.text[broken.begin : broken.end]
    is_template = is_variable(text)
    is_unreadable = not broken.is_yaml and not path.endswith(ENDS) and _is_no_template(text)
    for each in (*mentions, *_pairs(file.text, broken, groups)):
        before = file.text[file.text.rfind("\n", 0, each.begin) + 1 : each.begin]
        place, why = Place.TEXT, broken.message
        if is_commented(file.text, each.begin):
            why = _COMMENT
        elif _CAPABILITY.search(before):
            why = _ASKS
        elif _KEY.search(before) or (is_template and not each.is_put_in):
            place = Place.TEMPLATE
            why = broken.message if is_unreadable else f"it is a template, or broken: {broken.message}"
        if place is Place.TEMPLATE or not each.is_put_in:
            found = _use(path, file, each, place, why)
            yield found._replace(is_unreadable=is_unreadable and place is Place.TEMPLATE)


def _is_no_template(text: str) -> bool:
    """Whether nothing is put in anywhere, or a merge is left unresolved: that ends the way to any use."""
    return _CONFLICT.search(text) is not None or not (is_variable(text) or _PUT_IN.search(text))


def _pairs(text: str, broken: Broken, groups: Groups) -> Iterator[Mention]:
    """``group`` and ``version``, each in a line of its own."""
    for begin in groups.alone(text, broken.begin, broken.end):
        row = mapping_at(text, begin).get("version") if row_at(text, begin).key == "group" else None
        if row is not None and is_version(row.value):
            yield Mention(row_at(text, begin).value, row.value, begin, row.start, row.start + len(row.value))


def _use(path: str, file: Passage, mention: Mention, place: Place, why: str) -> Use:
    who = subject(file.text, mention.begin, mention.end)
    group, version, _, start, end = mention
    return Use(path, file.line(start), group, version, *who, place, start, end, why)
