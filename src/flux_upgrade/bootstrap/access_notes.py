"""Access that was arranged, as plain text: its key in a line, and what a person should know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flux_upgrade.bootstrap.access import Access, ToDo
from flux_upgrade.bootstrap.known_hosts import fingerprint
from flux_upgrade.model.hosting import DeployKey

_ANEW = "--rotate-key"


def access_lines(access: Access, *, is_dry: bool = False) -> Iterator[str]:
    """``deploy key: TITLE (SHA256:…) registered``; none without a key. ``is_dry``: of ``foresee``."""
    if not access.title or ToDo.CREATE_SECRET in access.to_do:
        return
    shown = f" ({_shown(access.public)})" if access.public else ""
    may = "" if access.is_read_only or access.is_elsewhere else ", may write"
    yield f"deploy key: {access.title}{shown} {_deed(access, is_dry=is_dry)}{may}"


def _deed(access: Access, *, is_dry: bool) -> str:
    would = "would be " if is_dry else ""
    if access.registered:
        return would + ("replaced" if access.removed else "registered")
    if access.is_registered:
        others = f", {len(access.removed)} of its title {would}removed" if access.removed else ""
        return f"kept{others}"
    if access.is_elsewhere:
        return "kept"
    return f"{would}made: register it" if access.is_new_key else "kept: register it, unless it is already"


def elsewhere(title: str, keys: Sequence[DeployKey], dropped: Sequence[str]) -> str:
    """A key is registered that somebody else may have the private part of."""
    besides = f", and without it {_listed(dropped)} cannot be sealed either" if dropped else ""
    return (
        f"{_keys(title, keys)} registered already, and the private part is not here{besides}: a cluster may "
        f"be using it, so it stays; {_ANEW} makes another key in its place"
    )


def gives_way(cluster: str, secret: str, keys: Sequence[DeployKey]) -> str:
    """The cluster has no key, and another one is registered for it."""
    return (
        f"{cluster} has no key in a Secret {secret}: {_keys(keys[0].title, keys)} registered, and gives "
        "way to a new one, as with flux bootstrap; who else uses it has to have the new one"
    )


def stays(where: str, names: Sequence[str]) -> str:
    """Nobody can tell whether what is sealed is what would be sealed now."""
    return (
        f"the secret {where} of GitHub Actions is there already, and stays as it is: nobody can tell "
        f"whether it has {_listed(names)} as given now; {_ANEW} puts all there anew"
    )


def replaced(where: str) -> str:
    """Of a run that was broken off, or somebody else's."""
    return f"the secret {where} of GitHub Actions was there already, and what it had is replaced"


def _keys(title: str, keys: Sequence[DeployKey]) -> str:
    shown = ", ".join(_shown(each.public) for each in keys)
    noun, verb = ("the deploy key", "is") if len(keys) == 1 else (f"{len(keys)} deploy keys", "are")
    return f"{noun} {title} ({shown}) {verb}"


def _listed(names: Sequence[str]) -> str:
    noun = "the Secret" if len(names) == 1 else "the Secrets"
    return f"{noun} {', '.join(names)}"


def _shown(public: str) -> str:
    """A fingerprint; of what is no key, its kind."""
    try:
        return fingerprint(public)
    except ValueError:
        return public.partition(" ")[0]
