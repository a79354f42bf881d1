"""What a job of an example gives to the step that is ours: its expressions, as GitHub evaluates them.

https://docs.github.com/actions/reference/workflows-and-actions/expressions
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from flux_upgrade.bootstrap.workflow_file import ACTION

ROOT = Path(__file__).resolve().parents[2]
OURS = f"{ACTION.partition('@')[0]}@"
_EXPRESSION = re.compile(r"\$\{\{((?:(?!\}\}).)*)\}\}")
_WORD = re.compile(r"\s*(?:(&&|\|\||==|!=|!|\(|\)|,)|'([^']*)'|([a-zA-Z_][\w.*-]*))")


def given(example: str, event: str, contexts: Mapping[str, Any]) -> dict[str, str] | None:
    """The inputs of our step; None where the job is not run.

    ``contexts``: ``github``, ``inputs``, ``steps``, …, nested. Raises ValueError where the example does not
    run on ``event`` at all, KeyError for what is in no context.
    """
    workflow = yaml.safe_load((ROOT / "examples" / example).read_text())
    if event not in workflow[True]:  # YAML 1.1 takes the key `on` for a boolean
        raise ValueError(f"{example} does not run on {event}")
    (job,) = workflow["jobs"].values()
    if "if" in job and not evaluated(str(job["if"]), contexts):
        return None
    (step,) = (each for each in job["steps"] if each.get("uses", "").startswith(OURS))
    return {name: _text(evaluated(_text(value), contexts)) for name, value in step["with"].items()}


def permissions(example: str) -> dict[str, str]:
    """Of GITHUB_TOKEN in its job."""
    workflow = yaml.safe_load((ROOT / "examples" / example).read_text())
    (job,) = workflow["jobs"].values()
    found: dict[str, str] = job.get("permissions", workflow["permissions"])
    return found


def app_permissions(example: str) -> dict[str, str]:
    """Of the App's token that its job asks for."""
    workflow = yaml.safe_load((ROOT / "examples" / example).read_text())
    (job,) = workflow["jobs"].values()
    (step,) = (each for each in job["steps"] if "create-github-app-token" in each.get("uses", ""))
    asked = step["with"].items()
    return {name.removeprefix("permission-"): value for name, value in asked if name.startswith("permission-")}


def evaluated(text: str, contexts: Mapping[str, Any]) -> Any:
    """Of a text that is one expression, what it is; of others, a text."""
    whole = _EXPRESSION.fullmatch(text.strip())
    if whole is not None:
        return _value(whole[1], contexts)
    return _EXPRESSION.sub(lambda found: _text(_value(found[1], contexts)), text)


def _value(expression: str, contexts: Mapping[str, Any]) -> Any:
    words = list(_words(expression))
    value = _either(words, contexts)
    if words:
        raise ValueError(f"'{expression}' goes on after its end")
    return value


def _words(expression: str) -> Iterator[tuple[str, str | None, str]]:
    at = 0
    while expression[at:].strip():
        found = _WORD.match(expression, at)
        if found is None:
            raise ValueError(f"'{expression[at:]}' is no part of an expression")
        yield found[1] or "", found[2], found[3] or ""
        at = found.end()


def _either(words: list[tuple[str, str | None, str]], contexts: Mapping[str, Any]) -> Any:
    value = _both(words, contexts)
    while words and words[0][0] == "||":
        words.pop(0)
        other = _both(words, contexts)
        value = value or other
    return value


def _both(words: list[tuple[str, str | None, str]], contexts: Mapping[str, Any]) -> Any:
    value = _equal(words, contexts)
    while words and words[0][0] == "&&":
        words.pop(0)
        other = _equal(words, contexts)
        value = value and other
    return value


def _equal(words: list[tuple[str, str | None, str]], contexts: Mapping[str, Any]) -> Any:
    value = _one(words, contexts)
    if words and words[0][0] in ("==", "!="):
        is_equal = words.pop(0)[0] == "=="
        return (value == _one(words, contexts)) == is_equal
    return value


def _one(words: list[tuple[str, str | None, str]], contexts: Mapping[str, Any]) -> Any:
    sign, text, name = words.pop(0)
    if sign == "!":
        return not _one(words, contexts)
    if sign == "(":
        value = _either(words, contexts)
        if not words or words.pop(0)[0] != ")":
            raise ValueError("a parenthesis is not closed")
        return value
    if text is not None:
        return text
    if name == "startsWith":
        whole, begin = _arguments(name, words, contexts)
        return _text(whole).lower().startswith(_text(begin).lower())
    if name == "contains":
        texts, wanted = _arguments(name, words, contexts)
        return _text(wanted).lower() in [_text(each).lower() for each in texts]
    return _found(contexts, name.split("."))


def _found(value: Any, names: Sequence[str]) -> Any:
    """``*`` stands for every item of a list."""
    for at, part in enumerate(names):
        if part == "*":
            return [_found(each, names[at + 1 :]) for each in value]
        value = value[part]
    return value


def _arguments(name: str, words: list[tuple[str, str | None, str]], contexts: Mapping[str, Any]) -> list[Any]:
    """The two that a function has."""
    values: list[Any] = []
    for sign in ("(", ",", ")"):
        if not words or words.pop(0)[0] != sign:
            raise ValueError(f"{name} lacks a '{sign}'")
        if sign != ")":
            values.append(_either(words, contexts))
    return values


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
