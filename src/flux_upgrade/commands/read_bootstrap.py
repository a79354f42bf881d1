"""What a bootstrap reads before anything is decided: config, checkout, what the user gave."""

from __future__ import annotations

from flux_upgrade.adapters.git.checkout import CheckoutLocation, find, is_folder
from flux_upgrade.adapters.local import ssh_keys
from flux_upgrade.bootstrap.access import AccessInputs
from flux_upgrade.bootstrap.addresses import host_of, url_of
from flux_upgrade.bootstrap.clusters import clusters_of
from flux_upgrade.bootstrap.options import (
    Auth,
    BootstrapOptions,
    Provider,
    Source,
    actions_secret_name,
    secret_file_name,
)
from flux_upgrade.bootstrap.rendered_components import RenderedComponents
from flux_upgrade.bootstrap.request import BootstrapCluster, BootstrapRequest
from flux_upgrade.bootstrap.secrets import ActionsSecret
from flux_upgrade.cli.options import Settings
from flux_upgrade.commands.read import build_config
from flux_upgrade.commands.wiring import build_regenerator, read_text
from flux_upgrade.commands.wiring_bootstrap import build_place
from flux_upgrade.commands.wiring_servers import at_host, known_of, known_of_url, servers_of
from flux_upgrade.config.config import Config
from flux_upgrade.config.environment import RegistryAccess
from flux_upgrade.manifests.options import parse_bool
from flux_upgrade.manifests.regenerate import Regenerator
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import AppCredentials
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flux_upgrade.bootstrap.secrets import SecretPlace
    from flux_upgrade.model.hosting import Hosting


class BootstrapInventory(NamedTuple):
    """One run, as far as it is settled before anybody is asked."""

    settings: Settings
    """For the server that the options name."""
    asked: BootstrapRequest
    config: Config
    checkout: CheckoutLocation
    clusters: tuple[BootstrapCluster, ...]
    regenerator: Regenerator
    components: RenderedComponents

    @property
    def first(self) -> BootstrapOptions:
        """Of the first cluster: repository and branch are the same for all."""
        return self.clusters[0].options

    @property
    def is_of_several(self) -> bool:
        """Whether each cluster has a place of its own for its Secrets, also in a run about one of them."""
        return self.config.bootstrap is not None and len(self.config.bootstrap.clusters) > 1

    @property
    def publishes(self) -> bool:
        """Whether the branch on the server is worked on, and not the local checkout."""
        return self.asked.pull_request or self.asked.push or self.creates or bool(self.asked.kubeconfig)

    @property
    def creates(self) -> bool:
        """Whether the repository may have to be created."""
        return self.asked.create_repository


def read_bootstrap(settings: Settings) -> BootstrapInventory:
    """What is wrong with flags and config is said at once. Raises UsageError, InvalidConfig."""
    asked = settings.bootstrap
    assert asked is not None  # noqa: S101 of the command `bootstrap`
    _require_folder(settings.path, asked)
    checkout = find(settings.path)
    config = build_config(settings, checkout)
    known = (
        known_of_url(settings, f"{settings.github.server_url}/{settings.repository}")
        if settings.repository
        else known_of(settings, checkout)
    )
    clusters = clusters_of(asked, config.bootstrap, known, servers_of(settings))
    if asked.kubeconfig and (asked.secret_file or asked.actions_secret):
        raise UsageError(
            "--kubeconfig hands the credentials to the cluster itself, and they go to one place",
            hint="leave out --secret-file or --actions-secret, or leave out --kubeconfig",
        )
    first = clusters[0].options
    # The config file may have it, too.
    here = at_host(settings._replace(ca_file=first.ca_file), first)
    for path in filter(None, dict.fromkeys(each.options.ca_file for each in clusters)):
        read_text(path, "check --ca-file")
    if first.source is Source.GIT:
        # It is pushed to as it was given, whichever way Flux takes.
        here = here._replace(repository=first.url)
        # The address is what the keys of the repository are known by.
        clusters = tuple(
            each._replace(options=each.options._replace(url=url_of(each.options))) for each in clusters
        )
    regenerator = build_regenerator(here)
    components = RenderedComponents(regenerator)
    clusters = tuple(each._replace(options=components.settled(each.options)) for each in clusters)
    assert here.bootstrap is not None  # noqa: S101 it was, above
    inventory = BootstrapInventory(here, here.bootstrap, config, checkout, clusters, regenerator, components)
    _require_token(inventory, settings)
    return inventory


def _require_folder(path: str, asked: BootstrapRequest) -> None:
    """What is not there has a checkout around it as well, and nobody meant that one."""
    if is_folder(path):
        return
    hint = "CHECKOUT is the folder of a clone that is there; without it, it is the working folder"
    if parse_bool(path) is not None:
        given = next((name for name, value in asked.flags.items() if value in ("true", True)), "private")
        hint = f"the value of a flag that is true or false comes after an equals sign: --{given}={path}"
    raise UsageError(f"there is no folder '{path}' to work in", hint=hint)


def _require_token(inventory: BootstrapInventory, settings: Settings) -> None:
    """That there is one for the server, where the one of the environment is for another. See ``at_host``."""
    if not inventory.publishes or inventory.settings.tokens.repository or not settings.tokens.repository:
        return
    host = host_of(inventory.first)
    raise UsageError(
        f"the token of the environment is for {settings.github.server_url}, and the repository is at {host}",
        hint=f"if it is one of {host}, give --provider=github and --hostname={host}",
    )


def given_of(inventory: BootstrapInventory, options: BootstrapOptions) -> AccessInputs:
    """What the user gave for one cluster's access, read. Raises UsageError."""
    asked = inventory.asked
    given = AccessInputs(rotate=asked.rotate_key)
    if options.source is Source.OCI:
        return given
    # Each file that was named is read, also where nothing is handed over: a wrong name is wrong then, too.
    if options.ca_file:
        given = given._replace(ca=read_text(options.ca_file, "check --ca-file"))
    match options.auth:
        case Auth.TOKEN:
            token = asked.secrets.token_for(options.provider) if asked.hands_over else ""
            return given._replace(token=token)
        case Auth.APP:
            return given._replace(app=_app(asked, options))
        case Auth.SSH:
            hosts = read_text(asked.known_hosts, "check --known-hosts") if asked.known_hosts else None
            return _with_own_key(given._replace(known_hosts=hosts), asked, options)


def _with_own_key(given: AccessInputs, asked: BootstrapRequest, options: BootstrapOptions) -> AccessInputs:
    if not options.private_key_file:
        return given
    # As flux bootstrap has it, the password for Git is the passphrase of a key, too.
    return given._replace(
        key=ssh_keys.read(options.private_key_file, asked.secrets.own.get(Provider.GIT, ""))
    )


def _app(asked: BootstrapRequest, options: BootstrapOptions) -> AppCredentials:
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


def place_of(
    inventory: BootstrapInventory, cluster: BootstrapCluster, hosting: Hosting | None
) -> SecretPlace | None:
    """Where the Secrets of one cluster go, less the cluster itself; None: nowhere. Raises UsageError."""
    asked, several = inventory.asked, inventory.is_of_several
    if asked.actions_secret:
        if hosting is None:
            raise UsageError(
                "--actions-secret needs a token for the repository",
                hint="set GITHUB_TOKEN to one that may write Secrets",
            )
        name = actions_secret_name(asked.actions_secret, cluster.name if several else "")
        return ActionsSecret(hosting, name, asked.actions_environment)
    if not asked.secret_file:
        return None
    path = secret_file_name(asked.secret_file, cluster.name if several else "")
    return build_place(inventory.settings, path, inventory.checkout)


def require_secret(inventory: BootstrapInventory, hosting: Hosting, *, is_new_repository: bool) -> None:
    """That the secret of GitHub Actions, if one is wanted, has where to go.

    Raises UsageError, and what ``Hosting.require_secret`` raises.
    """
    name, environment = inventory.asked.actions_secret, inventory.asked.actions_environment
    if not name:
        return
    if not is_new_repository:
        hosting.require_secret(name, environment)
    elif environment:
        raise UsageError(
            f"the repository is still to be created, and has no environment {environment}",
            hint="leave out --actions-environment, or create repository and environment first",
        )


def registry_access(inventory: BootstrapInventory) -> RegistryAccess:
    """With what artifacts are pushed: never what the cluster gets."""
    options, access = inventory.first, inventory.settings.registry
    plain = options.oci is not None and options.oci.allow_insecure_http
    return access._replace(plain_http=plain, username=options.username)
