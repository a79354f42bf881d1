"""How a cluster gets at a registry, for the controllers' images and the artifact of its own. Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.bootstrap.options import BootstrapOptions
from flux_upgrade.bootstrap.proposed import Cluster, Place
from flux_upgrade.bootstrap.shell import block, broken, namespace, piped, words
from flux_upgrade.model.markdown import code, plain


def source(options: BootstrapOptions) -> Iterator[str]:
    """Until source-controller may pull the artifact; a cloud's own login needs no Secret."""
    if options.oci is None or options.oci.provider != "generic":
        return
    host = options.oci.url.removeprefix("oci://").partition("/")[0]
    yield (
        f"Let the cluster, and it alone, pull from {code(host)}: credentials that may only read. USER is "
        "yours to fill in; the token is asked for, and not shown.\n\n"
        + _registry_secret(options.secret_name, options.namespace, host)
    )


def images(cluster: Cluster) -> Iterator[str]:
    """Until the cluster may pull the controllers' images."""
    install, handover = cluster.options.install, cluster.handover
    if install.image_pull_secret and not (
        cluster.options.registry_creds and handover.place is not Place.NOWHERE
    ):
        host = install.registry.partition("/")[0]
        yield (
            f"Let the cluster pull Flux's images from {code(install.registry)}: Secret "
            f"{code(install.image_pull_secret)}. USER is yours to fill in; the token is asked for, and not "
            "shown.\n\n" + _registry_secret(install.image_pull_secret, cluster.options.namespace, host)
        )
    elif not install.image_pull_secret and install.registry.rstrip("/") != "ghcr.io/fluxcd":
        yield (
            f"Make sure that {code(install.registry)} has the images of Flux "
            f"{plain(install.version)}, and that the cluster may pull them without a Secret."
        )


def _registry_secret(name: str, within: str, host: str) -> str:
    told = (
        """printf '{"auths":{"%s":{"auth":"%s"}}}' """
        + words(host)
        + """ "$(printf '%s:%s' USER "$TOKEN" | base64 | tr -d '\\n')\""""
    )
    secret = broken(
        words("kubectl", "create", "secret", "generic", name),
        words(f"--namespace={within}"),
        "--type=kubernetes.io/dockerconfigjson",
        "--from-file=.dockerconfigjson=/dev/stdin",
    )
    return block(namespace(within), piped(told, secret))
