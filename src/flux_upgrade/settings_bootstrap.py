"""What a bootstrap was asked for; with the config file and what the checkout tells, what is set up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from flux_upgrade.access import BootstrapSecrets, bootstrap_secrets_of, kubeconfig_of
from flux_upgrade.arguments_bootstrap import given
from flux_upgrade.bootstrap.flag_table import FLAGS
from flux_upgrade.bootstrap.flags import Value, examine
from flux_upgrade.bootstrap.names import actions_secret_problem
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider, Source
from flux_upgrade.errors import UsageError
from flux_upgrade.manifests.options import nearest
from flux_upgrade.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flux_upgrade.config import BootstrapConfig

_HINT = "see `flux-upgrade bootstrap --help` for the flags and their values"
# Flags that say where the one repository of a pull request is.
_PLACE = ("url", "owner", "repository", "hostname", "branch")
_BY_HOST = {
    "github": Provider.GITHUB,
    "gitlab": Provider.GITLAB,
    "gitea": Provider.GITEA,
    "forgejo": Provider.GITEA,
    "bitbucket": Provider.BITBUCKET_SERVER,
}


class BootstrapAsked(NamedTuple):
    """The arguments of one run; what is not of Flux is ours."""

    flags: Mapping[str, Value] = {}
    """Flux's name → value, not read yet; those of ``--flags`` among them."""
    provider: str = ""
    """Empty: told by the config file, the flags or the checkout's remote."""
    source: str = ""
    cluster: str = ""
    """Of the config file's; empty: all of them."""
    create_repository: bool = False
    description: str = ""
    add_workflow: bool = False
    secret_file: str = ""
    actions_secret: str = ""
    actions_environment: str = ""
    known_hosts: str = ""
    """A file; empty: the host's own API tells them, if it has one."""
    rotate_key: bool = False
    app_private_key: str = ""
    """A file; empty: ``secrets`` may have it."""
    kubeconfig: str = ""
    """A file, or several as in ``$KUBECONFIG``; empty: no cluster is touched."""
    context: str = ""
    timeout: int = 300
    """Seconds to wait for the cluster."""
    push: bool = False
    pull_request: bool = False
    json: bool = False
    dry_run: bool = False
    secrets: BootstrapSecrets = BootstrapSecrets()

    def __repr__(self) -> str:
        """Without what may hold a secret."""
        return f"BootstrapAsked({', '.join(self.flags)})"

    @property
    def hands_over(self) -> bool:
        """Whether the credentials for the cluster have somewhere to go; else none are made."""
        return bool(self.secret_file or self.actions_secret or self.kubeconfig)

    def secret_values(self) -> tuple[str, ...]:
        """What among the flags is to be masked wherever something is printed."""
        found = [str(value) for name, value in self.flags.items() if name in FLAGS and FLAGS[name].is_secret]
        return tuple(filter(None, [*found, *(each.partition(":")[2] for each in found)]))


class BootstrapCluster(NamedTuple):
    """One cluster that is set up."""

    name: str
    """In the config file; empty where there is one alone."""
    options: BootstrapOptions


def asked_of(asked: Mapping[str, Any], env: Mapping[str, str]) -> BootstrapAsked:
    """``asked``: what argparse found. Raises UsageError for ``--flags`` that cannot be read."""
    flags: dict[str, Value] = {}
    if asked["flags"]:
        from flux_upgrade.config import parse_bootstrap_flags

        flags.update(parse_bootstrap_flags(asked["flags"], "--flags"))
    flags.update(given(asked))
    own = {name: asked[name] for name in BootstrapAsked._fields if name in asked and name != "flags"}
    # A context alone is one of the user's own kubeconfig; without either, no cluster is touched.
    kubeconfig = asked["kubeconfig"] or (kubeconfig_of(env) if asked["context"] else "")
    return BootstrapAsked(flags)._replace(
        **{**own, "kubeconfig": kubeconfig, "secrets": bootstrap_secrets_of(env)}
    )


def clusters_of(
    asked: BootstrapAsked, config: BootstrapConfig | None, known: Mapping[str, str]
) -> tuple[BootstrapCluster, ...]:
    """What is set up. Raises UsageError with all problems, before anything is done.

    ``config``: the key ``bootstrap`` of the config file, if there is one. ``known``: what the checkout's
    remote tells of provider, owner, repository, hostname and url, should it not be said.
    """
    shared = {**(config.flags if config else {}), **asked.flags}
    source = Source(asked.source or (config.source if config else "") or Source.GIT)
    named = asked.provider or (config.provider if config else "") or known.get("provider", "")
    provider = Provider(named) if named else _told_provider(shared)
    chosen, problems = _chosen(asked, config)
    if provider is None:
        problems.append(f"what {shared['hostname']} is cannot be told: give --provider")
        provider = Provider.GITHUB
    problems += _own_problems(asked, provider, source, len(chosen))
    clusters = []
    for name, own in chosen:
        flags = {**(config.flags if config else {}), **own, **asked.flags}
        options, wrong = examine(provider, source, flags, known=known)
        told = (*wrong, *_app_problems(asked, options))
        problems += [f"cluster '{name}': {each}" if name else each for each in told]
        if not wrong:
            clusters.append(BootstrapCluster(name, options))
    problems += _between(clusters)
    if problems:
        raise UsageError("; ".join(dict.fromkeys(problems)), hint=_HINT)
    return tuple(clusters)


def _told_provider(flags: Mapping[str, Value]) -> Provider | None:
    """By the flags; None where their host could be anything."""
    if flags.get("url"):
        return Provider.GIT
    host = str(flags.get("hostname", "")) or "github.com"
    return next((provider for part, provider in _BY_HOST.items() if part in host), None)


def _chosen(
    asked: BootstrapAsked, config: BootstrapConfig | None
) -> tuple[list[tuple[str, Mapping[str, Value]]], list[str]]:
    """Name and own flags of each cluster, and what is wrong."""
    listed = dict(config.clusters) if config else {}
    if not asked.cluster:
        return list(listed.items()) or [("", {})], []
    if asked.cluster in listed:
        return [(asked.cluster, listed[asked.cluster])], []
    told = f"the config file has no cluster '{asked.cluster}'{nearest(asked.cluster, listed)}"
    return [(asked.cluster, {})], [told]


def _own_problems(asked: BootstrapAsked, provider: Provider, source: Source, clusters: int) -> Iterator[str]:
    """What does not go together among the flags that are not Flux's."""
    is_github = provider is Provider.GITHUB and source is Source.GIT
    where = f"{provider}" if source is Source.GIT else "an artifact"
    for flag, is_given in (
        ("--create-repository", asked.create_repository),
        ("--actions-secret", asked.actions_secret),
        ("--add-workflow", asked.add_workflow),
    ):
        if is_given and not is_github:
            yield f"{flag} is for GitHub alone, and this is {where}"
    for flag, is_given in (
        ("--known-hosts", asked.known_hosts),
        ("--rotate-key", asked.rotate_key),
        ("--pull-request", asked.pull_request),
        ("--push", asked.push),
    ):
        if is_given and source is Source.OCI:
            yield f"{flag} is of a Git repository, and --source=oci has none"
    if asked.actions_secret and (told := actions_secret_problem(asked.actions_secret)):
        yield f"--actions-secret {told}"
    if asked.kubeconfig and clusters > 1:
        yield f"--kubeconfig is of one cluster, and there are {clusters}: name it with --cluster"
    yield from (told for is_wrong, told in _not_together(asked) if is_wrong)


def _not_together(asked: BootstrapAsked) -> tuple[tuple[object, str], ...]:
    """Whether something is wrong, and what."""
    return (
        (
            asked.secret_file and asked.actions_secret,
            "--secret-file and --actions-secret exclude each other: the credentials go to one place",
        ),
        (asked.push and asked.pull_request, "--push and --pull-request exclude each other"),
        (
            asked.actions_environment and not asked.actions_secret,
            "--actions-environment needs --actions-secret, which is put there",
        ),
        (
            asked.description and not asked.create_repository,
            "--description needs --create-repository: it is of a new one",
        ),
        (
            asked.rotate_key and not asked.hands_over,
            "--rotate-key needs --secret-file, --actions-secret or --kubeconfig, for the new key to go to",
        ),
        (
            asked.context and not asked.kubeconfig,
            "--context needs --kubeconfig: there is no other kubeconfig here",
        ),
    )


def _app_problems(asked: BootstrapAsked, options: BootstrapOptions) -> Iterator[str]:
    has_key = bool(asked.app_private_key or asked.secrets.app_private_key)
    if asked.app_private_key and options.auth is not Auth.APP:
        yield "--app-private-key needs --app-id, which names the app"
    if options.auth is not Auth.APP:
        return
    if asked.hands_over and not has_key:
        yield "--app-id needs the app's key to hand over: --app-private-key or FLUX_UPGRADE_APP_PRIVATE_KEY"
    if asked.hands_over and not (options.app_installation_id or options.app_installation_owner):
        yield "--app-id needs --app-installation-id or --app-installation-owner, to name the installation"
    if asked.rotate_key:
        yield "--rotate-key makes a deploy key, and with --app-id there is none"


def _between(clusters: list[BootstrapCluster]) -> Iterator[str]:
    """One pull request is for one branch of one repository, and a folder in it for one cluster."""
    for flag in _PLACE:
        values = {str(getattr(each.options, flag)) for each in clusters}
        if len(values) > 1 and all(each.options.oci is None for each in clusters):
            yield f"the clusters differ in --{flag}: bootstrap them one by one, with --cluster"
    for one, other in combinations(clusters, 2):
        if told := _overlap(one.options, other.options):
            yield f"clusters '{one.name}' and '{other.name}' {told}"


def _overlap(one: BootstrapOptions, other: BootstrapOptions) -> str:
    if one.oci is not None and other.oci is not None:
        is_same = one.oci.cluster_url == other.oci.cluster_url
        paths = (one.oci.cluster_path, other.oci.cluster_path)
        return f"both have the artifact {one.oci.cluster_url}" if is_same and paths[0] == paths[1] else ""
    if one.sync_path == other.sync_path:
        return f"both are at {one.sync_path}"
    inner, outer = sorted((one.sync_path, other.sync_path), key=len, reverse=True)
    # Flux would apply the other cluster's manifests as well.
    return f"are one inside the other: {inner} in {outer}" if _is_in(inner, outer) else ""


def _is_in(inner: str, outer: str) -> bool:
    return inner.startswith(f"{outer.rstrip('/')}/")
