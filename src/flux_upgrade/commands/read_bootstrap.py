"""What a bootstrap reads before anything is decided: config, checkout, what the user gave."""

from __future__ import annotations

from pathlib import Path

from flux_upgrade.adapters.git.checkout import find
from flux_upgrade.adapters.local import ssh_keys
from flux_upgrade.bootstrap.access import AccessInputs
from flux_upgrade.bootstrap.addresses import host_of, url_of
from flux_upgrade.bootstrap.components import RenderedComponents
from flux_upgrade.bootstrap.options import (
    Auth,
    BootstrapOptions,
    Provider,
    Source,
    actions_secret_name,
    secret_file_name,
)
from flux_upgrade.bootstrap.request import BootstrapCluster, BootstrapRequest, clusters_of
from flux_upgrade.bootstrap.secrets import ActionsSecret, ReadOnlyPlace, SecretPlace
from flux_upgrade.cli.options import BootstrapCommand
from flux_upgrade.commands.read import build_config
from flux_upgrade.commands.wiring import build_checkout, build_regenerator, build_releases, build_snapshot, read_text
from flux_upgrade.commands.wiring_bootstrap import BootstrapInventory
from flux_upgrade.commands.wiring_servers import at_host, known_of, servers_of
from flux_upgrade.config.environment import Environment
from flux_upgrade.manifests.options import parse_bool
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import AppCredentials, Hosting


def read_bootstrap(command: BootstrapCommand, environment: Environment) -> BootstrapInventory:
    """What is wrong with flags and config is said at once. Raises UsageError, InvalidConfig."""
    asked = command.request
    _require_folder(command.checkout, asked)
    checkout = find(command.checkout)
    config = build_config(environment, build_snapshot(checkout.root), command.config, uses=("extends", "bootstrap"))
    url = f"{environment.github.server_url}/{command.repository}" if command.repository else ""
    if not url and checkout.is_checkout:
        url = build_checkout(environment, checkout.root).origin()
    clusters = clusters_of(asked, config.bootstrap, known_of(environment, url), servers_of(environment))
    if asked.kubernetes.kubeconfig and (asked.credentials.secret_file or asked.credentials.actions_secret):
        raise UsageError(
            "--kubeconfig cannot be combined with --secret-file or --actions-secret",
            hint="choose one of them for the credentials",
        )
    first = clusters[0].options
    # The config file may have it, too.
    here, asked = at_host(environment._replace(ca_file=first.ca_file), asked, first)
    for path in filter(None, dict.fromkeys(each.options.ca_file for each in clusters)):
        read_text(path, "check --ca-file")
    if first.source is Source.GIT:
        # The address is what the keys of the repository are known by.
        clusters = tuple(each._replace(options=each.options._replace(url=url_of(each.options))) for each in clusters)
    regenerator = build_regenerator(here, build_releases(here, command.release_source))
    components = RenderedComponents(regenerator)
    clusters = tuple(each._replace(options=components.settled(each.options)) for each in clusters)
    inventory = BootstrapInventory(
        here,
        asked,
        first.url,  # it is pushed to as it was given, whichever way Flux takes
        checkout,
        command.release_source,
        command.checkout,
        config,
        clusters,
        regenerator,
        components,
    )
    # ``at_host`` lets go of one that is for another server.
    if inventory.publishes and environment.tokens.repository and not here.tokens.repository:
        server, host = environment.github.server_url, host_of(first)
        raise UsageError(
            f"GITHUB_TOKEN is for {server}, but the repository is on {host}",
            hint=f"if the token is for {host}, add --provider=github and --hostname={host}",
        )
    return inventory


def _require_folder(path: str, asked: BootstrapRequest) -> None:
    """What is not there has a checkout around it as well, and nobody meant that one."""
    if Path(path).is_dir():
        return
    hint = "pass the directory of a clone, or nothing for the current directory"
    if parse_bool(path) is not None:
        given = next((name for name, value in asked.flags.items() if value in ("true", True)), "private")
        hint = f"write the value with an equals sign: --{given}={path}"
    raise UsageError(f"there is no directory '{path}'", hint=hint)


def given_of(inventory: BootstrapInventory, options: BootstrapOptions) -> AccessInputs:
    """What the user gave for one cluster's access, read. Raises UsageError."""
    credentials = inventory.asked.credentials
    given = AccessInputs(rotate=credentials.rotate_key)
    if options.source is Source.OCI:
        return given
    # Each file that was named is read, also where nothing is handed over: a wrong name is wrong then, too.
    if options.ca_file:
        given = given._replace(ca=read_text(options.ca_file, "check --ca-file"))
    if options.auth is Auth.TOKEN:
        secrets = credentials.secrets
        return given._replace(token=secrets.token_for(options.provider) if inventory.asked.hands_over else "")
    if options.auth is Auth.APP:
        key = credentials.secrets.app_private_key
        if credentials.app_private_key:
            key = read_text(credentials.app_private_key, "check --app-private-key")
        installation = (options.app_installation_id, options.app_installation_owner)
        app = AppCredentials(options.app_id, key, *installation, options.app_base_url)
        return given._replace(app=app)
    if credentials.known_hosts:
        given = given._replace(known_hosts=read_text(credentials.known_hosts, "check --known-hosts"))
    if options.private_key_file:
        # As flux bootstrap has it, the password for Git is the passphrase of a key, too.
        passphrase = credentials.secrets.own.get(Provider.GIT, "")
        given = given._replace(key=ssh_keys.read(options.private_key_file, passphrase))
    return given


def place_of(inventory: BootstrapInventory, cluster: BootstrapCluster, hosting: Hosting | None) -> SecretPlace | None:
    """Where the Secrets of one cluster go, less the cluster itself; None: nowhere. Raises UsageError."""
    credentials, bootstrap = inventory.asked.credentials, inventory.config.bootstrap
    # Of several clusters each has a place of its own, also in a run about one of them.
    name = cluster.name if bootstrap is not None and len(bootstrap.clusters) > 1 else ""
    if credentials.actions_secret:
        if hosting is None:
            raise UsageError(
                "--actions-secret needs a token for the repository",
                hint="set GITHUB_TOKEN to a token that can write secrets",
            )
        secret = actions_secret_name(credentials.actions_secret, name)
        return ActionsSecret(hosting, secret, credentials.actions_environment)
    if not credentials.secret_file:
        return None
    from flux_upgrade.adapters.local.secret_file import SecretFile

    # Outside of the checkout.
    file = SecretFile(secret_file_name(credentials.secret_file, name), (inventory.checkout.root,))
    return ReadOnlyPlace(file) if inventory.asked.dry_run else file
