"""A kubeconfig → a cluster, by the official client."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Any

from flux_upgrade.edges import origins
from flux_upgrade.edges.kubernetes.cluster import KubernetesCluster
from flux_upgrade.edges.kubernetes.kubeconfig import context_of
from flux_upgrade.edges.kubernetes.requests import Client, Requests
from flux_upgrade.edges.plain import one_line
from flux_upgrade.errors import ClusterUnavailable, ClusterUnfit, UsageError
from flux_upgrade.ports import Timing


def connect(kubeconfig: str, context: str, timing: Timing) -> KubernetesCluster:
    """The cluster of a context; nothing is asked of it yet.

    ``kubeconfig``: a path, or several as ``KUBECONFIG`` has them; ``context`` empty: the current one.
    A credential plugin that it names is run. Raises UsageError, ClusterUnavailable, ClusterUnfit.
    """
    name = context_of(kubeconfig, context)
    try:
        from kubernetes import client
        from kubernetes.dynamic import DynamicClient
    except ImportError as error:
        raise ClusterUnfit(
            "the Kubernetes client is not installed here, and --kubeconfig needs it",
            hint="pip install 'flux-upgrade[cluster]'",
        ) from error
    configuration = client.Configuration()
    _load(configuration, kubeconfig, name)
    _refuse_plain(configuration, name)
    # Ours waits in the run's own clock; and a redirect would take the credentials to another host.
    configuration.retries = False
    api = client.ApiClient(configuration)
    # Its own discovery would be kept in a file with a name that anybody can guess.
    requests: Client = DynamicClient(api, discoverer=_no_discovery)
    return KubernetesCluster(Requests(requests, name, timing), api.close)


def _no_discovery(client: object, cache_file: object) -> None:
    del client, cache_file


def _load(configuration: Any, kubeconfig: str, context: str) -> None:
    """Credentials and addresses of a context into the client's ``configuration``."""
    from kubernetes import config

    try:
        with _complaints(context):
            config.load_kube_config(kubeconfig, context, configuration, persist_config=False)
    except (config.ConfigException, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise UsageError(
            f"the context '{one_line(context)}' cannot be used: {one_line(str(error).partition(chr(10))[0])}",
            hint="try kubectl config view --minify with that context",
        ) from None
    refresh = configuration.refresh_api_key_hook
    if refresh is None:
        return

    def refresh_quietly(of: Any) -> None:
        with _complaints(context):
            refresh(of)
        of.refresh_api_key_hook = refresh_quietly  # the client's hook puts itself back

    configuration.refresh_api_key_hook = refresh_quietly


class _Collector(logging.Handler):
    """What is logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _complaints(context: str) -> Iterator[None]:
    """The client logs why a credential plugin fails, and goes on without credentials: here, an error."""
    collector, root = _Collector(), logging.getLogger()
    root.addHandler(collector)
    try:
        yield
    finally:
        root.removeHandler(collector)
    if collector.messages:
        raise ClusterUnavailable(
            f"no credentials for the context '{one_line(context)}': {one_line(collector.messages[0])}",
            hint="run the credential plugin that the kubeconfig names by hand, and log in again",
        )


def _refuse_plain(configuration: Any, context: str) -> None:
    """Credentials do not go over the network unencrypted. A proxy of kubectl on this machine has none."""
    if not configuration.api_key:
        return
    with suppress(ValueError):
        server = origins.origin(configuration.host)
        if server.scheme == "https" or _is_loopback(server.host.strip("[]")):
            return
    raise UsageError(
        f"the server of the context '{one_line(context)}' is not https, and it has credentials",
        hint="give its https address in the kubeconfig",
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
