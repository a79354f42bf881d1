"""Commands for a person's shell: every value quoted, none that a block of Markdown could end with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from flux_upgrade.bootstrap.flag_table import FLAGS
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, OciOptions, Provider
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions, spell
from flux_upgrade.model.markdown import BREAK
from flux_upgrade.model.text import printable

_BACKTICKS = re.compile(r"`+")
_FENCE = 3
_WIDTH = 96  # Characters of a line, before a command is broken
_FIELDS = (
    *("owner", "repository", "hostname", "ssh_hostname", "branch", "path", "interval", "secret_name"),
    *("username", "personal", "read_write_key", "recurse_submodules", "with_bearer_token"),
    *("allow_insecure_http", "force", "app_id", "app_installation_id", "app_installation_owner"),
    "app_base_url",
)
"""Of the options, those that are flags by that name; what is only for a repository that is created aside."""
_FILES = (("ca-file", "CA_FILE"), ("private-key-file", "PRIVATE_KEY_FILE"))
"""Flags that name a file of one machine → what stands for it."""


def words(*given: str) -> str:
    return " ".join(shlex.quote(printable(word)) for word in given)


def broken(first: str, *rest: str) -> str:
    """A command whose arguments stand below each other where one line is too long. All are quoted already."""
    line = " ".join((first, *rest))
    return line if len(line) <= _WIDTH else " \\\n  ".join((first, *rest))


def block(*lines: str, kind: str = "bash") -> str:
    """Lines as a block of code. What asks for a token wants bash, or zsh: ``read -s`` is not POSIX's."""
    # Our own markers are looked for in code, too.
    text = "\n".join(lines).replace("<!--", f"<{BREAK}!--")
    fence = "`" * max(_FENCE, max(map(len, _BACKTICKS.findall(text)), default=0) + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def piped(source: str, command: str) -> str:
    """What ``source`` prints of ``$TOKEN``, which is asked for, into ``command``.

    ``read`` and ``printf`` are builtins: what they handle is in no list of processes. It is one command,
    for of several that are pasted ``read`` would take the second for the token.
    """
    return f"(read -rs TOKEN &&\n  {source} |\n  {command})"


def namespace(name: str) -> str:
    """Made where it is missing; Flux's own manifest takes it over."""
    made = words("kubectl", "create", "namespace", name, "--dry-run=client", "-o", "yaml")
    return f"{made} | kubectl apply --server-side -f -"


def generic_secret(name: str, within: str, *parts: str) -> str:
    """The command that makes a Secret; ``parts`` are quoted already."""
    secret = words("kubectl", "create", "secret", "generic", name)
    return broken(secret, words(f"--namespace={within}"), *parts)


def registry_secret(name: str, within: str, host: str) -> str:
    """A block that makes the Secret ``name`` with credentials for ``host``; the token is asked for."""
    source = (
        """printf '{"auths":{"%s":{"auth":"%s"}}}' """
        + words(host)
        + """ "$(printf '%s:%s' USER "$TOKEN" | base64 | tr -d '\\n')\""""
    )
    config = ("--type=kubernetes.io/dockerconfigjson", "--from-file=.dockerconfigjson=/dev/stdin")
    return block(namespace(within), piped(source, generic_secret(name, within, *config)))


def bootstrap_command(options: BootstrapOptions, *extra: str, configured: Sequence[str] | None = None) -> str:
    """What makes the same files again. ``extra``: words of it that are no flags of Flux, quoted already.

    Without what holds a secret. Files of one machine are named in capitals, for whoever runs it to fill
    in. ``configured``: what is said beside the config file, where there is one.
    """
    flags = configured
    if flags is None:
        flags = [f"--{name}={value}" if value else f"--{name}" for name, value in _flags(options)]
    files = (f"--{flag}={name}" for flag, name in _FILES if getattr(options, FLAGS[flag].field, ""))
    kustomization = options.oci is not None and options.oci.kustomization
    return broken(
        "flux-upgrade bootstrap",
        *(words(flag) for flag in flags),
        *files,
        *(["--kustomization=KUSTOMIZATION_FILE"] if kustomization else []),
        *extra,
    )


def _flags(options: BootstrapOptions) -> Iterator[tuple[str, str]]:
    """Name and value of each flag that is not at its default, in the order of the help; a switch has none."""
    if options.oci is not None:
        yield "source", "oci"
    else:
        yield "provider", str(options.provider)
    default = BootstrapOptions(options.provider, Auth.SSH, InstallOptions(""), oci=options.oci and OciOptions(""))
    before, values = _values(default), _values(options)
    for flag in FLAGS.values():
        value = values.get(flag.name, "")
        if flag.is_local or flag.is_secret or value in ("", before.get(flag.name, "")):
            continue
        yield flag.name, "" if value is True else spell(value)


def _values(options: BootstrapOptions) -> dict[str, str | bool | list[str]]:
    values = {"version": options.install.version, **options.install.flags()}
    components = options.install.components
    if components[: len(DEFAULT_COMPONENTS)] == DEFAULT_COMPONENTS:
        values["components"] = list(DEFAULT_COMPONENTS)
        values["components-extra"] = list(components[len(DEFAULT_COMPONENTS) :])
    values |= {name.replace("_", "-"): getattr(options, name) for name in _FIELDS}
    values |= {
        "token-auth": options.auth is Auth.TOKEN and options.oci is None,
        "sparse-checkout": list(options.sparse_checkout),
        "url": options.url if options.provider is Provider.GIT else "",
    }
    if options.oci is not None:
        values |= {
            "url": options.oci.url,
            "cluster-url": options.oci.cluster_url,
            "cluster-path": options.oci.cluster_path,
            "oci-provider": options.oci.provider,
            "allow-insecure-http": options.oci.allow_insecure_http,
        }
    return values
