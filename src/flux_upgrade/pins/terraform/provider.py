"""The provider fluxcd/flux: which of its versions a module admits, and which Flux those are made for.

Provider 1.N is made for Flux 2.N: it renders the manifests with the code of that minor
(fluxcd/terraform-provider-flux, CHANGELOG.md and its pull requests "Update Flux to …").
The last numbers of the two differ at times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import eq, ge, gt, le, lt, ne

from flux_upgrade.model.errors import UnsupportedPin
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version
from flux_upgrade.pins.formats.hcl import Attribute
from flux_upgrade.pins.formats.terraform_module import Module, is_flux_source

_FLUX_MAJOR = 2
# developer.hashicorp.com/terraform/language/expressions/version-constraints
_COMPARISON = re.compile(r"\s*+(=|!=|>=|<=|>|<|~>|)\s*v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-[\w.-]+)?\s*")

_Numbers = tuple[int, ...]
_OPERATORS = {"=": eq, "!=": ne, ">": gt, "<": lt, ">=": ge, "<=": le}


class ProviderConstraint(NamedTuple):
    """What a file says about the versions of the provider."""

    place: str  # `infra/versions.tf:6`
    text: str  # `~> 1.8`
    is_literal: bool

    def admits(self, minor: int) -> bool | None:
        """Whether any provider 1.``minor`` fulfils it; None where it cannot be read."""
        comparisons = [_COMPARISON.fullmatch(part) for part in self.text.split(",")]
        parsed = [_parsed(match) for match in comparisons if match is not None]
        if not self.is_literal or len(parsed) < len(comparisons):
            return None
        # An interval that is not empty begins at 0, or at a number that is named, or behind one.
        patches = {0} | {each for _, given in parsed for each in (_whole(given)[2], _whole(given)[2] + 1)}
        return any(all(_holds(*each, (1, minor, patch)) for each in parsed) for patch in patches)


def constraints(module: Module) -> Iterator[ProviderConstraint]:
    """Every one of the module. Those of a calling module are not seen."""
    for path, block in module.of_providers:
        if block.type == "terraform":
            for providers in block.bodies("required_providers"):
                yield from (
                    _constraint(path, each.members["version"])
                    for name, each in providers.items()
                    if _is_flux(name, each) and "version" in each.members
                )
        elif (block.type, block.labels) == ("provider", ("flux",)) and "version" in block.attributes:
            # Deprecated since Terraform 0.13, and obeyed.
            yield _constraint(path, block.attributes["version"])


def locked(module: Module) -> tuple[str, Version] | None:
    """Place in the lock file, and the version of the provider that it chooses."""
    attribute = None if module.lock is None else module.lock.block.attributes.get("version")
    version = None if attribute is None else Version.parse(f"v{attribute.literal}")
    if module.lock is None or attribute is None or version is None:
        return None
    return f"{module.lock.path}:{attribute.line}", version


def check(module: Module, target: str) -> None:
    """Raises UnsupportedPin, with the line to change first, where no provider for ``target`` is admitted."""
    minor = _minor(target)
    if minor is None:
        raise UnsupportedPin(
            f"the provider fluxcd/flux for Flux {target} is not known",
            hint="edit the Flux version and the provider version yourself",
        )
    for each in constraints(module):
        admits = each.admits(minor)
        if admits is None:
            raise UnsupportedPin(
                f"{each.place}: the version of the provider fluxcd/flux is not readable: {each.text}",
                hint=f'write text that includes 1.{minor}, like "~> 1.{minor}.0"',
            )
        if not admits:
            raise UnsupportedPin(
                _mismatch(f'{each.place} says "{each.text}"', target, minor),
                hint=f'change {each.place} first, for example to "~> 1.{minor}.0", then run `terraform init -upgrade`',
            )


def mismatches(module: Module, tag: str) -> Iterator[str]:
    """What the module says of the provider that does not go with ``version`` at ``tag``."""
    minor, lock = _minor(tag), locked(module)
    if minor is None:
        return
    for each in constraints(module):
        if each.admits(minor) is False:
            yield _mismatch(f'{each.place} says "{each.text}"', tag, minor)
    if lock is not None and lock[1].numbers[:2] != (1, minor):
        is_older = lock[1].numbers[:2] < (1, minor)
        todo = ": run `terraform init -upgrade` before the next apply" if is_older else ""
        yield _mismatch(chosen(lock), tag, minor) + todo


def remarks(module: Module, target: str) -> Iterator[str]:
    """What to know of the provider where ``version`` becomes ``target``."""
    yield from mismatches(module, target)
    if locked(module) is None and next(constraints(module), None) is None:
        yield (
            f"Flux {target} needs the provider fluxcd/flux 1.{_minor(target)}: no file in the directory "
            "sets its version"
        )


def chosen(lock: tuple[str, Version]) -> str:
    """What ``locked`` found, in words."""
    return f"{lock[0]} selects {lock[1].bare}"


def _mismatch(said: str, tag: str, minor: int) -> str:
    return f"{said}, and Flux {tag} needs the provider fluxcd/flux 1.{minor}"


def _minor(tag: str) -> int | None:
    version = Version.parse(tag)
    return version.numbers[1] if version is not None and version.numbers[0] == _FLUX_MAJOR else None


def _is_flux(name: str, provider: Attribute) -> bool:
    source = provider.members.get("source")
    return is_flux_source(source.literal or "") if source is not None else name == "flux"


def _constraint(path: str, version: Attribute) -> ProviderConstraint:
    is_literal = version.literal is not None
    return ProviderConstraint(f"{path}:{version.line}", version.literal or version.text, is_literal)


def _parsed(match: re.Match[str]) -> tuple[str, _Numbers]:
    operator, *numbers = match.groups()
    return operator or "=", tuple(int(each) for each in numbers if each is not None)


def _whole(given: _Numbers) -> _Numbers:
    return (*given, 0, 0)[:3]


def _holds(operator: str, given: _Numbers, version: _Numbers) -> bool:
    base = _whole(given)
    if operator == "~>":
        # The last number that is given may grow.
        return version >= base and version[: len(given) - 1] == given[:-1]
    return bool(_OPERATORS[operator](version, base))
