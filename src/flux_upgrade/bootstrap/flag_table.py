"""Every flag that a bootstrap takes: command line, config file, schema and docs are made from this one table.

Source: fluxcd/flux2 ``cmd/flux/bootstrap.go``, ``bootstrap_<provider>.go`` and
``create_secret_github_app.go``, v2.0.0 to v2.9.4; for OCI, the RFC of fluxcd/flux2#4749.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import NamedTuple

from flux_upgrade.bootstrap.options import Provider, Source
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, EXTRA_COMPONENTS, LOG_LEVELS


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
    INSTALL = "what is installed"
    REPOSITORY = "the Git repository"
    SYNC = "what Flux reconciles"
    ACCESS = "how Flux gets at the repository"
    APP = "a GitHub App, from Flux v2.5.0 on"
    COMMITS = "commits"
    OCI = "an OCI artifact, with --source=oci"
    UNUSED = "flags of Flux without a use here"


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
    def field(self) -> str:
        return self.name.replace("-", "_")


_ANY = tuple(Source)
_WITH_OWNER = tuple(each for each in Provider if each is not Provider.GIT)
_WITH_TEAMS = (Provider.GITHUB, Provider.GITLAB, Provider.GITEA)
_WITH_LOGIN = (Provider.BITBUCKET_SERVER, Provider.GIT)
_GIT = (Provider.GIT,)
_GITLAB = (Provider.GITLAB,)
_UNSIGNED = "is for commits of your own: those of a bootstrap are unsigned, or the provider signs them"

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
        "Flux version, like v2.9.4 or latest; without it, what is there keeps its own, and new is the newest",
        short="-v",
    ),
    _install("namespace", "where Flux is installed; its objects have the same name", default="flux-system", short="-n"),
    _install("components", "the controllers, in this order", FlagKind.LIST, ",".join(DEFAULT_COMPONENTS)),
    _install("components-extra", f"controllers besides, of {', '.join(EXTRA_COMPONENTS)}", FlagKind.LIST),
    _install("registry", "where the controllers' images are", default="ghcr.io/fluxcd"),
    _install("image-pull-secret", "name of the Secret for a private registry"),
    _install("registry-creds", "user:password for that Secret", since="v2.3.0", is_secret=True),
    _install("watch-all-namespaces", "false: watch the namespace of Flux alone", FlagKind.BOOLEAN, "true"),
    _install("network-policy", "false: no NetworkPolicy objects", FlagKind.BOOLEAN, "true"),
    _install("log-level", "what the controllers log", FlagKind.CHOICE, "info", choices=LOG_LEVELS),
    _install("cluster-domain", "the cluster's internal DNS domain", default="cluster.local"),
    _install("toleration-keys", "keys of the taints that the controllers tolerate", FlagKind.LIST),
    _install("force", "go on where another tool manages the Flux in the cluster", FlagKind.BOOLEAN, "false", "v2.2.0"),
    _repository("owner", "the user, organization, group or project that has the repository"),
    _repository("repository", "its name, or owner/name"),
    _repository("hostname", "the provider's host; without it github.com, gitlab.com or gitea.com"),
    _repository(
        "url",
        "of a Git repository, ssh:// or https://; with --source=oci, of the artifact that Flux is in, oci://",
        providers=_GIT,
        sources=_ANY,
    ),
    _repository("branch", "the branch", default="main", providers=tuple(Provider)),
    _repository("personal", "the owner is a person", FlagKind.BOOLEAN, "false"),
    _repository("private", "false: a repository that is created is public", FlagKind.BOOLEAN, "true"),
    _repository(
        "visibility",
        "of a repository that is created",
        FlagKind.CHOICE,
        "private",
        "v2.4.0",
        providers=_GITLAB,
        choices=("private", "internal", "public"),
    ),
    _repository("team", "teams with access to it, each slug or slug:permission", FlagKind.LIST, providers=_WITH_TEAMS),
    _repository(
        "group",
        "groups with access to it, each name or name:permission",
        FlagKind.LIST,
        providers=(Provider.BITBUCKET_SERVER,),
    ),
    _repository(
        "reconcile",
        "teams get access to a repository that exists, too; nothing else of it changes",
        FlagKind.BOOLEAN,
        "false",
    ),
    _sync("path", "the cluster's directory; without it, the root of the repository"),
    _sync("interval", "how often Flux looks at its source", FlagKind.DURATION, "1m0s", sources=_ANY),
    _sync("recurse-submodules", "Git submodules, too", FlagKind.BOOLEAN, "false"),
    _sync(
        "sparse-checkout", "the only directories that Flux fetches, the path among them", FlagKind.LIST, "", "v2.9.0"
    ),
    _access("token-auth", "https with a token; without it, ssh with a deploy key", FlagKind.BOOLEAN, "false"),
    _access("secret-name", "name of the Secret with the credentials", default="flux-system", sources=_ANY),
    _access(
        "username",
        "who logs in; with --source=oci, to push",
        default="git",
        providers=_WITH_LOGIN,
        sources=_ANY,
        short="-u",
    ),
    _access("ssh-hostname", "the host for ssh, where it is another one"),
    _access("read-write-key", "the deploy key may write", FlagKind.BOOLEAN, "false", providers=_WITH_OWNER),
    _access("private-key-file", "an ssh key that has access already, instead of a new one", is_local=True),
    _access(
        "ca-file",
        "PEM file with authorities to trust besides the usual ones, here and, with a token, in the cluster",
        sources=_ANY,
        is_local=True,
    ),
    _access("allow-insecure-http", "http is allowed", FlagKind.BOOLEAN, "false", providers=_GIT, sources=_ANY),
    _access("with-bearer-token", "the token is a bearer token", FlagKind.BOOLEAN, "false", "v2.3.0", providers=_GIT),
    _access("ssh-key-algorithm", "of a new deploy key; there is one", default="ed25519"),
    _app("app-id", "its id; with it, Flux logs in as the app", FlagKind.NUMBER, "", "v2.5.0"),
    _app("app-installation-id", "the id of its installation", FlagKind.NUMBER, "", "v2.5.0"),
    _app("app-installation-owner", "instead of that, who it is installed for", since="v2.8.0"),
    _app("app-base-url", "the API of a GitHub Enterprise Server, https://HOST/api/v3", since="v2.5.0"),
    _commit("author-name", "who the commits are by", default="Flux"),
    _commit("author-email", "and their address"),
    _commit("commit-message-appendix", "what the commit messages end with, like [ci skip]"),
    _oci("cluster-url", "the artifact with the cluster's own manifests, oci://"),
    _oci("cluster-path", "the cluster's directory in it"),
    _oci("kustomization", "a kustomization.yaml for Flux", is_local=True),
    _oci(
        "oci-provider",
        "how Flux logs in at the registry",
        FlagKind.CHOICE,
        "generic",
        choices=("generic", "aws", "azure", "gcp"),
    ),
    _ignored("silent", "nobody is asked for anything", FlagKind.BOOLEAN, "false", providers=_GIT, short="-s"),
    _ignored("verbose", "there is no more to tell", FlagKind.BOOLEAN, "false"),
    _ignored("ssh-rsa-bits", "a new key is ed25519", FlagKind.NUMBER, "2048"),
    _ignored("ssh-ecdsa-curve", "a new key is ed25519", FlagKind.CHOICE, "p384", choices=("p256", "p384", "p521")),
    _ignored("ssh-hostkey-algos", "known_hosts gets all keys of the host", FlagKind.LIST, "", "v2.3.0"),
    _refused("manifests", "reads manifests that nobody checked: use --release-source"),
    _refused("export", "belongs to `flux install`: use `flux-upgrade render`", FlagKind.BOOLEAN),
    _refused("password", "would be seen by others: set GIT_PASSWORD", providers=_GIT, short="-p", is_secret=True),
    _refused(
        "deploy-token-auth",
        "needs GitLab's API: make an access token of the project that may read the repository, set it as "
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
    **dict.fromkeys(_OF_THE_RUN, "is for one machine and one run: give it to the command itself"),
    **dict.fromkeys(_OF_THE_KUBECONFIG, "is about the connection to the cluster, which the kubeconfig says all of"),
    "provider": "is for the command itself, or stands beside the flags; that of a registry is oci-provider",
    "source": "is for the command itself, or stands beside the flags",
}
"""Flags that are known, but not to a map of them → what to say of it."""
