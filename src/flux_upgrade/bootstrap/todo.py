"""What a person has to do for a cluster, in order, with the exact commands. Markdown.

Nothing secret stands in a command, so that neither a shell's history nor the list of
processes has it: tokens are read without echo and go through a pipe of builtins.
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.bootstrap import access_todo
from flux_upgrade.bootstrap.addresses import DEFAULT_HOSTS
from flux_upgrade.bootstrap.known_hosts import host_of
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.bootstrap.proposed import PlaceKind, ProposedCluster
from flux_upgrade.bootstrap.shell import block, bootstrap_command, broken, registry_secret, words
from flux_upgrade.model.markdown import code, defused, plain, visible

_PATH = 200
_TOKENS = {
    Provider.GITHUB: "GITHUB_TOKEN",
    Provider.GITLAB: "GITLAB_TOKEN",
    Provider.GITEA: "GITEA_TOKEN",
    Provider.BITBUCKET_SERVER: "BITBUCKET_TOKEN",
    Provider.GIT: "GIT_PASSWORD",
}
_OF_THE_REGISTRY = ("FLUX_UPGRADE_CLUSTER_USERNAME", "FLUX_UPGRADE_CLUSTER_PASSWORD")


def left_to_do(
    cluster: ProposedCluster, repository: str, *, on_branch: bool = False, is_local: bool = False
) -> list[str]:
    """All that a person does for one cluster. ``repository``: ``owner/name``, or empty.

    ``on_branch``: the files are there already. ``is_local``: they are in a checkout, and in no commit yet.
    Neither: a pull request has them.
    """
    tasks = [*_looks(cluster)]
    if cluster.is_new or cluster.moves_source:
        tasks += access_todo.source(cluster, repository)
    if not cluster.is_new:
        publish = "Commit and push the files" if is_local else "Merge this pull request"
        is_left = cluster.changes and not on_branch
        return [*tasks, f"{publish}. Flux then applies the change."] if is_left else tasks
    tasks += _images(cluster)
    if cluster.commands:
        apply = "In the directory with the files, apply them.\n\n" + block(*cluster.commands)
        return [*tasks, apply, _verify(cluster.options)]
    publish = "" if on_branch else "Commit and push the files." if is_local else "Merge this pull request."
    return [*tasks, *_from_branch(cluster.options, publish)]


def with_new_secret(cluster: ProposedCluster, repository: str) -> list[str]:
    """What a person does with a Secret made now for a Flux that is there: no pull request says it."""
    if not cluster.handover.is_fresh or cluster.is_new or cluster.moves_source:
        return []
    return [*access_todo.source(cluster, repository)]


def at_once(cluster: ProposedCluster, *, on_branch: bool = False, is_local: bool = False) -> str:
    """The one command that does all of it, for whoever has flux-upgrade and access to the cluster.

    ``on_branch`` and ``is_local``: see ``left_to_do``.
    """
    options = cluster.options
    files = ["--app-private-key=PRIVATE_KEY_FILE"] if options.auth is Auth.APP else []
    # GitHub alone tells its host keys in a way that can be believed.
    if _is_by_ssh(options) and host_of(options.url).entry != DEFAULT_HOSTS[Provider.GITHUB]:
        files.append("--known-hosts=KNOWN_HOSTS_FILE")
    files.append('--kubeconfig="$HOME/.kube/config"')
    command = bootstrap_command(options, *files, configured=cluster.configured)
    remarks = [*_remarks(options)]
    if cluster.configured is not None:
        remarks.append("Run it in the checkout with the config file.")
    if is_local and not cluster.commands:
        remarks.append(f"It also pushes the files to {code(options.branch)}.")
    merges = not on_branch and not is_local and not cluster.commands
    return (
        f"**Or run one command** {'after merging, ' if merges else ''}for all of these steps. It is safe to repeat. "
        f"{' '.join(remarks)}\n\n{block(command)}"
    )


def heading(cluster: ProposedCluster) -> str:
    """Of what is left to do for one of several clusters; HTML."""
    name = defused(visible(cluster.name or "the root")).replace("&", "&amp;").replace("<", "&lt;")
    return f"<b>Action required</b> in {name}"


def _remarks(options: BootstrapOptions) -> Iterator[str]:
    if options.oci is not None:
        yield "It pushes with the credentials of `docker login`."
        if options.oci.provider == "generic":
            yield f"It gives the cluster the credentials in {' and '.join(map(code, _OF_THE_REGISTRY))}."
    else:
        # With what it gets at the repository itself.
        name = code(_TOKENS[options.provider])
        yield (
            f"It accesses the repository with the token in {name}."
            if options.provider is Provider.GITHUB
            else f"It accesses the repository with your Git credentials, or the token in {name}."
        )
    if options.auth is Auth.TOKEN and options.oci is None:
        yield f"It gives Flux the token in {code('FLUX_UPGRADE_SYNC_TOKEN')}."
    if _is_by_ssh(options) and options.provider is not Provider.GITHUB and not options.private_key_file:
        yield "It creates an SSH key, which you then register."
    if options.install.image_pull_secret:
        yield "Create the Secret for the images first."


def _is_by_ssh(options: BootstrapOptions) -> bool:
    return options.oci is None and options.auth is Auth.SSH


def _looks(cluster: ProposedCluster) -> Iterator[str]:
    files, manifest = cluster.files, cluster.files.manifest
    if files.unlisted:
        listing = code(f"{cluster.options.folder}/kustomization.yaml", _PATH)
        names = ", ".join(map(code, files.unlisted))
        yield f"Add {names} to {listing}. Flux applies only the files that it lists."
    if manifest is None:
        return
    if not manifest.verified:
        yield (
            f"Review the whole diff. The manifests of {plain(manifest.version)} are not verified, because no "
            "checksum is available."
        )
    if manifest.not_covered:
        flags = ", ".join(code(f"--{flag}") for flag in manifest.not_covered)
        yield (
            f"Review the effect of {flags} in the diff. {plain(manifest.version)} is newer than this "
            "flux-upgrade supports, and is verified for the default flags only."
        )


def _from_branch(options: BootstrapOptions, publish: str) -> Iterator[str]:
    """CRDs come before what is of their kinds; ``kubectl apply -k`` does not wait for them.

    ``publish``: what brings them there; empty: they are there.
    """
    apply = "Then apply" if publish else "Apply"
    yield (
        f"{publish} {apply} the files in an up-to-date clone of {code(options.branch)}.\n\n".lstrip()
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


def _verify(options: BootstrapOptions) -> str:
    return "Check that Flux is ready. From then on, Flux reconciles itself.\n\n" + block(
        words("flux", "check", f"--namespace={options.namespace}"),
        words("flux", "get", "all", f"--namespace={options.namespace}"),
    )


def _images(cluster: ProposedCluster) -> Iterator[str]:
    """Until the cluster may pull the controllers' images."""
    install, handover = cluster.options.install, cluster.handover
    if install.image_pull_secret and not (cluster.options.registry_creds and handover.place is not PlaceKind.NOWHERE):
        host = install.registry.partition("/")[0]
        yield (
            f"Give the cluster access to the images in {code(install.registry)}, with the Secret "
            f"{code(install.image_pull_secret)}. {access_todo.PASTE}\n\n"
            + registry_secret(install.image_pull_secret, cluster.options.namespace, host)
        )
    elif not install.image_pull_secret and install.registry.rstrip("/") != "ghcr.io/fluxcd":
        yield (
            f"Make sure that {code(install.registry)} has the images of Flux "
            f"{plain(install.version)}, and that the cluster can pull them without a Secret."
        )
