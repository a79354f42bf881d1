"""Whether a flag is one, fits the provider, and was in a release."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.bootstrap.flag import Flag, Use
from flux_upgrade.bootstrap.flag_table import ELSEWHERE, FLAGS
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider, Source
from flux_upgrade.errors import UsageError
from flux_upgrade.manifests.options import nearest
from flux_upgrade.versions import precedence

_FIRST = "v2.0.0"
_GITEA_SINCE = "v2.2.0"


def check_version(options: BootstrapOptions, tag: str) -> None:
    """Refuse what Flux ``tag`` did not have yet. Raises UsageError with all problems."""
    problems = list(version_problems(options, tag))
    if problems:
        raise UsageError("; ".join(problems), hint="leave it out, or take a newer --version")


def version_problems(options: BootstrapOptions, tag: str) -> Iterator[str]:
    """What ``check_version`` refuses."""
    if _is_before(tag, _FIRST):
        yield f"Flux {tag} is older than {_FIRST}, the first that can be bootstrapped"
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
        yield f"`flux bootstrap gitea` came with Flux {_GITEA_SINCE}, and {tag} is older"


def misfit(flag: Flag, provider: Provider | None, source: Source, tag: str = "") -> str:
    """Why ``flag`` cannot be given here; empty where it can. ``provider`` None: any."""
    if flag.use is Use.REFUSED:
        return f"--{flag.name} {flag.meaning}"
    if source not in flag.sources:
        where = (
            "of a Git repository, and --source=oci has none" if source is Source.OCI else "for --source=oci"
        )
        return f"--{flag.name} is {where}"
    if source is Source.GIT and provider is not None and provider not in flag.providers:
        fits = ", ".join(flag.providers)
        return f"--{flag.name} is no flag of `flux bootstrap {provider}`, but of {fits}"
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
    return precedence(tag)[:3] < precedence(since)[:3]


def _too_new(flag: Flag, tag: str) -> str:
    if not tag or not flag.since or not _is_before(tag, flag.since):
        return ""
    return f"--{flag.name} came with Flux {flag.since}, and {tag} is older"
