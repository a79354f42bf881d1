"""What Flux, Git, Kubernetes or the provider would refuse, said before anything is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from flux_upgrade.bootstrap.addresses import url_of
from flux_upgrade.bootstrap.flag_table import ELSEWHERE, FLAGS, Flag, FlagUse
from flux_upgrade.bootstrap.oci_sync import addresses_of
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider, Source
from flux_upgrade.manifests.options import nearest, refuse, validate
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.text import is_below, repository_path
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version

_REQUIRED = ("source-controller", "kustomize-controller")
_PERMISSIONS = "pull|triage|push|maintain|admin"
_LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_WORD = r"[^\s,:/\x00-\x1f\x7f]+"


class Form(NamedTuple):
    pattern: str  # A regular expression that Python and ECMAScript read alike, for the whole text
    meaning: str  # Ends the sentence "… is not"


_FILE = Form(r"[^\x00-\x1f\x7f]+", "a file name")
_FOLDER = Form(
    r"(?!.*(?:^|/)\.\.(?:/|$))(?!(?:\.?/+)*\.git(?:/|$))[^\x00-\x1f\x7f\\]*", "a directory inside the repository"
)
_PERSON = Form(r"(?!\s)[^<>\x00-\x1f\x7f]+(?<!\s)", "a valid author of a commit")
_TEAM = Form(rf"{_WORD}(?::(?:{_PERMISSIONS}))?", f"a name, or name:permission with {_PERMISSIONS}")
FORMS = {
    "version": Form(
        r"latest|v?[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?", "a Flux version such as v2.9.4"
    ),
    # git-check-ref-format(1), less what begins like a whole reference.
    "branch": Form(
        r"(?![-./]|refs/)(?!.*(?://|\.\.|@\{|/\.|\.lock(?:/|$)|[./]$))(?!@$)[^\x00-\x20\x7f~^:?*\[\\]+",
        "a valid branch name",
    ),
    "path": _FOLDER,
    "sparse-checkout": _FOLDER,
    "secret-name": Form(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*", "the name of a Secret (a-z, 0-9, '-' and '.')"),
    "username": Form(_WORD, "a user name"),
    "ssh-key-algorithm": Form("ed25519", "ed25519: create other keys with ssh-keygen, and use private-key-file"),
    "team": _TEAM,
    "group": _TEAM,
    "registry-creds": Form(r"[^:\s]+:[^:\s]+", "user:password"),
    "app-installation-owner": Form("[A-Za-z0-9_-]+", "a user or an organization"),
    "app-base-url": Form(r"https://[^\s/?#@]+(?:/[^\s?#@]*)?", "an address such as https://HOST/api/v3"),
    "author-name": _PERSON,
    "author-email": _PERSON,
    "commit-message-appendix": Form(r"(?!\s)[^\x00-\x09\x0b-\x1f\x7f]+(?<!\s)", "text for a commit message"),
    "private-key-file": _FILE,
    "ca-file": _FILE,
    "kustomization": _FILE,
}
"""Flag → the form of its text (of each, where it takes a list)."""

_EXCLUSIVE = (
    ("token-auth", "app-id", "a GitHub App does not need a token"),
    ("token-auth", "read-write-key", "a token replaces the deploy key"),
    ("app-id", "read-write-key", "a GitHub App replaces the deploy key"),
    ("token-auth", "private-key-file", "a token replaces the key"),
    ("app-id", "private-key-file", "the key of a GitHub App is --app-private-key"),
    ("private-key-file", "read-write-key", "an existing key keeps its access"),
    ("app-installation-id", "app-installation-owner", "one of them is enough"),
    ("personal", "team", "a user has no teams"),
    ("personal", "group", "a user has no groups"),
)
_NEEDS = (
    ("registry-creds", "image-pull-secret", "the name of the Secret"),
    ("with-bearer-token", "token-auth", "to use a token at all"),
    ("app-installation-id", "app-id", "the ID of the app"),
    ("app-installation-owner", "app-id", "the ID of the app"),
    ("app-base-url", "app-id", "the ID of the app"),
)
# Flags that make up an address: where one of them is wrong, the address is not looked at.
_ARTIFACT = {"url", "cluster-url", "cluster-path", "oci-provider"}
_ADDRESS = {"owner", "repository", "hostname", "url", "ssh-hostname", "username", "personal", "token-auth"}


def form_problem(name: str, text: str) -> str:
    """What is wrong with the text of a flag, to follow it; empty: nothing."""
    form = FORMS.get(name)
    if form is not None and not re.fullmatch(form.pattern, text):
        return f"is not {form.meaning}"
    if not text.isprintable() and name != "commit-message-appendix":
        return "contains a character that is not printable"
    return ""


def problems_of(options: BootstrapOptions, on: Collection[str], bad: Collection[str]) -> Iterator[str]:
    """Flags that exclude or need each other, and what Flux, Git or the provider would refuse.

    ``on``: the flags that were given something else than nothing. ``bad``: those whose values are
    problems already, so that nothing follows from them.
    """
    yield from _combination_problems(on, bad)
    yield from _message_of(lambda: validate(options.install))
    if "$" in options.namespace or "{" in options.namespace:
        yield f"--namespace '{options.namespace}' is a variable: use its value"
    if not {"components", "components-extra"}.intersection(bad):
        for component in _REQUIRED:
            if component not in options.install.components:
                yield f"component '{component}' is required: Flux reconciles nothing without it"
    if options.sparse_checkout and not any(
        is_below(options.folder, repository_path(each)) for each in options.sparse_checkout
    ):
        yield f"--sparse-checkout must include {options.folder}"
    if options.oci is not None and not _ARTIFACT.intersection(bad):
        yield from _message_of(lambda: addresses_of(options))
    elif options.oci is None and not _ADDRESS.intersection(bad):
        yield from _message_of(lambda: url_of(options))
        is_code_commit = "git-codecommit" in options.url and "amazonaws.com" in options.url
        if is_code_commit and options.auth is Auth.SSH and not options.private_key_file:
            yield "AWS CodeCommit needs an SSH key that is registered there: use --private-key-file"


def _combination_problems(on: Collection[str], bad: Collection[str]) -> Iterator[str]:
    for one, other, why in _EXCLUSIVE:
        if one in on and other in on:
            yield f"--{one} and --{other} cannot be combined: {why}"
    for one, needed, why in _NEEDS:
        if one in on and needed not in on and needed not in bad:
            yield f"--{one} needs --{needed}, {why}"


def _message_of(check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except UsageError as error:
        yield error.message


_FIRST = "v2.0.0"
_GITEA_SINCE = "v2.2.0"


def check_version(options: BootstrapOptions, tag: str) -> None:
    """Refuse what Flux ``tag`` did not have yet. Raises UsageError with all problems."""
    refuse(version_problems(options, tag), "omit it, or use a newer --version")


def version_problems(options: BootstrapOptions, tag: str) -> Iterator[str]:
    if _is_before(tag, _FIRST):
        yield f"Flux {tag} is older than {_FIRST}, the first release that flux-upgrade bootstraps"
        return
    plain = BootstrapOptions(options.provider, options.auth, options.install)
    for flag in FLAGS.values():
        if flag.field not in BootstrapOptions._fields:
            continue
        is_plain = getattr(options, flag.field) == getattr(plain, flag.field)
        # A public repository is what --private=false says, too.
        if not is_plain and (flag.name, options.visibility) != ("visibility", "public"):
            yield from filter(None, [_too_new(flag, tag)])
    if options.provider is Provider.GITEA and options.oci is None and _is_before(tag, _GITEA_SINCE):
        yield f"`flux bootstrap gitea` requires Flux {_GITEA_SINCE} or later, not {tag}"


def misfit(flag: Flag, provider: Provider | None, source: Source, tag: str = "") -> str:
    """Why ``flag`` cannot be given here; empty where it can. ``provider`` None: any."""
    if flag.use is FlagUse.REFUSED:
        return f"--{flag.name} {flag.meaning}"
    if source not in flag.sources:
        where = "cannot be combined with --source=oci" if source is Source.OCI else "needs --source=oci"
        return f"--{flag.name} {where}"
    if source is Source.GIT and provider is not None and provider not in flag.providers:
        fits = ", ".join(flag.providers)
        return f"--{flag.name} is not a flag of `flux bootstrap {provider}` (only of {fits})"
    return _too_new(flag, tag)


def unknown(name: str) -> str:
    """Why ``name`` is not among the flags; empty for one that is."""
    if name in FLAGS:
        return ""
    if name in ELSEWHERE:
        return f"--{name} {ELSEWHERE[name]}"
    return f"unknown flag '{name}'{nearest(name, FLAGS)}"


def _is_before(tag: str, since: str) -> bool:
    # A release candidate has what its release has.
    return Version(tag).numbers < Version(since).numbers


def _too_new(flag: Flag, tag: str) -> str:
    if not tag or not flag.since or not _is_before(tag, flag.since):
        return ""
    return f"--{flag.name} requires Flux {flag.since} or later, not {tag}"
