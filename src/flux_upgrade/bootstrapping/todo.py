"""What a person has to do for a cluster, in order, with the exact commands. Markdown.

Nothing secret stands in a command, so that neither a shell's history nor the list of
processes has it: tokens are read without echo and go through a pipe of builtins.
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.bootstrap.addresses import DEFAULT_HOSTS
from flux_upgrade.bootstrap.known_hosts import host_of
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.bootstrapping import access_todo, registry_todo
from flux_upgrade.bootstrapping.proposed import Cluster
from flux_upgrade.bootstrapping.shell import block, bootstrap_command, broken, words
from flux_upgrade.markdown import code, defused, plain, visible

_PATH = 200


def left_to_do(cluster: Cluster, repository: str) -> list[str]:
    """All that a person does for one cluster. ``repository``: ``owner/name``, or empty."""
    things = [*_looks(cluster)]
    if cluster.is_new or cluster.moves_source:
        things += access_todo.source(cluster, repository)
    if not cluster.is_new:
        return [*things, "Merge it: Flux takes it by itself then."] if cluster.changes else things
    things += registry_todo.images(cluster)
    things += _from_files(cluster) if cluster.commands else _from_branch(cluster.options)
    return things


def at_once(cluster: Cluster) -> str:
    """The one command that does all of it, for whoever has flux-upgrade and access to the cluster."""
    options = cluster.options
    files = ["--app-private-key=PRIVATE_KEY_FILE"] if options.auth is Auth.APP else []
    files += ["--known-hosts=KNOWN_HOSTS_FILE"] if _is_of_unknown_host(options) else []
    command = bootstrap_command(options, *files, '--kubeconfig="$HOME/.kube/config"')
    remarks = "; ".join(_remarks(options))
    return (
        "Or once this is merged, all of that by one command that may be repeated"
        f"{f' ({remarks})' if remarks else ''}:\n\n{block(command)}"
    )


def heading(cluster: Cluster) -> str:
    """Of what is left to do for one of several clusters; HTML."""
    name = defused(visible(cluster.name or "the root")).replace("&", "&amp;").replace("<", "&lt;")
    return f"<b>What is left to do</b> for {name}"


def _remarks(options: BootstrapOptions) -> Iterator[str]:
    if options.auth is Auth.TOKEN and options.oci is None:
        yield f"it reads the token from the variable {code('FLUX_UPGRADE_SYNC_TOKEN')}"
    if _is_by_ssh(options) and options.provider is not Provider.GITHUB:
        yield "it makes a key, which a person registers"
    if options.install.image_pull_secret and not options.registry_creds:
        yield "but for the Secret of the images"


def _is_of_unknown_host(options: BootstrapOptions) -> bool:
    """GitHub alone tells its host keys in a way that can be believed."""
    return _is_by_ssh(options) and host_of(options.url).entry != DEFAULT_HOSTS[Provider.GITHUB]


def _is_by_ssh(options: BootstrapOptions) -> bool:
    """Whether Flux gets at a Git repository with a key."""
    return options.oci is None and options.auth is Auth.SSH


def _looks(cluster: Cluster) -> Iterator[str]:
    """What has to be looked at before merging."""
    files, manifest = cluster.files, cluster.files.manifest
    if files.unlisted:
        listing = code(f"{cluster.options.folder}/kustomization.yaml", _PATH)
        names = ", ".join(map(code, files.unlisted))
        yield f"List {names} in {listing}: what it does not list, Flux does not apply."
    if manifest is None:
        return
    if not manifest.verified:
        yield (
            "Look at the whole diff: there is no checksum that the manifests of "
            f"{plain(manifest.version)} could be held to."
        )
    if manifest.not_covered:
        flags = ", ".join(code(f"--{flag}") for flag in manifest.not_covered)
        yield (
            f"Look for {flags} in the diff: {plain(manifest.version)} is newer than the rules of this "
            "flux-upgrade, and what shows that they still hold speaks for Flux's default flags only."
        )


def _from_branch(options: BootstrapOptions) -> Iterator[str]:
    """CRDs come before what is of their kinds; ``kubectl apply -k`` does not wait for them."""
    yield (
        f"Once it is merged, apply it in a clone that has {code(options.branch)} as it is then:\n\n"
        + block(
            broken("kubectl apply --server-side", words("-f", f"./{options.folder}/gotk-components.yaml")),
            broken(
                "kubectl wait crd --selector=app.kubernetes.io/part-of=flux",
                "--for=condition=established",
                "--timeout=1m",
            ),
            broken("kubectl apply --server-side", words("-k", f"./{options.folder}")),
        )
    )
    yield _verify(options)


def _from_files(cluster: Cluster) -> Iterator[str]:
    yield "Apply it, in the folder with its files:\n\n" + block(*cluster.commands)
    yield _verify(cluster.options)


def _verify(options: BootstrapOptions) -> str:
    return "See whether it is ready; from then on Flux reconciles itself:\n\n" + block(
        words("flux", "check", f"--namespace={options.namespace}"),
        words("flux", "get", "all", f"--namespace={options.namespace}"),
    )
