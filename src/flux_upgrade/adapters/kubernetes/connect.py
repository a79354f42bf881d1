"""A kubeconfig → a cluster, by the official client."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from logging.handlers import BufferingHandler
from typing import Any

from flux_upgrade.adapters.http import origins
from flux_upgrade.adapters.kubernetes.api_server import ApiServer
from flux_upgrade.adapters.kubernetes.cluster import KubernetesCluster
from flux_upgrade.model.errors import ClusterUnavailable, ClusterUnfit, UsageError
from flux_upgrade.model.text import one_line
from flux_upgrade.model.timing import Timing

_MOST_LOGGED = 1000


def context_of(kubeconfig: str, wanted: str) -> str:
    """The context that is meant: ``wanted``, or the current one where that is empty.

    ``kubeconfig``: a path, or several as ``KUBECONFIG`` has them. Raises UsageError.
    """
    files = [os.path.expanduser(path) for path in kubeconfig.split(os.pathsep) if path]
    there = [path for path in files if os.path.exists(path)]
    if not there:
        raise UsageError(
            f"no kubeconfig found{f': {one_line(kubeconfig)}' if kubeconfig else ''}",
            hint="set --kubeconfig or KUBECONFIG to its path",
        )
    configs = [_read(path) for path in there]
    current = next((str(each["current-context"]) for each in configs if each.get("current-context")), "")
    contexts = (each.get("contexts") for each in configs)
    every = [context for some in contexts if isinstance(some, list) for context in some]
    known = sorted({str(each["name"]) for each in every if isinstance(each, dict) and each.get("name")})
    context = wanted or current
    named = one_line(", ".join(known)) or "none at all"
    if not context:
        raise UsageError("the kubeconfig has no current context", hint=f"set --context: {named}")
    if context not in known:
        raise UsageError(f"the kubeconfig has no context '{one_line(context)}'", hint=f"use one of {named}")
    return context


def _read(path: str) -> Mapping[str, Any]:
    """One file. The parser's own message is not repeated: it quotes lines, which may hold a token."""
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            config = yaml.safe_load(file)
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except (yaml.YAMLError, ValueError, RecursionError):
        why = "is not valid YAML"
    else:
        if isinstance(config, dict):
            return config
        why = "is empty or not a kubeconfig"
    raise UsageError(f"the kubeconfig {one_line(path)} {why}", hint="check it with `kubectl config view --kubeconfig`")


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
            "the Kubernetes client is not installed, and --kubeconfig needs it",
            hint="run `pip install 'flux-upgrade[cluster]'`",
        ) from error
    configuration = client.Configuration()
    _load(configuration, kubeconfig, name)
    _refuse_plain(configuration, name)
    # Ours waits in the run's own clock; and a redirect would take the credentials to another host.
    configuration.retries = False
    api = client.ApiClient(configuration)
    # Its own discovery would be kept in a file with a name that anybody can guess.
    requests = DynamicClient(api, discoverer=lambda *_: None)
    return KubernetesCluster(ApiServer(requests, name, timing), api.close)


def _load(configuration: Any, kubeconfig: str, context: str) -> None:
    from kubernetes import config

    try:
        with _complaints(context):
            config.load_kube_config(kubeconfig, context, configuration, persist_config=False)
    except (config.ConfigException, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise UsageError(
            f"the context '{one_line(context)}' cannot be used: {one_line(str(error).partition(chr(10))[0])}",
            hint="check it with `kubectl config view --minify --context`",
        ) from None
    refresh = configuration.refresh_api_key_hook
    if refresh is None:
        return

    def refresh_quietly(of: Any) -> None:
        with _complaints(context):
            refresh(of)
        of.refresh_api_key_hook = refresh_quietly  # the client's hook puts itself back

    configuration.refresh_api_key_hook = refresh_quietly


@contextmanager
def _complaints(context: str) -> Iterator[None]:
    """The client logs why a credential plugin fails, and goes on without credentials: here, an error."""
    collector, root = BufferingHandler(_MOST_LOGGED), logging.getLogger()
    collector.setLevel(logging.ERROR)
    root.addHandler(collector)
    try:
        yield
    finally:
        root.removeHandler(collector)
    if collector.buffer:
        why = collector.buffer[0].getMessage()
        raise ClusterUnavailable(
            f"no credentials for the context '{one_line(context)}': {one_line(why)}",
            hint="run the credential plugin of the kubeconfig yourself, and log in again",
        )


def _refuse_plain(configuration: Any, context: str) -> None:
    """Credentials do not go over the network unencrypted. A proxy of kubectl on this machine has none."""
    if not configuration.api_key:
        return
    with suppress(ValueError):
        server = origins.origin(configuration.host)
        if server.scheme == "https" or server.host == "localhost":
            return
        if ip_address(server.host.strip("[]")).is_loopback:  # a ValueError where it is no address
            return
    raise UsageError(
        f"the context '{one_line(context)}' has credentials, but its server does not use https",
        hint="set its https URL in the kubeconfig",
    )
