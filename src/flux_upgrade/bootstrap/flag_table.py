"""Every flag that a bootstrap takes: command line, config file, schema and docs are made from this one table.

Source: fluxcd/flux2 ``cmd/flux/bootstrap.go``, ``bootstrap_<provider>.go`` and
``create_secret_github_app.go``, v2.0.0 to v2.9.4; for OCI, the RFC of fluxcd/flux2#4749.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial

from flux_upgrade.bootstrap.options import Provider, Source
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, EXTRA_COMPONENTS, LOG_LEVELS
from flux_upgrade.model.values import NamedTuple


class FlagKind(StrEnum):
    BOOLEAN = "boolean"
    TEXT = "text"
    LIST = "list"
    DURATION = "duration"
    NUMBER = "number"
    CHOICE = "choice"


class FlagUse(StrEnum):
    USED = "used"
    IGNORED = "ignored"  # It is taken, so that flags can be copied, and means nothing here
    REFUSED = "refused"


class FlagGroup(StrEnum):
    INSTALL = "What to install"
    REPOSITORY = "Git repository"
    SYNC = "What Flux reconciles"
    ACCESS = "How Flux accesses the repository"
    APP = "GitHub App (Flux v2.5.0 and later)"
    COMMITS = "Commits"
    OCI = "OCI artifact (--source=oci)"
    UNUSED = "Flags of Flux that are refused or have no effect"


_RARE_GROUPS = (FlagGroup.APP, FlagGroup.COMMITS, FlagGroup.OCI, FlagGroup.UNUSED)
_RARE = (
    *("registry-creds", "cluster-domain", "toleration-keys", "force", "visibility", "team", "group", "reconcile"),
    *("recurse-submodules", "sparse-checkout", "ssh-hostname", "ca-file", "allow-insecure-http", "with-bearer-token"),
    *("ssh-key-algorithm", "secret-name", "username"),
)


class Flag(NamedTuple):
    """One flag, with Flux's name."""

    name: str
    meaning: str  # Without its capital and full stop. Of one that is refused: why, and what there is instead.
    kind: FlagKind = FlagKind.TEXT
    default: str = ""
    since: str = ""  # The first release that has it; empty: v2.0.0 or earlier
    providers: tuple[Provider, ...] = tuple(Provider)  # For `Source.GIT`; an artifact has no provider
    sources: tuple[Source, ...] = (Source.GIT,)
    choices: tuple[str, ...] = ()
    group: FlagGroup = FlagGroup.INSTALL
    short: str = ""
    use: FlagUse = FlagUse.USED
    is_secret: bool = False  # Its value is shown nowhere, and has no place in a file of the repository
    is_local: bool = False

    @property
    def description(self) -> str:
        match self.use:
            case FlagUse.REFUSED:
                return f"refused: it {self.meaning}"
            case FlagUse.IGNORED:
                return f"has no effect: {self.meaning}"
        return f"{self.meaning} (default: {self.default})" if self.default else self.meaning

    @property
    def is_rare(self) -> bool:
        """Whether only ``--help-all`` shows it."""
        return self.group in _RARE_GROUPS or self.name in _RARE

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")


_ANY = tuple(Source)
_WITH_OWNER = tuple(each for each in Provider if each is not Provider.GIT)
_WITH_TEAMS = (Provider.GITHUB, Provider.GITLAB, Provider.GITEA)
_WITH_LOGIN = (Provider.BITBUCKET_SERVER, Provider.GIT)
_GIT = (Provider.GIT,)
_GITLAB = (Provider.GITLAB,)
_UNSIGNED = "is for your own commits: bootstrap commits are unsigned, or your Git host signs them"

_install = partial(Flag, group=FlagGroup.INSTALL, sources=_ANY)
_repository = partial(Flag, group=FlagGroup.REPOSITORY, providers=_WITH_OWNER)
_sync = partial(Flag, group=FlagGroup.SYNC)
_access = partial(Flag, group=FlagGroup.ACCESS)
_app = partial(Flag, group=FlagGroup.APP, providers=(Provider.GITHUB,))
_commit = partial(Flag, group=FlagGroup.COMMITS)
_oci = partial(Flag, group=FlagGroup.OCI, sources=(Source.OCI,))
_ignored = partial(Flag, group=FlagGroup.UNUSED, sources=_ANY, use=FlagUse.IGNORED)
_refused = partial(Flag, group=FlagGroup.UNUSED, sources=_ANY, use=FlagUse.REFUSED)

_TABLE = (
    _install(
        "version",
        "Flux version, such as v2.9.4 or latest (default: the version in the repository, else the newest)",
        short="-v",
    ),
    _install("namespace", "namespace of Flux, and name of its objects", default="flux-system", short="-n"),
    _install("components", "controllers, in this order", FlagKind.LIST, ",".join(DEFAULT_COMPONENTS)),
    _install("components-extra", f"additional controllers, out of {', '.join(EXTRA_COMPONENTS)}", FlagKind.LIST),
    _install("registry", "registry of the controller images", default="ghcr.io/fluxcd"),
    _install("image-pull-secret", "name of the Secret for a private registry"),
    _install("registry-creds", "user:password for that Secret", since="v2.3.0", is_secret=True),
    _install("watch-all-namespaces", "false: watch only the namespace of Flux", FlagKind.BOOLEAN, "true"),
    _install("network-policy", "false: install no NetworkPolicy", FlagKind.BOOLEAN, "true"),
    _install("log-level", "log level of the controllers", FlagKind.CHOICE, "info", choices=LOG_LEVELS),
    _install("cluster-domain", "internal DNS domain of the cluster", default="cluster.local"),
    _install("toleration-keys", "taint keys that the controllers tolerate", FlagKind.LIST),
    _install("force", "continue if another tool manages Flux in the cluster", FlagKind.BOOLEAN, "false", "v2.2.0"),
    _repository("owner", "user, organization, group or project that owns the repository"),
    _repository("repository", "name of the repository, or owner/name"),
    _repository("hostname", "host of the provider (default: github.com, gitlab.com or gitea.com)"),
    _repository(
        "url",
        "URL of a Git repository, ssh:// or https://; with --source=oci, of the artifact with Flux, oci://",
        providers=_GIT,
        sources=_ANY,
    ),
    _repository("branch", "branch of the repository", default="main", providers=tuple(Provider)),
    _repository("personal", "the owner is a user, not an organization", FlagKind.BOOLEAN, "false"),
    _repository("private", "false: create a public repository", FlagKind.BOOLEAN, "true"),
    _repository(
        "visibility",
        "visibility of a repository that is created",
        FlagKind.CHOICE,
        "private",
        "v2.4.0",
        providers=_GITLAB,
        choices=("private", "internal", "public"),
    ),
    _repository(
        "team", "teams with access to the repository, as slug or slug:permission", FlagKind.LIST, providers=_WITH_TEAMS
    ),
    _repository(
        "group",
        "groups with access to the repository, as name or name:permission",
        FlagKind.LIST,
        providers=(Provider.BITBUCKET_SERVER,),
    ),
    _repository(
        "reconcile",
        "give teams access to an existing repository, and change nothing else of it",
        FlagKind.BOOLEAN,
        "false",
    ),
    _sync("path", "directory of the cluster (default: the root of the repository)"),
    _sync("interval", "how often Flux checks its source", FlagKind.DURATION, "1m0s", sources=_ANY),
    _sync("recurse-submodules", "fetch Git submodules as well", FlagKind.BOOLEAN, "false"),
    _sync(
        "sparse-checkout", "only directories that Flux fetches; they must include the path", FlagKind.LIST, "", "v2.9.0"
    ),
    _access("token-auth", "use HTTPS with a token, not SSH with a deploy key", FlagKind.BOOLEAN, "false"),
    _access("secret-name", "name of the Secret with the credentials", default="flux-system", sources=_ANY),
    _access(
        "username",
        "user name; with --source=oci, the user who pushes the artifact",
        default="git",
        providers=_WITH_LOGIN,
        sources=_ANY,
        short="-u",
    ),
    _access("ssh-hostname", "SSH host, if it is not the host of the provider"),
    _access("read-write-key", "give the deploy key write access", FlagKind.BOOLEAN, "false", providers=_WITH_OWNER),
    _access("private-key-file", "existing SSH key with access, instead of a new deploy key", is_local=True),
    _access(
        "ca-file",
        "PEM file with the certificate of a private CA to trust as well; with a token, in the cluster, too",
        sources=_ANY,
        is_local=True,
    ),
    _access("allow-insecure-http", "allow HTTP without TLS", FlagKind.BOOLEAN, "false", providers=_GIT, sources=_ANY),
    _access(
        "with-bearer-token", "send the token as a bearer token", FlagKind.BOOLEAN, "false", "v2.3.0", providers=_GIT
    ),
    _access("ssh-key-algorithm", "algorithm of a new deploy key; only ed25519 is supported", default="ed25519"),
    _app("app-id", "ID of the GitHub App that Flux authenticates as", FlagKind.NUMBER, "", "v2.5.0"),
    _app("app-installation-id", "ID of the installation of the app", FlagKind.NUMBER, "", "v2.5.0"),
    _app("app-installation-owner", "owner of the installation, instead of its ID", since="v2.8.0"),
    _app("app-base-url", "API of a GitHub Enterprise Server, https://HOST/api/v3", since="v2.5.0"),
    _commit("author-name", "author name of the commits", default="Flux"),
    _commit("author-email", "author email of the commits"),
    _commit("commit-message-appendix", "text to append to the commit messages, such as [ci skip]"),
    _oci("cluster-url", "artifact with the manifests of the cluster, oci://"),
    _oci("cluster-path", "directory of the cluster in that artifact"),
    _oci("kustomization", "a kustomization.yaml for Flux", is_local=True),
    _oci(
        "oci-provider",
        "how Flux authenticates to the registry",
        FlagKind.CHOICE,
        "generic",
        choices=("generic", "aws", "azure", "gcp"),
    ),
    _ignored("silent", "bootstrap never prompts", FlagKind.BOOLEAN, "false", providers=_GIT, short="-s"),
    _ignored("verbose", "there is no verbose output", FlagKind.BOOLEAN, "false"),
    _ignored("ssh-rsa-bits", "a new key is always ed25519", FlagKind.NUMBER, "2048"),
    _ignored(
        "ssh-ecdsa-curve", "a new key is always ed25519", FlagKind.CHOICE, "p384", choices=("p256", "p384", "p521")
    ),
    _ignored("ssh-hostkey-algos", "known_hosts gets all keys of the host", FlagKind.LIST, "", "v2.3.0"),
    _refused("manifests", "reads manifests that are not verified: use --release-source"),
    _refused("export", "belongs to `flux install`: use `flux-upgrade render`", FlagKind.BOOLEAN),
    _refused(
        "password", "would show in the process list: set GIT_PASSWORD", providers=_GIT, short="-p", is_secret=True
    ),
    _refused(
        "deploy-token-auth",
        "needs the API of GitLab: create a project access token with read access, set it as "
        "FLUX_UPGRADE_SYNC_TOKEN, and use token-auth",
        FlagKind.BOOLEAN,
        providers=_GITLAB,
    ),
    _refused("gpg-key-ring", _UNSIGNED),
    _refused("gpg-passphrase", _UNSIGNED, is_secret=True),
    _refused("gpg-key-id", _UNSIGNED),
    _refused("ssh-signing-key-file", _UNSIGNED, since="v2.9.0"),
    _refused("ssh-signing-password", _UNSIGNED, since="v2.9.0", is_secret=True),
    _refused("ssh-signing-reuse-private-key", _UNSIGNED, FlagKind.BOOLEAN, since="v2.9.0"),
)
FLAGS = {flag.name: flag for flag in _TABLE}  # Name → flag, in the order of the help

_OF_THE_RUN = ("kubeconfig", "context", "timeout", "app-private-key")
_OF_THE_KUBECONFIG = (
    *("as", "as-group", "as-uid", "as-user-extra", "certificate-authority", "client-certificate"),
    *("client-key", "cluster", "insecure-skip-tls-verify", "server", "tls-server-name", "token", "user"),
    *("cache-dir", "disable-compression", "kube-api-burst", "kube-api-qps"),
)
ELSEWHERE = {
    **dict.fromkeys(_OF_THE_RUN, "applies to one machine and one run: use it on the command line"),
    **dict.fromkeys(_OF_THE_KUBECONFIG, "is a connection setting: put it in the kubeconfig"),
    "provider": "is not one of the flags: set it next to flags, or on the command line (for a registry: oci-provider)",
    "source": "is not one of the flags: set it next to flags, or on the command line",
}
"""Flags that are known, but not to a map of them → what to say of it."""
