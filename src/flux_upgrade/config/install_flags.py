"""The install flags that an upgrade may change: Flux's names, checked before anything is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux_upgrade.manifests.options import InstallOptions, nearest, parse_bool, parse_list, spell, validate
from flux_upgrade.model.errors import UsageError

EXTRA = "components-extra"
_ANY = InstallOptions(version="v0")

MEANINGS = {
    "components": "The controllers, in this order. They replace the installed ones.",
    EXTRA: "Controllers to install in addition.",
    "registry": "The registry of the controllers' images.",
    "image-pull-secret": "The name of the Secret for a private registry. Empty: none.",
    "watch-all-namespaces": "`false`: watch only the namespace of Flux.",
    "network-policy": "`false`: no NetworkPolicy objects.",
    "log-level": "The log level of the controllers.",
    "cluster-domain": "The cluster's internal DNS domain.",
    "toleration-keys": "The keys of taints that the controllers tolerate. Empty: none.",
}
REFUSED = {
    "namespace": "cannot change in an upgrade: Flux would be installed a second time",
    "version": "is set by policy and range",
}


def default(flag: str) -> str | bool | list[str]:
    """Flux's default; its type is the flag's. Raises KeyError for what is no flag of ``MEANINGS``."""
    return [] if flag == EXTRA else _ANY.flags()[flag]


def unknown(flag: str) -> str:
    """Why ``flag`` cannot be changed; empty for one that can."""
    if flag in MEANINGS:
        return ""
    if flag in REFUSED:
        return f"flag '{flag}' {REFUSED[flag]}"
    return f"unknown flag '{flag}'{nearest(flag, MEANINGS)}"


def canonical(flag: str, text: str) -> str:
    """A flag's value as Flux's command line takes it. Raises UsageError for what Flux or Kubernetes would refuse."""
    if isinstance(default(flag), bool):
        value = parse_bool(text)
        if value is None:
            raise UsageError(f"--{flag} '{text}' must be true or false")
        return spell(value)
    if isinstance(default(flag), list):
        try:
            text = spell(parse_list(text))
        except ValueError as error:
            raise UsageError(f"--{flag} {error}") from None
    # What is added may be installed already, so that it is looked at by itself.
    asked = {"components": text} if flag == EXTRA and text else {flag: text}
    validate(applied(asked, _ANY))
    return text


def applied(flags: Mapping[str, str], options: InstallOptions) -> InstallOptions:
    """``options`` with these flags changed; ``flags`` as ``config.Governance`` has them.

    ``components`` replaces the list; ``components-extra`` adds to it what it lacks.
    """
    if not flags:
        return options
    changes: dict[str, Any] = {
        flag.replace("-", "_"): _value(default(flag), text) for flag, text in flags.items() if flag != EXTRA
    }
    changed = options._replace(**changes)
    missing = [each for each in _items(flags.get(EXTRA, "")) if each not in changed.components]
    return changed._replace(components=(*changed.components, *missing))


def _value(example: str | bool | list[str], text: str) -> str | bool | tuple[str, ...]:  # noqa: FBT001 any type's
    if isinstance(example, bool):
        return text == "true"
    return text if isinstance(example, str) else _items(text)


def _items(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
