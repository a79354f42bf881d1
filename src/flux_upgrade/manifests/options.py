"""Flux's install flags: its names, its defaults, and what it would refuse."""

from __future__ import annotations

import re
from collections.abc import Iterable

from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT_COMPONENTS = ("source-controller", "kustomize-controller", "helm-controller", "notification-controller")
EXTRA_COMPONENTS = ("image-reflector-controller", "image-automation-controller", "source-watcher")
COMPONENTS = DEFAULT_COMPONENTS + EXTRA_COMPONENTS
LOG_LEVELS = ("debug", "info", "error")

# `${NAME}` of Flux's post-build substitution and of envsubst, `$(NAME)` of kustomize, `{{name}}` of templates. A
# variable is a part of a value, or all of it.
_REST = r"[^\s\x27\x22\\#]*"
_INNER = r"[^\s\x27\x22\\#{}()]+"
_VARIABLE = rf"{_REST}(?:\$\{{{_INNER}\}}|\$\({_INNER}\)|\{{\{{{_INNER}\}}\}}){_REST}"
_DNS_LABEL = rf"[a-z0-9]([-a-z0-9]{{0,61}}[a-z0-9])?|{_VARIABLE}"
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*"
_SECRET = rf"(?!.*[A-Z]){_NAME}|{_VARIABLE}"
_DOMAIN = rf"{_NAME}\.?|{_VARIABLE}"  # Flux adds a dot of its own, and keeps one that is there
_REGISTRY = rf"[A-Za-z0-9][A-Za-z0-9._:/-]*|{_VARIABLE}"
_TOLERATION_KEY = rf"([A-Za-z0-9.-]{{1,253}}/)?[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?|\*|{_VARIABLE}"
PATTERNS = {
    "registry": _REGISTRY,
    "image-pull-secret": _SECRET,
    "cluster-domain": _DOMAIN,
    "toleration-keys": _TOLERATION_KEY,
}
"""Flag → the form of its text (of each, where it takes a list), for a schema; ``validate`` knows more."""
# What the YAML 1.1 core of Flux's templates reads as something else than a
# string: booleans, null, numbers in four bases, floats, dates.
_NOT_A_STRING = (
    r"[yYnN]|[yY]es|YES|[nN]o|NO|[oO]n|ON|[oO]ff|OFF|[tT]rue|TRUE|[fF]alse|FALSE|[nN]ull|NULL"
    r"|[-+]?[0-9][0-9_]*|0x[0-9a-fA-F_]+|0o?[0-7_]+|0b[01_]+"
    r"|[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
)
_A_TYPO = 0.75
"""How alike two words are, of which one is the other with a slip: `minro` and `minor` are, at 0.8, and
`completion` and `action` are not, at 0.62."""
# What a template engine or Flux's own post-build substitution leaves in the place of a flag.
_RECOVERED = r"[^\s\x27\x22\\#]+"


def ambiguous(value: str) -> bool:
    """Whether YAML reads the unquoted ``value`` as something other than a string."""
    return re.fullmatch(_NOT_A_STRING, value) is not None


class InstallOptions(NamedTuple):
    """The flags of ``flux install``, less ``--export``; field names are the flags' with ``_``."""

    version: str  # The release's tag, with its leading `v`: what header and labels say
    namespace: str = "flux-system"
    components: tuple[str, ...] = DEFAULT_COMPONENTS
    """``--components`` followed by ``--components-extra``; Flux keeps the order."""
    registry: str = "ghcr.io/fluxcd"  # Verbatim, a trailing slash included; empty leaves `fluxcd/<component>`
    image_pull_secret: str = ""
    watch_all_namespaces: bool = True
    network_policy: bool = True
    log_level: str = "info"
    cluster_domain: str = "cluster.local"
    toleration_keys: tuple[str, ...] = ()

    def flags(self) -> dict[str, str | bool | list[str]]:
        """Flux's flag name → value, ``version`` aside, in the order of Flux's help."""
        return {
            name.replace("_", "-"): list(value) if isinstance(value, tuple) else value
            for name, value in self._asdict().items()
            if name != "version"
        }

    def changed(self) -> dict[str, str | bool | list[str]]:
        """``flags``, less those that are at Flux's default."""
        plain = InstallOptions(version=self.version).flags()
        return {flag: value for flag, value in self.flags().items() if value != plain[flag]}

    def command_line(self) -> tuple[str, ...]:
        """What ``flux install --export`` is to be given to print the same manifest."""
        flags = (f"--{flag}={spell(value)}" for flag, value in self.changed().items())
        return (f"--version={self.version}", *flags)


def parse_bool(text: str) -> bool | None:
    """As Go's ``strconv.ParseBool``, which reads Flux's own flags; None where it would refuse."""
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    return False if text in ("0", "f", "F", "FALSE", "false", "False") else None


def parse_list(text: str) -> list[str]:
    """``a,b``, or ``"a","b"``; nothing is an empty list. As pflag reads a StringSlice: one line of CSV.

    Raises ValueError where quotes do not fit together.
    """
    if '"' not in text:
        return text.split(",") if text else []
    import csv

    try:
        return next(csv.reader([text], strict=True), [])
    except csv.Error as error:
        raise ValueError(f"'{text}' is not a comma-separated list: {error}") from None


def spell(value: Any) -> str:
    """A value of ``flags`` as it is written on Flux's command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)


def nearest(word: str, known: Iterable[str]) -> str:
    """``, did you mean 'x'?`` for the known word that ``word`` is a typo or a part of, or nothing."""
    import difflib

    there = list(known)
    close = difflib.get_close_matches(word, there, n=1, cutoff=_A_TYPO)
    close = close or [each for each in there if word and word in each.split("-")]
    return f", did you mean '{close[0]}'?" if len(close) == 1 else ""


def refuse(problems: Iterable[str], hint: str, before: str = "") -> None:
    """Raises UsageError with all of them, behind the words ``before``; nothing where there are none."""
    found = "; ".join(problems)
    if found:
        raise UsageError(before + found, hint=hint)


def validate(options: InstallOptions, known_components: Iterable[str] = COMPONENTS) -> None:
    """Refuse what Flux or Kubernetes would refuse, all problems in one error.

    ``known_components``: those that the release ships. Raises UsageError.
    """
    problems = [*_name_problems(options), *_component_problems(options.components, tuple(known_components))]
    if options.log_level not in LOG_LEVELS and not re.fullmatch(_VARIABLE, options.log_level):
        problems.append(
            f"--log-level '{options.log_level}' is not one of {', '.join(LOG_LEVELS)}"
            + nearest(options.log_level, LOG_LEVELS)
        )
    if options.registry and ("://" in options.registry or not re.fullmatch(_REGISTRY, options.registry)):
        problems.append(f"--registry '{options.registry}' is not the start of an image name like ghcr.io/fluxcd")
    if not re.fullmatch(_DOMAIN, options.cluster_domain):
        problems.append(f"--cluster-domain '{options.cluster_domain}' is not a DNS name like cluster.local")
    problems += [
        f"--toleration-keys: '{key}' is not a key that a taint can have"
        for key in options.toleration_keys
        if not re.fullmatch(_TOLERATION_KEY, key)
    ]
    refuse(problems, "see the values of each flag in `flux-upgrade render --help`")


def variables_refused_by_flux(options: InstallOptions) -> tuple[str, ...]:
    """Return the flags with a variable that ``flux install`` refuses. It takes any text for the other flags."""
    checked = {"--namespace": options.namespace, "--log-level": options.log_level}
    return tuple(f"{flag} '{value}'" for flag, value in checked.items() if re.fullmatch(_VARIABLE, value))


def validate_recovered(options: InstallOptions, known_components: Iterable[str]) -> None:
    """Refuse what cannot stand in a rendered manifest; a value that Flux would refuse may stand in one.

    A manifest whose namespace was made ``${NAMESPACE}`` was rendered all the
    same, and is regenerated with that. Raises UsageError.
    """
    unquoted = (options.namespace, options.image_pull_secret)
    values = (
        *filter(None, (*unquoted, options.registry)),
        options.namespace,
        options.log_level,
        options.cluster_domain,
        *options.toleration_keys,
    )
    problems = [f"'{value}' is not a value of a flag" for value in values if not re.fullmatch(_RECOVERED, value)]
    problems += [f"YAML reads '{value}' as something other than a string" for value in unquoted if ambiguous(value)]
    problems += _component_problems(options.components, tuple(known_components))
    refuse(problems, "compare the flags with the file")


def validate_components(components: tuple[str, ...], known: Iterable[str]) -> None:
    """Refuse components that a release does not ship. Raises UsageError."""
    refuse(_component_problems(components, tuple(known)), "change --components or --components-extra")


def _name_problems(options: InstallOptions) -> Iterable[str]:
    name = options.namespace
    if not re.fullmatch(_DNS_LABEL, name):
        yield f"--namespace '{name}' is not a DNS label (a-z, 0-9 and '-', at most 63 characters)"
    elif ambiguous(name):
        yield f"--namespace '{name}' is not a string in YAML; use another name"
    secret = options.image_pull_secret
    if secret and (not re.fullmatch(_SECRET, secret) or ambiguous(secret)):
        yield f"--image-pull-secret '{secret}' is not a DNS name that YAML reads as a string"


def _component_problems(components: tuple[str, ...], known: tuple[str, ...]) -> Iterable[str]:
    if not components:
        yield "--components is empty"
    for component in dict.fromkeys(components):
        if component not in known:
            yield f"component '{component}' does not exist in this release" + nearest(component, known)
        elif components.count(component) > 1:
            yield f"component '{component}' is listed {components.count(component)} times"
