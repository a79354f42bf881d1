"""What a bootstrap reads before anything is decided: config, checkout, what the user gave."""

from __future__ import annotations

from flux_upgrade.adapters.git.checkout import CheckoutLocation, find, is_folder
from flux_upgrade.adapters.local import ssh_keys
from flux_upgrade.bootstrap.access import AccessInputs
from flux_upgrade.bootstrap.addresses import host_of, url_of
from flux_upgrade.bootstrap.clusters import clusters_of
from flux_upgrade.bootstrap.components import RenderedComponents
from flux_upgrade.bootstrap.options import (
    Auth,
    BootstrapOptions,
    Provider,
    Source,
    actions_secret_name,
    secret_file_name,
)
from flux_upgrade.bootstrap.request import BootstrapCluster, BootstrapRequest
from flux_upgrade.bootstrap.secrets import ActionsSecret
from flux_upgrade.cli.options import BootstrapCommand
from flux_upgrade.commands.read import build_config
from flux_upgrade.commands.wiring import build_regenerator, build_releases, read_text
from flux_upgrade.commands.wiring_bootstrap import BootstrapTarget, build_place
from flux_upgrade.commands.wiring_servers import at_host, known_of, known_of_url, servers_of
from flux_upgrade.config.config import Config
from flux_upgrade.config.environment import Environment, RegistryAccess
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

    target: BootstrapTarget
    release_source: str
    path: str
    """The folder that was named, in the checkout."""
    config: Config
    clusters: tuple[BootstrapCluster, ...]
    regenerator: Regenerator
    components: RenderedComponents

    @property
    def environment(self) -> Environment:
        """For the server that the options name."""
        return self.target.environment

    @property
    def asked(self) -> BootstrapRequest:
        """The arguments of the run."""
        return self.target.asked

    @property
    def checkout(self) -> CheckoutLocation:
        """The one around the folder that was named."""
        return self.target.checkout

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


def read_bootstrap(command: BootstrapCommand, environment: Environment) -> BootstrapInventory:
    """What is wrong with flags and config is said at once. Raises UsageError, InvalidConfig."""
    asked = command.request
    _require_folder(command.checkout, asked)
    checkout = find(command.checkout)
    config = build_config(checkout, command.config)
    known = (
        known_of_url(environment, f"{environment.github.server_url}/{command.repository}")
        if command.repository
        else known_of(environment, checkout)
    )
    clusters = clusters_of(asked, config.bootstrap, known, servers_of(environment))
    if asked.kubeconfig and (asked.secret_file or asked.actions_secret):
        raise UsageError(
            "--kubeconfig hands the credentials to the cluster itself, and they go to one place",
            hint="leave out --secret-file or --actions-secret, or leave out --kubeconfig",
        )
    first = clusters[0].options
    # The config file may have it, too.
    here, asked = at_host(environment._replace(ca_file=first.ca_file), asked, first)
    for path in filter(None, dict.fromkeys(each.options.ca_file for each in clusters)):
        read_text(path, "check --ca-file")
    if first.source is Source.GIT:
        # The address is what the keys of the repository are known by.
        clusters = tuple(
            each._replace(options=each.options._replace(url=url_of(each.options))) for each in clusters
        )
    regenerator = build_regenerator(here, build_releases(here, command.release_source))
    components = RenderedComponents(regenerator)
    clusters = tuple(each._replace(options=components.settled(each.options)) for each in clusters)
    # It is pushed to as it was given, whichever way Flux takes.
    target = BootstrapTarget(here, asked, clusters[0].options, first.url, checkout)
    inventory = BootstrapInventory(
        target, command.release_source, command.checkout, config, clusters, regenerator, components
    )
    _require_token(inventory, environment)
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


def _require_token(inventory: BootstrapInventory, environment: Environment) -> None:
    """That there is one for the server, where the one of the environment is for another. See ``at_host``."""
    if not inventory.publishes or inventory.environment.tokens.repository:
        return
    if not environment.tokens.repository:
        return
    server, host = environment.github.server_url, host_of(inventory.first)
    raise UsageError(
        f"the token of the environment is for {server}, and the repository is at {host}",
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
    return build_place(path, inventory.checkout, writes=not asked.dry_run)


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


def registry_access(inventory: BootstrapInventory, host: str) -> RegistryAccess:
    """With what artifacts are pushed: never what the cluster gets."""
    options, access = inventory.first, inventory.environment.registry
    plain = options.oci is not None and options.oci.allow_insecure_http
    return access._replace(host=host, plain_http=plain, username=options.username)
