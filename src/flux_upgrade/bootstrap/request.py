"""What a bootstrap was asked for → what it sets up, with the config file and the checkout's remote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from flux_upgrade.bootstrap import addresses
from flux_upgrade.bootstrap.flag_table import FLAGS
from flux_upgrade.bootstrap.flags import examine
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider, Source, actions_secret_problem
from flux_upgrade.config.config import BootstrapConfig, FlagValue
from flux_upgrade.config.environment import BootstrapSecrets
from flux_upgrade.manifests.options import nearest, spell
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.values import NamedTuple

_HINT = "see the values of each flag in `flux-upgrade bootstrap --help`"
_OF_REMOTE = "add --url, which is the address of the remote origin by default; "
# Flags that say where the one repository of a pull request is.
_PLACE = ("url", "owner", "repository", "hostname", "branch")
_SHORTEST_SECRET = 4  # Characters: what is shorter is in many a word


class CredentialsRequest(NamedTuple):
    """How Flux gets at its source, and where the credentials for that go."""

    secret_file: str = ""
    actions_secret: str = ""
    actions_environment: str = ""
    known_hosts: str = ""  # A file; empty: the host's own API tells them, if it has one
    rotate_key: bool = False
    app_private_key: str = ""  # A file; empty: `secrets` may have it
    secrets: BootstrapSecrets = BootstrapSecrets()


class KubernetesRequest(NamedTuple):
    kubeconfig: str = ""  # A file, or several as in `$KUBECONFIG`; empty: no cluster is touched
    context: str = ""
    timeout: int = 300


class BootstrapRequest(NamedTuple):
    """The arguments of one run; what is not of Flux is ours."""

    flags: Mapping[str, FlagValue] = {}  # Flux's name → value, not read yet; those of `--flags` among them
    provider: str = ""  # Empty: from the config file, the flags or the checkout's remote
    source: str = ""
    cluster: str = ""
    create_repository: bool = False
    description: str = ""
    add_workflow: bool = False
    push: bool = False
    pull_request: bool = False
    password_stdin: bool = False
    json: bool = False
    dry_run: bool = False
    credentials: CredentialsRequest = CredentialsRequest()
    kubernetes: KubernetesRequest = KubernetesRequest()

    def __repr__(self) -> str:
        return f"BootstrapRequest({', '.join(self.flags)})"  # without what may hold a secret

    @property
    def hands_over(self) -> bool:
        """Whether the credentials for the cluster have somewhere to go; else none are made."""
        places = (self.credentials.secret_file, self.credentials.actions_secret, self.kubernetes.kubeconfig)
        return any(places)

    def secret_values(self) -> tuple[str, ...]:
        """What among the flags is to be masked wherever something is printed."""
        found = [str(value) for name, value in self.flags.items() if name in FLAGS and FLAGS[name].is_secret]
        passwords = (each.partition(":")[2] for each in found)
        return tuple(filter(None, [*found, *(each for each in passwords if len(each) >= _SHORTEST_SECRET)]))

    @property
    def names_github(self) -> bool:
        """Whether the command itself says which server is a GitHub, and so whose the token is."""
        return self.provider == Provider.GITHUB and bool(self.flags.get("hostname"))


class BootstrapCluster(NamedTuple):
    name: str  # In the config file; empty where there is one alone
    options: BootstrapOptions
    configured: tuple[str, ...] | None = None
    """Words of a command line that say it again, beside the config file; None: there is none."""


def clusters_of(
    request: BootstrapRequest, config: BootstrapConfig | None, known: Mapping[str, str], servers: Mapping[str, str] = {}
) -> tuple[BootstrapCluster, ...]:
    """What is set up. Raises UsageError with all problems, before anything is done.

    ``config``: the key ``bootstrap`` of the config file, if there is one. ``known``: what the checkout's
    remote tells of provider, owner, repository, hostname and url, should it not be said. ``servers``: host
    → provider, of those that the environment names.
    """
    problems = []
    listed = dict(config.clusters) if config else {}
    chosen = listed or {"": {}}
    if request.cluster:
        chosen = {request.cluster: listed.get(request.cluster, {})}
    if request.cluster and request.cluster not in listed:
        remedy = nearest(request.cluster, listed)
        problems.append(f"the config file has no cluster '{request.cluster}'{remedy}")
    shared = config.flags if config else {}
    stated = [(name, {**shared, **own, **request.flags}) for name, own in chosen.items()]
    first = stated[0][1]
    source = Source(request.source or (config.source if config else "") or Source.GIT)
    provider: Provider | None = Provider.GIT  # an artifact is nobody's
    if source is Source.GIT:
        named = request.provider or (config.provider if config else "")
        provider = addresses.provider_of(named, first, known, servers)
    if provider is None:
        problems.append(f"the provider of {first['hostname']} is unknown: add --provider")
        provider = Provider.GITHUB
    known = addresses.of_remote(known, provider, first)
    problems += _own_problems(request, provider, source, len(chosen))
    clusters = []
    for name, flags in stated:
        options, wrong = examine(provider, source, flags, known=known)
        own_problems = (*wrong, *_app_problems(request, options), *_idle(request, options))
        problems += [f"cluster '{name}': {each}" if name else each for each in own_problems]
        if not wrong:
            configured = tuple(_words(request, name, options)) if config else None
            clusters.append(BootstrapCluster(name, options, configured))
    problems += _between(clusters)
    if problems:
        is_of_remote = known.get("url") and "url" not in first
        hint = _OF_REMOTE if is_of_remote and any("--url" in each for each in problems) else ""
        raise UsageError("; ".join(dict.fromkeys(problems)), hint=hint + _HINT)
    return tuple(clusters)


def _words(request: BootstrapRequest, name: str, options: BootstrapOptions) -> Iterator[str]:
    """What the command line had, less what is secret or of one machine or run."""
    names = ("", addresses.DEFAULT_HOSTS[Provider.GITHUB])
    is_github = options.provider is Provider.GITHUB
    is_other = is_github and addresses.name_of(options.hostname) not in names
    # Or else no token goes to a server that is not github.com.
    provider = request.provider or (str(options.provider) if is_other else "")
    own = (("cluster", name), ("provider", provider), ("source", request.source))
    yield from (f"--{flag}={value}" for flag, value in own if value)
    if is_other and "hostname" not in request.flags:
        yield f"--hostname={options.hostname}"
    for flag in FLAGS.values():
        value = request.flags.get(flag.name)
        if value is not None and not flag.is_secret and not flag.is_local:
            yield f"--{flag.name}={spell(value if isinstance(value, (str, bool, int)) else list(value))}"


def _own_problems(request: BootstrapRequest, provider: Provider, source: Source, clusters: int) -> Iterator[str]:
    credentials, kubernetes, is_oci = request.credentials, request.kubernetes, source is Source.OCI
    where = "an artifact" if is_oci else f"{provider}"
    for flag, is_given in (
        ("--create-repository", request.create_repository),
        ("--actions-secret", credentials.actions_secret),
        ("--add-workflow", request.add_workflow),
    ):
        if is_given and (is_oci or provider is not Provider.GITHUB):
            yield f"{flag} works only on GitHub, not with {where}"
    for flag, is_given in (
        ("--provider", request.provider),
        ("--known-hosts", credentials.known_hosts),
        ("--rotate-key", credentials.rotate_key),
        ("--pull-request", request.pull_request),
        ("--push", request.push),
    ):
        if is_given and is_oci:
            yield f"{flag} cannot be combined with --source=oci"
    if credentials.actions_secret and (problem := actions_secret_problem(credentials.actions_secret)):
        yield f"--actions-secret {problem}"
    for is_wrong, problem in (
        (
            kubernetes.kubeconfig and clusters > 1,
            f"--kubeconfig is for one of the {clusters} clusters: select it with --cluster",
        ),
        (
            credentials.secret_file and credentials.actions_secret,
            "--secret-file and --actions-secret cannot be combined: the credentials go to one place",
        ),
        (request.push and request.pull_request, "--push and --pull-request cannot be combined"),
        (
            credentials.actions_environment and not credentials.actions_secret,
            "--actions-environment needs --actions-secret",
        ),
        (request.description and not request.create_repository, "--description needs --create-repository"),
        (
            credentials.rotate_key and not request.hands_over,
            "--rotate-key needs --secret-file, --actions-secret or --kubeconfig for the new key",
        ),
        (kubernetes.context and not kubernetes.kubeconfig, "--context needs --kubeconfig"),
    ):
        if is_wrong:
            yield problem


def _app_problems(request: BootstrapRequest, options: BootstrapOptions) -> Iterator[str]:
    credentials = request.credentials
    has_key = bool(credentials.app_private_key or credentials.secrets.app_private_key)
    if credentials.app_private_key and options.auth is not Auth.APP:
        yield "--app-private-key needs --app-id"
    if options.auth is not Auth.APP:
        return
    if request.hands_over and not has_key:
        yield "--app-id needs the key of the app: --app-private-key or FLUX_UPGRADE_APP_PRIVATE_KEY"
    if not (options.app_installation_id or options.app_installation_owner):
        yield "--app-id needs --app-installation-id or --app-installation-owner"
    if credentials.rotate_key:
        yield "--rotate-key cannot be combined with --app-id, which needs no deploy key"


def _idle(request: BootstrapRequest, options: BootstrapOptions) -> Iterator[str]:
    """What was given to the command itself, and would come to nothing.

    A config file says what a repository is to be once it is created; a later run may find it there.
    """
    if request.password_stdin and (options.oci is None or not options.username):
        yield "--password-stdin needs --source=oci and --username"
    if options.oci is not None:
        return
    is_github = options.provider is Provider.GITHUB
    for flag in ("team", "group"):
        if not request.flags.get(flag) or request.create_repository:
            continue
        if not is_github:
            yield f"--{flag} has no effect: flux-upgrade gives access only on GitHub"
        elif not options.reconcile:
            yield f"--{flag} needs --create-repository or --reconcile"
    flag = next((each for each in ("visibility", "private") if each in request.flags), "")
    if flag and options.visibility != "private" and not request.create_repository:
        yield f"--{flag} needs --create-repository: an existing repository keeps its visibility"


def _between(clusters: list[BootstrapCluster]) -> Iterator[str]:
    """One pull request is for one branch of one repository, and a folder in it for one cluster."""
    for flag in _PLACE:
        values = {str(getattr(each.options, flag)) for each in clusters}
        if len(values) > 1 and all(each.options.oci is None for each in clusters):
            yield f"the clusters have different values of --{flag}: bootstrap them one at a time, with --cluster"
    for one, other in combinations(clusters, 2):
        names, oci = f"clusters '{one.name}' and '{other.name}'", one.options.oci
        inner, outer = sorted((one.options.sync_path, other.options.sync_path), key=len, reverse=True)
        if oci is not None and other.options.oci is not None:
            theirs = other.options.oci
            if (oci.cluster_url, oci.cluster_path) == (theirs.cluster_url, theirs.cluster_path):
                yield f"{names} have the same artifact {oci.cluster_url}"
        elif inner == outer:
            yield f"{names} have the same path {inner}"
        elif inner.startswith(f"{outer.rstrip('/')}/"):
            # Flux would apply the other cluster's manifests as well.
            yield f"{names} overlap: {inner} is inside {outer}"
