"""Flags as they were given → what one cluster is bootstrapped with; all problems at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from flux_upgrade.bootstrap.addresses import DEFAULT_HOSTS
from flux_upgrade.bootstrap.flag_table import FLAGS, Flag, FlagKind
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, OciOptions, Provider, Source, Team
from flux_upgrade.bootstrap.validation import form_problem, misfit, problems_of, unknown, version_problems
from flux_upgrade.config.config import FlagValue
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions, nearest, parse_bool, parse_list
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.go_durations import duration
from flux_upgrade.model.versions import is_tag

Read = str | bool | tuple[str, ...]  # As its kind has it: a boolean, a list, text for everything else

_FROM_THE_CHECKOUT = ("owner", "repository", "hostname", "ssh-hostname", "url")


def examine(
    provider: Provider, source: Source, given: Mapping[str, FlagValue], known: Mapping[str, str] | None = None
) -> tuple[BootstrapOptions, tuple[str, ...]]:
    """The options that ``given`` (Flux's flag name → value) and Flux's defaults make, and all problems.

    ``known``: what the checkout tells of owner, repository, host and url, should they not be given. With
    problems, the options are as good as they can be.
    """
    text = str(given.get("version", ""))
    tag = f"v{text}" if text[:1].isdigit() else text
    # Empty: the newest one, or what is no version.
    tag = tag if is_tag(tag) else ""
    values: dict[str, Read] = {}
    wrong = []
    for name, value in given.items():
        problem = unknown(name) or misfit(FLAGS[name], provider, source, tag)
        try:
            if not problem:
                values[name] = read_value(FLAGS[name], value)
        except UsageError as error:
            problem = error.message
        if problem:
            wrong.append((name, problem))
    problems = [problem for _, problem in wrong]
    if source is Source.GIT:
        problems += _complete(values, known or {}, {*given}, provider)
    options = _options(provider, source, values)
    options = options._replace(install=options.install._replace(version=tag))
    on = {name for name, value in values.items() if value not in (False, "", ())}
    problems += problems_of(options, on, {name for name, _ in wrong})
    problems += list(version_problems(options, tag)) if tag else []
    return options, tuple(dict.fromkeys(problems))


def read_value(flag: Flag, value: FlagValue) -> Read:
    """A value as its kind has it. Raises UsageError, without the value where that is secret."""
    written = value if isinstance(value, (str, bool, int)) else ",".join(value)
    shown = "" if flag.is_secret else f" '{written}'"
    read: Read | None
    match flag.kind:
        case FlagKind.BOOLEAN:
            read = value if isinstance(value, bool) else parse_bool(str(value))
            problem = f"--{flag.name}{shown} must be true or false"
        case FlagKind.LIST:
            read = _items(value)
            problem = f"--{flag.name}{shown} is not a list such as a,b"
        case FlagKind.DURATION:
            return duration(str(value), flag.name)
        case FlagKind.NUMBER:
            read = str(value) if not isinstance(value, bool) and str(value).isdecimal() else None
            problem = f"--{flag.name}{shown} is not a number"
        case FlagKind.CHOICE:
            read = value if isinstance(value, str) and value in flag.choices else None
            close = nearest(str(value), flag.choices)
            problem = f"--{flag.name}{shown} is not one of {', '.join(flag.choices)}{close}"
        case _:
            read = value if isinstance(value, str) else None
            problem = f"--{flag.name} must be text: put it in quotes"
    if read is None:
        raise UsageError(problem)
    # What is empty is what a flag without a default has by itself.
    for text in read if isinstance(read, tuple) else [read]:
        problem = form_problem(flag.name, text) if isinstance(text, str) and (text or flag.default) else ""
        if problem:
            raise UsageError(f"--{flag.name}{'' if flag.is_secret else f' {text!r}'} {problem}")
    return read


def _items(value: FlagValue) -> tuple[str, ...] | None:
    if isinstance(value, str):
        try:
            items = tuple(each.strip() for each in parse_list(value.strip()))
        except ValueError:
            return None
        return items if all(items) else None
    if isinstance(value, int):
        return None
    texts = tuple(each for each in value if each and "," not in each)
    return texts if len(texts) == len(value) else None


def _complete(
    values: dict[str, Read], known: Mapping[str, str], given: Collection[str], provider: Provider
) -> Iterator[str]:
    """Takes ``owner/name`` apart, and what is missing from the checkout; yields what is wrong."""
    owner, slash, name = str(values.get("repository", "")).rpartition("/")
    if slash and values.get("owner") not in (None, "", owner):
        yield f"--repository has the owner {owner}, but --owner is different"
    elif slash:
        values.update(owner=owner, repository=name)
    if values.get("visibility", "public") != "public" and values.get("private") is False:
        yield f"--visibility {values['visibility']} and --private=false contradict each other"
    host = str(values.get("hostname", ""))
    if host.lower() == DEFAULT_HOSTS.get(provider):
        values["hostname"] = host.lower()
    # Another host than that of the checkout has other ways to it.
    stated = {*given, "ssh-hostname"} if "hostname" in given or "url" in given else given
    for each in _FROM_THE_CHECKOUT:
        if known.get(each) and each not in stated and provider in FLAGS[each].providers:
            values.setdefault(each, known[each])


def _options(provider: Provider, source: Source, values: Mapping[str, Read]) -> BootstrapOptions:
    if values.get("app-id"):
        auth = Auth.APP
    else:
        # A registry is read over https.
        auth = Auth.TOKEN if values.get("token-auth") or source is Source.OCI else Auth.SSH
    plain = BootstrapOptions(provider, auth, _install(values))
    # What stands under the flag's own name.
    fields = {FLAGS[name].field: value for name, value in values.items()}
    same = {name: value for name, value in fields.items() if name in BootstrapOptions._fields}
    may = "push" if provider is Provider.BITBUCKET_SERVER else "maintain"
    teams: Any = values.get("team") or values.get("group") or ()
    parts = (each.partition(":") for each in teams)
    of_oci: dict[str, Any] = {name: fields[name] for name in OciOptions._fields if name in fields}
    of_oci = {"url": "", **of_oci, "provider": fields.get("oci_provider", "generic")}
    changes: dict[str, Any] = {
        # Nobody by themselves is called git at a registry.
        **({"username": ""} if source is Source.OCI else {}),
        **same,
        "teams": tuple(Team(slug, permission or may) for slug, _, permission in parts),
        "visibility": values.get("visibility") or ("private" if values.get("private", True) else "public"),
        "oci": OciOptions(**of_oci) if source is Source.OCI else None,
        "is_latest": values.get("version") == "latest",
    }
    return plain._replace(**changes)


def _install(values: Mapping[str, Read]) -> InstallOptions:
    fields: dict[str, Any] = {FLAGS[name].field: value for name, value in values.items()}
    own = {name: value for name, value in fields.items() if name in InstallOptions._fields}
    components = (*fields.get("components", DEFAULT_COMPONENTS), *fields.get("components_extra", ()))
    return InstallOptions(version="")._replace(**{**own, "components": components})
