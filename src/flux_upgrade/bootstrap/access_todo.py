"""How a cluster gets at its source: keys, tokens, Secrets, by hand. Markdown.

Sources: https://fluxcd.io/flux/components/source/gitrepositories/#secret-reference for the
keys of the Secrets, https://docs.github.com/en/authentication/connecting-to-github-with-ssh
for GitHub's host keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from flux_upgrade.bootstrap.addresses import DEFAULT_HOSTS
from flux_upgrade.bootstrap.known_hosts import host_of
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider, deploy_key_title
from flux_upgrade.bootstrap.proposed import PlaceKind, ProposedCluster
from flux_upgrade.bootstrap.shell import block, broken, generic_secret, namespace, piped, registry_secret, words
from flux_upgrade.model.markdown import code

_GITHUB = DEFAULT_HOSTS[Provider.GITHUB]
_KEYS_AT = {
    Provider.GITHUB: "under **Settings → Deploy keys** of the repository",
    Provider.GITLAB: "under **Settings → Repository → Deploy keys** of the project",
    Provider.GITEA: "under **Settings → Deploy Keys** of the repository",
    Provider.BITBUCKET_SERVER: "under **Repository settings → Access keys**",
    Provider.GIT: "on your Git server",
}
_TOKENS = {
    Provider.GITHUB: "a fine-grained personal access token with **Contents: read** for this repository only",
    Provider.GITLAB: "a project access token with the scope `read_repository`",
    Provider.GITEA: "an access token that can read repositories",
    Provider.BITBUCKET_SERVER: "an HTTP access token of the repository with read access",
    Provider.GIT: "a password or token with read access to the repository",
}

_ASIDE = "A temporary directory keeps the key out of your checkout."
_CONTEXT = "Set kubectl's context to the cluster."
PASTE = "Replace USER, run this, and paste the token. It is not shown."


def source(cluster: ProposedCluster, repository: str) -> Iterator[str]:
    """Until the Secret that the source names is in the cluster."""
    handover = cluster.handover
    if handover.access.is_elsewhere:
        title = code(deploy_key_title(cluster.options), 400)
        yield (
            f"Check that the cluster has the private key of the deploy key {title}, in its Secret "
            f"{code(cluster.options.secret_name)}. The deploy key was registered before, and is unchanged. "
            "If its private key is lost, run the bootstrap again with `--rotate-key`."
        )
    elif handover.place is PlaceKind.NOWHERE or handover.lacks_source:
        if cluster.options.oci is not None:
            yield from _registry(cluster.options)
        else:
            match cluster.options.auth:
                case Auth.SSH:
                    yield from _ssh(cluster, repository)
                case Auth.TOKEN:
                    yield _token(cluster.options)
                case Auth.APP:
                    yield _app(cluster.options)
    elif cluster.options.auth is Auth.SSH and handover.public_key and not handover.is_registered:
        # A key that was made, and that the provider's API does not know.
        yield f"{_register_at(cluster)}\n\n{block(handover.public_key, kind='text')}"
    yield from _handed_over(cluster)


def _registry(options: BootstrapOptions) -> Iterator[str]:
    """Until source-controller may pull the artifact; a cloud's own login needs no Secret."""
    if options.oci is None or options.oci.provider != "generic":
        return
    host = options.oci.url.removeprefix("oci://").partition("/")[0]
    yield (
        f"Give the cluster read-only credentials for {code(host)}. {PASTE}\n\n"
        + registry_secret(options.secret_name, options.namespace, host)
    )


def _ssh(cluster: ProposedCluster, repository: str) -> Iterator[str]:
    options = cluster.options
    title = deploy_key_title(options)
    commands: tuple[str, ...]
    if options.private_key_file:
        task = "Copy the key that you gave with `--private-key-file`"
        commands = ("cp PRIVATE_KEY_FILE identity", "ssh-keygen -y -f identity > identity.pub")
    else:
        task = "Create an SSH key"
        commands = (broken("ssh-keygen -t ed25519 -N ''", words("-C", title), "-f identity"),)
    if options.provider is Provider.GITHUB and repository:
        unless = " unless it has access already" if options.private_key_file else ""
        yield (
            f"{task}, and register it as a deploy key{unless}. {_ASIDE}\n\n"
            + block('cd "$(mktemp -d)"', *commands, _gh_add(cluster, repository))
        )
    else:
        yield f"{task}. {_ASIDE}\n\n" + block('cd "$(mktemp -d)"', *commands)
        yield f"{_register_at(cluster)} To show the key, run `cat identity.pub`."
    yield _known_hosts(cluster)
    # Where there is a Secret of that name, kubectl makes none.
    old = words("kubectl", "delete", "secret", options.secret_name, f"--namespace={options.namespace}")
    delete = [] if cluster.is_new else [broken(old, "--ignore-not-found")]
    parts = ("--from-file=identity", "--from-file=identity.pub", "--from-file=known_hosts")
    secret = generic_secret(options.secret_name, options.namespace, *parts)
    if options.private_key_file:
        yield (
            "If the key has a passphrase, save it in the same directory as `password`, and add "
            "`--from-file=password` to the next command."
        )
    yield (
        f"{_CONTEXT} In the same directory, create the Secret, then delete your copy of the private key.\n\n"
        + block(namespace(options.namespace), *delete, secret, "rm identity")
    )


def _gh_add(cluster: ProposedCluster, repository: str) -> str:
    options = cluster.options
    host = options.hostname or _GITHUB
    at = repository if host == _GITHUB else f"{host}/{repository}"
    allowed = ["--allow-write"] if options.read_write_key else []
    return broken(
        "gh repo deploy-key add identity.pub",
        words("--repo", at),
        words("--title", deploy_key_title(options)),
        *allowed,
    )


def _register_at(cluster: ProposedCluster) -> str:
    may = "write" if cluster.options.read_write_key else "read-only"
    return (
        f"Register the public key {_KEYS_AT[cluster.options.provider]}, with {may} access and the title "
        f"{code(deploy_key_title(cluster.options), 400)}."
    )


def _known_hosts(cluster: ProposedCluster) -> str:
    host = host_of(cluster.options.url)
    if host.entry == _GITHUB:
        return "In the same directory, save GitHub's host keys:\n\n" + block(
            """gh api meta --jq '.ssh_keys[] | "github.com \\(.)"' > known_hosts"""
        )
    return (
        "In the same directory, save the host keys of the Git server. Compare the fingerprints with those "
        "that its administrators publish.\n\n"
        + block(f"{words(*host.scan.split())} > known_hosts", "ssh-keygen -l -f known_hosts")
    )


def _token(options: BootstrapOptions) -> str:
    # Not with --from-literal: the list of processes would have it.
    login = (
        ["--from-file=bearerToken=/dev/stdin"]
        if options.with_bearer_token
        else [words(f"--from-literal=username={options.username}"), "--from-file=password=/dev/stdin"]
    )
    login += ["--from-file=ca.crt=CA_FILE"] if options.ca_file else []
    secret = generic_secret(options.secret_name, options.namespace, *login)
    return (
        f"Create {_TOKENS[options.provider]}. {_CONTEXT} Then run this, and paste the token. It is not shown.\n\n"
        + block(namespace(options.namespace), piped("printf '%s' \"$TOKEN\"", secret))
    )


def _app(options: BootstrapOptions) -> str:
    given = (
        ("--app-id", options.app_id),
        ("--app-installation-id", options.app_installation_id),
        ("--app-installation-owner", options.app_installation_owner),
        ("--app-base-url", options.app_base_url),
    )
    return (
        f"{_CONTEXT} Create the Secret with a private key of the GitHub App. The app needs **Contents: read** for "
        "this repository.\n\n"
        + block(
            namespace(options.namespace),
            broken(
                words("flux", "create", "secret", "githubapp", options.secret_name),
                words(f"--namespace={options.namespace}"),
                *(words(f"{flag}={value}") for flag, value in given if value),
                "--app-private-key=PRIVATE_KEY_FILE",
            ),
        )
    )


def _handed_over(cluster: ProposedCluster) -> Iterator[str]:
    made, handover = namespace(cluster.options.namespace), cluster.handover
    if handover.place is PlaceKind.ACTIONS:
        name, environment = handover.actions_secret, handover.actions_environment
        of = f" of the environment {code(environment)}" if environment else ""
        quoted = environment.replace("'", "''")
        job = (
            *((f"environment: '{quoted}'",) if environment else ()),
            "steps:",
            "  - env:",
            f"      SECRET: ${{{{ secrets.{name} }}}}",
            "    run: |",
            f"      {made}",
            "      printf '%s' \"$SECRET\" | kubectl apply --server-side -f -",
        )
        yield (
            f"Apply the cluster's Secret in a job that can access the cluster. It is stored as the Actions "
            f"secret {code(name)}{of}.\n\n" + block(*job, kind="yaml")
        )
    elif handover.place is PlaceKind.FILE:
        yield (
            f"{_CONTEXT} Apply the cluster's Secret, then delete its file. The file is on the machine that ran "
            "the bootstrap, where `--secret-file` wrote it.\n\n"
            + block(made, "kubectl apply --server-side -f SECRET_FILE", "rm SECRET_FILE")
        )
