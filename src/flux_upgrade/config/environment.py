"""What the environment says: servers, tokens and other credentials, Git's own variables, the cache."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from flux_upgrade.model.ports import Progress
    from flux_upgrade.model.timing import LostTime, Timing

GITHUB_SERVER = "https://github.com"
GITHUB_API = "https://api.github.com"

_SECRETS = (
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "FLUX_UPGRADE_TOKEN",
    "FLUX_UPGRADE_RELEASE_TOKEN",
    "INPUT_TOKEN",
    "INPUT_RELEASE-TOKEN",
    "INPUT_REGISTRY-PASSWORD",
    "FLUX_UPGRADE_REGISTRY_PASSWORD",
    "FLUX_UPGRADE_SYNC_TOKEN",
    "FLUX_UPGRADE_APP_PRIVATE_KEY",
    "FLUX_UPGRADE_CLUSTER_PASSWORD",
    "GITLAB_TOKEN",
    "GITEA_TOKEN",
    "BITBUCKET_TOKEN",
    "GIT_PASSWORD",
)
# A log shows a private key line by line. What is shorter than that is in many a text.
_SHORTEST_LINE = 16
# The environment's names for it: fluxcd/flux2, cmd/flux/bootstrap_<provider>.go.
_PROVIDERS_OWN = {
    "github": ("GITHUB_TOKEN", "GH_TOKEN"),
    "gitlab": ("GITLAB_TOKEN",),
    "gitea": ("GITEA_TOKEN",),
    "bitbucket-server": ("BITBUCKET_TOKEN",),
    "git": ("GIT_PASSWORD",),
}
# Variable that is set in a CI → the one with the repository that the job is for: an address, or `owner/name`.
_CIS = {
    "CI": "",
    "GITHUB_ACTIONS": "GITHUB_REPOSITORY",  # Gitea and Forgejo set both
    "GITHUB_EVENT_NAME": "GITHUB_REPOSITORY",
    "GITLAB_CI": "CI_PROJECT_URL",
    "CI_MERGE_REQUEST_IID": "CI_PROJECT_URL",
    "BITBUCKET_BUILD_NUMBER": "BITBUCKET_REPO_FULL_NAME",
    "BITBUCKET_PR_ID": "BITBUCKET_REPO_FULL_NAME",
    "JENKINS_URL": "",
    "TF_BUILD": "BUILD_REPOSITORY_URI",  # Azure DevOps
    "CI_REPO": "CI_REPO",  # Woodpecker
    "DRONE": "DRONE_REPO",
    "CIRCLECI": "CIRCLE_REPOSITORY_URL",
    "TRAVIS": "TRAVIS_REPO_SLUG",
    "BUILDKITE": "BUILDKITE_REPO",
    "PROW_JOB_ID": "",
    "CODEBUILD_BUILD_ID": "CODEBUILD_SOURCE_REPO_URL",
    "TEAMCITY_VERSION": "",
    "SEMAPHORE": "",
}
# The name of the default branch: of GitLab, Woodpecker, Drone and Buildkite. GitHub has it in the event's payload.
_DEFAULT_BRANCHES = (
    *("CI_DEFAULT_BRANCH", "CI_REPO_DEFAULT_BRANCH", "DRONE_REPO_BRANCH"),
    "BUILDKITE_PIPELINE_DEFAULT_BRANCH",
)
_HEADS = "refs/heads/"
# What forges' own runners say of themselves.
_RUNNERS = ("CI_SERVER_HOST", "FORGEJO_ACTIONS", "GITEA_ACTIONS")
# They lead Git to another repository than the one that is worked on, or are not for Git.
_NOT_FOR_GIT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_PASSWORD")


class GitHub(NamedTuple):
    """Where the repository's GitHub is: github.com, or an Enterprise Server."""

    server_url: str = GITHUB_SERVER
    api_url: str = GITHUB_API
    graphql_url: str = f"{GITHUB_API}/graphql"


class Tokens(NamedTuple):
    """Each for one place, and shown nowhere."""

    repository: str = ""  # For the GitHub that the environment names; empty: anonymous
    git: str = ""  # For any other Git server; empty: the user's own credential helpers and keys
    releases: str = ""  # For the API that Flux's releases come from; empty: anonymous

    def __repr__(self) -> str:
        return "Tokens()"

    @property
    def is_known(self) -> bool:
        """Whether there is one for the repository's Git host."""
        return bool(self.repository or self.git)


class RegistryAccess(NamedTuple):
    """How the registry of an artifact is reached. What is given here goes to that registry alone."""

    host: str = ""
    username: str = ""
    password: str = ""
    is_password_on_stdin: bool = False  # `main` reads it, and sets `password`
    plain_http: bool = False
    docker_config: str = ""  # A `config.json` that has to be there; empty: `found_config`, should it be there
    found_config: str = ""
    helm_repositories: str = ""  # Helm's `repositories.yaml`, and what `helm registry login` writes; if they exist
    helm_registry: str = ""
    environment: Mapping[str, str] = {}
    """What Docker's credential helpers are run with: that of the user, without our own secrets."""

    def __repr__(self) -> str:
        return "RegistryAccess()"


class Terminal(NamedTuple):
    """How what is printed looks; as it is by itself: for a file or a pipe."""

    width: int = 0  # Columns to wrap at; 0: lines are as long as they are
    has_color: bool = False

    def paint(self, text: str, color: str) -> str:
        """``color``: as in ECMA-48, SGR: ``31`` is red."""
        return f"\x1b[{color}m{text}\x1b[0m" if self.has_color and text.strip() else text


class Ci(NamedTuple):
    """The CI that a run takes place in, and what it says of the repository; empty: it does not say."""

    repository: str = ""  # An address, or `owner/name`
    default_branch: str = ""
    event_path: str = ""  # File with the payload of the event, as GitHub writes it
    scheduled_branch: str = ""  # Branch of a scheduled run of GitHub Actions, which is always the default branch


class Environment(NamedTuple):
    """How a run reaches what is outside of it: the process's environment, and the flags that add to it."""

    tokens: Tokens = Tokens()
    github: GitHub = GitHub()
    registry: RegistryAccess = RegistryAccess()
    home: str = ""
    search_path: str = ""  # `PATH`: where a `flux` binary is looked for
    git: Mapping[str, str] = {}  # What Git and SSH read (`GIT_SSH_COMMAND` …), and whose runner it is
    workspace: str = ""  # In a container, the folder that it works on for another user, who may own checkouts in it
    runner_folder: str = ""  # `GITHUB_WORKSPACE`: where a runner puts the repository
    cache_dir: str = ""
    ca_file: str = ""
    timing: Timing | None = None
    lost: LostTime | None = None  # What the clients of the run share; None: each has its own
    terminal: Terminal = Terminal()
    progress: Progress | None = None  # None: nobody is told
    mask: Callable[[str], str] = str
    """What takes secrets out of the texts that the run writes."""
    allow_hosts: tuple[str, ...] = ()
    """That the tree names, and that are asked though they are not public; empty: as the config file has it."""
    ci: Ci | None = None  # None: a person runs it
    repository: str = ""  # As `--repository`
    trusted_branches: tuple[str, ...] = ()  # In addition to the default branch: see `commands.config_trust`
    trusts_config: bool = False  # As `--trust-config`

    def __repr__(self) -> str:
        return "Environment()"

    def say(self, what: str) -> None:
        """What the run is doing, for whoever waits."""
        if self.progress is not None:
            self.progress.doing(what)

    @property
    def of_programs(self) -> dict[str, str]:
        return {"HOME": self.home, "PATH": self.search_path}

    @property
    def of_runner(self) -> dict[str, str]:
        return {**self.git, "GITHUB_SERVER_URL": self.github.server_url}


class BootstrapSecrets(NamedTuple):
    """What a bootstrap may hand over, and whom it works as; shown nowhere."""

    sync_token: str = ""  # What Flux in the cluster gets with `--token-auth`, as it was given for that
    app_private_key: str = ""  # PEM
    cluster_username: str = ""
    cluster_password: str = ""
    own: Mapping[str, str] = {}  # Provider → the user's own token for it

    def __repr__(self) -> str:
        return "BootstrapSecrets()"

    def token_for(self, provider: str) -> str:
        """What Flux in the cluster logs in with; empty: there is none. Raises UsageError.

        That of a job expires with the job, and Flux would be locked out.
        """
        token = self.sync_token
        if not token and self.own.get(provider):
            # The Flux CLI hands over the one that it works with, which may do far more than read.
            raise UsageError(
                "no token is set for Flux to read the repository, and your own token can do more than that",
                hint="set FLUX_UPGRADE_SYNC_TOKEN to a read-only token",
            )
        if token.startswith("ghs_"):
            raise UsageError(
                "the token for Flux is a job or app token, which expires within an hour",
                hint="set FLUX_UPGRADE_SYNC_TOKEN to a long-lived token, or remove --token-auth",
            )
        return token


def environment_of(env: Mapping[str, str]) -> Environment:
    # The runner's words; on a laptop it is github.com.
    api = env.get("GITHUB_API_URL", "").rstrip("/") or GITHUB_API
    # github.com has /graphql beside its endpoints, an Enterprise Server /api/graphql beside /api/v3.
    graphql = env.get("GITHUB_GRAPHQL_URL", "") or f"{api.removesuffix('/v3')}/graphql"
    server = env.get("GITHUB_SERVER_URL", "").rstrip("/") or GITHUB_SERVER
    token = (env.get("GITHUB_TOKEN", "") or env.get("GH_TOKEN", "")).strip()
    # A token goes to no other host than the one it is for.
    releases = env.get("FLUX_UPGRADE_RELEASE_TOKEN", "").strip() or (token if api == GITHUB_API else "")
    home, cache = env.get("HOME", ""), env.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    cache = cache if cache.startswith("/") else f"{home}/.cache" if home else ""
    # docs.docker.com/reference/cli/docker, "Configuration files".
    docker = env.get("DOCKER_CONFIG", "") or (f"{home}/.docker" if home else "")
    # helm.sh/docs/helm/helm, "Environment variables"; the defaults are those of Linux.
    config = env.get("XDG_CONFIG_HOME", "")
    config = config if config.startswith("/") else f"{home}/.config" if home else ""
    helm = env.get("HELM_CONFIG_HOME", "") or (f"{config}/helm" if config else "")
    return Environment(
        tokens=Tokens(token, env.get("FLUX_UPGRADE_TOKEN", "").strip(), releases),
        github=GitHub(server, api, graphql),
        registry=RegistryAccess(
            password=env.get("FLUX_UPGRADE_REGISTRY_PASSWORD", "").strip(),
            found_config=f"{docker}/config.json" if docker else "",
            helm_repositories=env.get("HELM_REPOSITORY_CONFIG", "") or (f"{helm}/repositories.yaml" if helm else ""),
            helm_registry=env.get("HELM_REGISTRY_CONFIG", "") or (f"{helm}/registry/config.json" if helm else ""),
            environment={
                name: value for name, value in env.items() if name not in _SECRETS and not name.startswith("INPUT_")
            },
        ),
        home=home,
        search_path=env.get("PATH", ""),
        git={
            name: value
            for name, value in env.items()
            if name in _RUNNERS or (name.startswith(("GIT_", "SSH_")) and name not in _NOT_FOR_GIT)
        },
        workspace=env.get("FLUX_UPGRADE_WORKSPACE", ""),
        runner_folder=env.get("GITHUB_WORKSPACE", ""),
        cache_dir=f"{cache}/flux-upgrade" if cache else "",
        ci=_ci_of(env),
        trusted_branches=tuple(filter(None, (env.get("FLUX_UPGRADE_TRUSTED_BRANCH", "").strip(),))),
    )


def _ci_of(env: Mapping[str, str]) -> Ci | None:
    repositories = [env.get(of, "") for name, of in _CIS.items() if env.get(name, "").lower() not in ("", "0", "false")]
    if not repositories:
        return None
    is_scheduled, ref = env.get("GITHUB_EVENT_NAME") == "schedule", env.get("GITHUB_REF", "")
    return Ci(
        repository=next(filter(None, repositories), ""),
        default_branch=next(filter(None, (env.get(name, "") for name in _DEFAULT_BRANCHES)), ""),
        event_path=env.get("GITHUB_EVENT_PATH", ""),
        scheduled_branch=ref.removeprefix(_HEADS) if is_scheduled and ref.startswith(_HEADS) else "",
    )


def bootstrap_secrets_of(env: Mapping[str, str]) -> BootstrapSecrets:
    def said(name: str) -> str:
        return env.get(name, "").strip()

    own = {provider: next(filter(None, map(said, names)), "") for provider, names in _PROVIDERS_OWN.items()}
    return BootstrapSecrets(
        sync_token=said("FLUX_UPGRADE_SYNC_TOKEN"),
        app_private_key=said("FLUX_UPGRADE_APP_PRIVATE_KEY"),
        cluster_username=said("FLUX_UPGRADE_CLUSTER_USERNAME"),
        cluster_password=said("FLUX_UPGRADE_CLUSTER_PASSWORD"),
        own={provider: token for provider, token in own.items() if token},
    )


def kubeconfig_of(env: Mapping[str, str]) -> str:
    """Where kubectl would look, a list with ``:`` as it may be; empty: nowhere."""
    home = env.get("HOME", "")
    return env.get("KUBECONFIG", "") or (f"{home}/.kube/config" if home else "")


def secrets_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """Every token in the environment: none of them is printed, whatever goes wrong."""
    found = [secret for name in _SECRETS if (secret := env.get(name, "").strip())]
    of_keys = [line for secret in found if len(secret.splitlines()) > 1 for line in secret.splitlines()]
    return (*found, *[line for line in of_keys if len(line) >= _SHORTEST_LINE and "--" not in line])
