"""Kubernetes Secrets with the fields that Flux reads, and where they are handed over, as the user chose.

Sources: fluxcd/flux2 ``pkg/manifestgen/sourcesecret``, fluxcd/pkg ``runtime/secrets``.
"""

from __future__ import annotations

import base64
import json
from typing import Protocol

from flux_upgrade.bootstrap.options import BootstrapOptions, actions_secret_problem
from flux_upgrade.model import kubernetes_objects
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import AppCredentials, Hosting, KeyPair, Secret
from flux_upgrade.model.kubernetes_objects import SECRET, KubernetesApi, ObjectReference, part

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
    data = {"bearerToken": token} if options.with_bearer_token else {"username": options.username, PASSWORD: token}
    return _source(options, data | ({"ca.crt": ca} if ca else {}))


def app_secret(options: BootstrapOptions, app: AppCredentials | None, ca: str = "") -> Secret:
    """For ``https://`` as a GitHub App. Raises UsageError without its key."""
    if app is None or not app.private_key:
        raise UsageError(
            "the ID or the private key of the GitHub App is missing",
            hint="set --app-id, and --app-private-key or FLUX_UPGRADE_APP_PRIVATE_KEY",
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
    """For ``--image-pull-secret``, from ``--registry-creds``; None without them."""
    if not options.registry_creds:
        return None
    install = options.install
    user, _, password = options.registry_creds.partition(":")
    return docker_secret(install.image_pull_secret, options.namespace, install.registry, user, password)


def docker_secret(name: str, namespace: str, registry: str, user: str, password: str) -> Secret:
    """Of type dockerconfigjson, for ``registry`` as it is to stand in ``auths``."""
    auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    config = {"auths": {registry: {"username": user, "password": password, "auth": auth}}}
    return Secret(name, namespace, {DOCKER_CONFIG: json.dumps(config, separators=(",", ":"))}, DOCKER)


def _source(options: BootstrapOptions, data: dict[str, str]) -> Secret:
    return Secret(options.secret_name, options.namespace, data)


def _ended(text: str) -> str:
    return f"{text.strip()}\n"


class SecretPlace(Protocol):
    """A place for Secrets. ``adapters.local.secret_file`` is one."""

    @property
    def where(self) -> str: ...

    @property
    def is_readable(self) -> bool:
        """Whether it gives back what was put there."""

    @property
    def is_cluster(self) -> bool:
        """Whether Flux finds the Secrets there by itself."""

    def present(self, name: str, namespace: str) -> Secret | None:
        """A Secret that was put there before; None: there is none, or it cannot be read.

        Raises UsageError where the place is taken by something else.
        """

    def has(self, name: str, namespace: str) -> bool:
        """Whether a Secret was put there before; of a place that cannot be read, whether anything was.

        Raises as ``present``.
        """

    def put(self, wanted: tuple[Secret, ...]) -> None:
        """Put Secrets there, all or none; those of other names stay."""


class ActionsSecret:
    """One sealed secret of GitHub Actions, whose text is the manifest of all Secrets.

    Raises UsageError for a name that GitHub does not take.
    """

    is_readable = False
    is_cluster = False

    def __init__(self, hosting: Hosting, name: str, environment: str = "") -> None:
        if problem := actions_secret_problem(name):
            raise UsageError(f"--actions-secret {problem}", hint="use a name such as FLUX_SYSTEM")
        self._hosting, self._environment = hosting, environment
        # A workflow knows it by this name.
        self.where = name

    def present(self, name: str, namespace: str) -> Secret | None:
        del name, namespace
        return None

    def has(self, name: str, namespace: str) -> bool:
        del name, namespace
        return self._hosting.has_secret(self.where, self._environment)

    def put(self, wanted: tuple[Secret, ...]) -> None:
        self._hosting.put_secret(self.where, kubernetes_objects.manifest(wanted), self._environment)


class ReadOnlyPlace:
    """A place for dry runs: nothing is put there."""

    def __init__(self, place: SecretPlace) -> None:
        self.where, self.is_readable, self.is_cluster = place.where, place.is_readable, place.is_cluster
        self.present, self.has = place.present, place.has

    def put(self, handed_over: tuple[Secret, ...]) -> None:
        """Nothing."""


class ClusterSecretPlace:
    """The protocol ``SecretPlace``. What is put is kept until ``handed_over`` is asked for it.

    Flux's namespace has to be there first, so that Secrets are applied with the components.
    """

    is_readable = True
    is_cluster = True

    def __init__(self, cluster: KubernetesApi) -> None:
        self._cluster = cluster
        self.where = f"the cluster '{cluster.name}'"
        self.handed_over: tuple[Secret, ...] = ()

    def present(self, name: str, namespace: str) -> Secret | None:
        there = self._cluster.get(ObjectReference(SECRET, namespace, name))
        if there is None:
            return None
        data = {key: _text(value) for key, value in part(there, "data").items()}
        return Secret(name, namespace, data, str(there.get("type", "Opaque")))

    def has(self, name: str, namespace: str) -> bool:
        return self.present(name, namespace) is not None

    def put(self, handed_over: tuple[Secret, ...]) -> None:
        self.handed_over = handed_over


def _text(value: object) -> str:
    """Of base64; what is no text is nothing that we would have put there."""
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except ValueError:
        return ""
