"""What a bootstrap reads before anything is decided: config, checkout, what the user gave."""

from __future__ import annotations

from flux_upgrade.access import RegistryAccess
from flux_upgrade.bootstrap.addresses import url_of
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Source
from flux_upgrade.bootstrapping.access import Given
from flux_upgrade.bootstrapping.existing import RenderedComponents
from flux_upgrade.build import build_regenerator, read_text
from flux_upgrade.build_bootstrap import at_host, build_place, known_of, known_of_url
from flux_upgrade.commands.gathering import build_config
from flux_upgrade.config import Config
from flux_upgrade.edges.checkout import Place, find
from flux_upgrade.errors import UsageError
from flux_upgrade.hosting import AppCredentials
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.settings import Settings
from flux_upgrade.settings_bootstrap import BootstrapAsked, BootstrapCluster, clusters_of
from flux_upgrade.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.bootstrapping.places import Place as SecretPlace
    from flux_upgrade.ports import Hosting


class Gathered(NamedTuple):
    """One run, as far as it is settled before anybody is asked."""

    settings: Settings
    """For the server that the options name."""
    asked: BootstrapAsked
    config: Config
    checkout: Place
    clusters: tuple[BootstrapCluster, ...]
    regenerator: Regenerator
    components: RenderedComponents

    @property
    def first(self) -> BootstrapOptions:
        """Of the first cluster: repository and branch are the same for all."""
        return self.clusters[0].options

    @property
    def publishes(self) -> bool:
        """Whether the branch on the server is worked on, and not the local checkout."""
        return self.asked.pull_request or self.asked.push or self.creates or bool(self.asked.kubeconfig)

    @property
    def creates(self) -> bool:
        """Whether the repository may have to be created."""
        return self.asked.create_repository


def gather_bootstrap(settings: Settings) -> Gathered:
    """What is wrong with flags and config is said at once. Raises UsageError, InvalidConfig."""
    asked = settings.bootstrap
    assert asked is not None  # noqa: S101 of the command `bootstrap`
    checkout = find(settings.path)
    config = build_config(settings, checkout)
    known = (
        known_of_url(settings, f"{settings.github.server_url}/{settings.repository}")
        if settings.repository
        else known_of(settings, checkout)
    )
    clusters = clusters_of(asked, config.bootstrap, known)
    first = clusters[0].options
    here = at_host(settings, first)
    if first.source is Source.GIT:
        # The address is what the repository is reached and its keys are known by.
        clusters = tuple(
            each._replace(options=each.options._replace(url=url_of(each.options))) for each in clusters
        )
    regenerator = build_regenerator(here)
    return Gathered(here, asked, config, checkout, clusters, regenerator, RenderedComponents(regenerator))


def given_of(gathered: Gathered, options: BootstrapOptions) -> Given:
    """What the user gave for one cluster's access, read. Raises UsageError."""
    asked = gathered.asked
    given = Given(rotate=asked.rotate_key)
    if not asked.hands_over or options.source is Source.OCI:
        return given
    if options.ca_file:
        given = given._replace(ca=read_text(options.ca_file, "check --ca-file"))
    match options.auth:
        case Auth.TOKEN:
            return given._replace(token=asked.secrets.token_for(options.provider))
        case Auth.APP:
            return given._replace(app=_app(asked, options))
        case Auth.SSH:
            hosts = read_text(asked.known_hosts, "check --known-hosts") if asked.known_hosts else None
            return _with_own_key(given._replace(known_hosts=hosts), options)


def _with_own_key(given: Given, options: BootstrapOptions) -> Given:
    if not options.private_key_file:
        return given
    from flux_upgrade.edges.ssh_keys import read

    return given._replace(key=read(options.private_key_file))


def _app(asked: BootstrapAsked, options: BootstrapOptions) -> AppCredentials:
    key = asked.secrets.app_private_key
    if asked.app_private_key:
        key = read_text(asked.app_private_key, "check --app-private-key")
    return AppCredentials(
        options.app_id,
        key,
        options.app_installation_id,
        options.app_installation_owner,
        options.app_base_url,
    )


def place_of(gathered: Gathered, cluster: BootstrapCluster, hosting: Hosting | None) -> SecretPlace | None:
    """Where the Secrets of one cluster go, less the cluster itself; None: nowhere. Raises UsageError."""
    asked, several = gathered.asked, len(gathered.clusters) > 1
    if asked.actions_secret:
        from flux_upgrade.bootstrap.names import actions_secret_name
        from flux_upgrade.bootstrapping.places import ActionsSecret

        if hosting is None:
            raise UsageError(
                "--actions-secret needs a token for the repository",
                hint="set GITHUB_TOKEN to one that may write Secrets",
            )
        name = actions_secret_name(asked.actions_secret, cluster.name if several else "")
        return ActionsSecret(hosting, name, asked.actions_environment)
    if not asked.secret_file:
        return None
    path = f"{asked.secret_file}/{cluster.name}.yaml" if several else asked.secret_file
    return build_place(gathered.settings, path, gathered.checkout)


def registry_access(gathered: Gathered) -> RegistryAccess:
    """With what artifacts are pushed: never what the cluster gets."""
    options, access = gathered.first, gathered.settings.registry
    plain = options.oci is not None and options.oci.allow_insecure_http
    return access._replace(plain_http=plain, username=options.username)
