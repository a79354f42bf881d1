"""Which context of a kubeconfig is meant, with what is wrong in our own words.

Source: kubernetes.io, "Organizing Cluster Access Using kubeconfig Files": several files are merged, the
first that states the current context wins, and those that are missing are passed over.
"""
# The paths of a kubeconfig are a string, as kubectl has it.
# ruff: noqa: PTH110, PTH111, PTH123

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import UsageError


def context_of(kubeconfig: str, wanted: str) -> str:
    """The context that is meant: ``wanted``, or the current one where that is empty.

    ``kubeconfig``: a path, or several as ``KUBECONFIG`` has them. Raises UsageError.
    """
    files = [os.path.expanduser(path) for path in kubeconfig.split(os.pathsep) if path]
    there = [path for path in files if os.path.exists(path)]
    if not there:
        raise UsageError(
            f"there is no kubeconfig {one_line(kubeconfig) or 'given'}",
            hint="give the path of one as --kubeconfig, or set KUBECONFIG",
        )
    configs = [_read(path) for path in there]
    current = next((str(each["current-context"]) for each in configs if each.get("current-context")), "")
    context, known = wanted or current, sorted(_contexts(configs))
    if not context:
        raise UsageError("the kubeconfig has no current context", hint=f"give --context: {_named(known)}")
    if context not in known:
        raise UsageError(
            f"the kubeconfig has no context '{one_line(context)}'", hint=f"it has {_named(known)}"
        )
    return context


def _contexts(configs: Iterable[Mapping[str, Any]]) -> set[str]:
    lists = [each.get("contexts") for each in configs]
    return {
        str(context["name"])
        for contexts in lists
        if isinstance(contexts, list)
        for context in contexts
        if isinstance(context, dict) and context.get("name")
    }


def _named(names: list[str]) -> str:
    return one_line(", ".join(names)) or "none at all"


def _read(path: str) -> Mapping[str, Any]:
    """One file. The parser's own message is not repeated: it quotes lines, which may hold a token."""
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            config = yaml.safe_load(file)
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except (yaml.YAMLError, ValueError, RecursionError):
        why = "is not valid YAML"
    else:
        if isinstance(config, dict):
            return config
        why = "is empty or no kubeconfig"
    raise UsageError(
        f"the kubeconfig {one_line(path)} {why}", hint="try kubectl config view --kubeconfig with it"
    )
