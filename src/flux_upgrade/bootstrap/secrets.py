"""Kubernetes Secrets with the fields that Flux reads.

Sources: fluxcd/flux2 ``pkg/manifestgen/sourcesecret``, fluxcd/pkg ``runtime/secrets``.
"""

from __future__ import annotations

import base64
import json

from flux_upgrade.bootstrap.options import BootstrapOptions
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import AppCredentials, KeyPair, Secret

IDENTITY = "identity"
PUBLIC = "identity.pub"
KNOWN_HOSTS = "known_hosts"
PASSWORD = "password"  # noqa: S105 the name of the field
DOCKER_CONFIG = ".dockerconfigjson"
DOCKER = "kubernetes.io/dockerconfigjson"


def ssh_secret(options: BootstrapOptions, key: KeyPair, known_hosts: str) -> Secret:
    """For ``ssh://``. ``known_hosts``: lines."""
    data = {IDENTITY: _ended(key.private), PUBLIC: _ended(key.public), KNOWN_HOSTS: _ended(known_hosts)}
    return _source(options, data | ({PASSWORD: key.passphrase} if key.passphrase else {}))


def token_secret(options: BootstrapOptions, token: str, ca: str = "") -> Secret:
    """For ``https://``. ``ca``: certificates (PEM) that Flux is to trust besides those of its image."""
    data = (
        {"bearerToken": token}
        if options.with_bearer_token
        else {"username": options.username, PASSWORD: token}
    )
    return _source(options, data | ({"ca.crt": ca} if ca else {}))


def app_secret(options: BootstrapOptions, app: AppCredentials, ca: str = "") -> Secret:
    """For ``https://`` as a GitHub App. Raises UsageError unless the installation is named once."""
    if not app.app_id or not app.private_key:
        raise UsageError(
            "a GitHub App has an ID and a private key, and one of them is missing",
            hint="give --app-id, and --app-private-key or FLUX_UPGRADE_APP_PRIVATE_KEY",
        )
    if bool(app.installation_id) == bool(app.installation_owner):
        raise UsageError(
            "a GitHub App's installation is named by its ID or by its owner, and by one of them alone",
            hint="give either --app-installation-id or --app-installation-owner",
        )
    data = {
        "githubAppID": app.app_id,
        "githubAppInstallationID": app.installation_id,
        "githubAppInstallationOwner": app.installation_owner,
        "githubAppPrivateKey": _ended(app.private_key),
        "githubAppBaseURL": app.base_url,
        "ca.crt": ca,
    }
    return _source(options, {name: value for name, value in data.items() if value})


def pull_secret(options: BootstrapOptions) -> Secret | None:
    """For ``--image-pull-secret``, from ``--registry-creds``; None without them.

    Raises UsageError unless they have exactly one colon, as Flux does.
    """
    if not options.registry_creds:
        return None
    user, _, password = options.registry_creds.partition(":")
    if options.registry_creds.count(":") != 1 or not user or not password:
        raise UsageError(
            "--registry-creds is not a user and a password with one ':' between them",
            hint="give them as user:password",
        )
    if not options.install.image_pull_secret:
        raise UsageError(
            "--registry-creds is given, and no name for the secret that they go into",
            hint="name it with --image-pull-secret",
        )
    return docker_secret(
        options.install.image_pull_secret, options.namespace, options.install.registry, user, password
    )


def docker_secret(name: str, namespace: str, registry: str, user: str, password: str) -> Secret:
    """Of type dockerconfigjson, for ``registry`` as it is to stand in ``auths``."""
    auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    config = {"auths": {registry: {"username": user, "password": password, "auth": auth}}}
    return Secret(name, namespace, {DOCKER_CONFIG: json.dumps(config, separators=(",", ":"))}, DOCKER)


def _source(options: BootstrapOptions, data: dict[str, str]) -> Secret:
    return Secret(options.secret_name, options.namespace, data)


def _ended(text: str) -> str:
    """With exactly one line end behind it: ssh reads no key without."""
    return f"{text.strip()}\n"
