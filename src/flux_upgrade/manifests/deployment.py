"""The edits of Flux's generator: metadata and labels of any object, and a controller's Deployment.

Rules: fluxcd/flux2 ``pkg/manifestgen/install/templates.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flux_upgrade.manifests.generators import Generator
from flux_upgrade.manifests.options import InstallOptions, ambiguous

NOTIFICATION = "notification-controller"
SOURCE_WATCHER = "source-watcher"


def metadata(
    lines: list[str], indent: int, labels: dict[str, str], namespace: str = "", suffix: str = ""
) -> str:
    """The lines of a ``metadata`` with Flux's labels, namespace and name suffix put in their places.

    ``indent``: of its keys. Raises ValueError for a form that is not Flux's.
    """
    found = dict(sections(lines, indent))
    pad = " " * indent
    first, *existing = found.get("labels", [f"{pad}labels:\n"])
    if first != f"{pad}labels:\n":
        raise ValueError("labels in another form")
    found["labels"] = [f"{pad}labels:\n", *label_lines(existing, indent + 2, labels)]
    if suffix:
        found["name"] = [f"{found['name'][0].rstrip()}{suffix}\n"]
    if namespace:
        found["namespace"] = [f"{pad}namespace: {namespace}\n"]
    return "".join(line for key in sorted(found) for line in found[key])


def label_lines(existing: Iterable[str], indent: int, labels: dict[str, str]) -> list[str]:
    """Labels merged, in byte order, as kustomize writes them."""
    merged = {line.split(":", 1)[0].strip(): line for line in existing}
    merged |= {key: f"{' ' * indent}{key}: {value}\n" for key, value in labels.items()}
    return [merged[key] for key in sorted(merged)]


def sections(lines: list[str], indent: int) -> Iterator[tuple[str, list[str]]]:
    """The keys of a block mapping at ``indent``, each with all of its lines."""
    key, section = "", list[str]()
    for line in lines:
        if line[:indent].isspace() and line[indent] not in " -":
            if section:
                yield key, section
            key, section = line[indent:].split(":", 1)[0], []
        section.append(line)
    if section:
        yield key, section


def deployment(
    document: str, component: str, options: InstallOptions, generator: Generator, labels: dict[str, str]
) -> str:
    """A controller's Deployment with args, image, node selector, pull secret and tolerations.

    ``document`` has its own metadata in place already. Raises ValueError or
    IndexError for a form that the rules are not made for.
    """
    head, template = _cut(document, "\n  template:\n    metadata:\n")
    pod_metadata, spec = _cut(template, "\n    spec:\n")
    if generator.pod_labels:
        pod_metadata = metadata((pod_metadata + "\n").splitlines(keepends=True), 6, labels)[:-1]
    found = dict(sections(spec.splitlines(keepends=True), 6))
    found["containers"] = _containers(found["containers"], component, options, generator)
    found["nodeSelector"] = ["      nodeSelector:\n", "        kubernetes.io/os: linux\n"]
    if options.image_pull_secret:
        secret = f"      - name: {options.image_pull_secret}\n"
        found["imagePullSecrets"] = ["      imagePullSecrets:\n", secret]
    if options.toleration_keys:
        # The template quotes the key; the emitter keeps quotes only where it must.
        keys = [
            f'"{key}"' if ambiguous(key) else "'*'" if key == "*" else key for key in options.toleration_keys
        ]
        lines = (f"      - key: {key}\n        operator: Exists\n" for key in keys)
        found["tolerations"] = ["      tolerations:\n", *lines]
    body = "".join(line for key in sorted(found) for line in found[key])
    return f"{head}\n  template:\n    metadata:\n{pod_metadata}\n    spec:\n{body}"


def _cut(text: str, separator: str) -> tuple[str, str]:
    head, found, tail = text.partition(separator)
    if not found:
        raise ValueError(f"no {separator.rsplit(maxsplit=1)[-1].strip(':')} where one was expected")
    return head, tail


def _containers(lines: list[str], component: str, options: InstallOptions, generator: Generator) -> list[str]:
    if lines[1] != "      - args:\n":
        raise ValueError(f"{component}: the first container does not begin with its args")
    end = next(index for index in range(2, len(lines)) if not lines[index].startswith("        - "))
    args = [line.strip().removeprefix("- ") for line in lines[2:end]]
    _set_args(args, component, options, generator)
    rest = lines[end:]
    if options.registry:
        own, asked = f" image: fluxcd/{component}:", f" image: {options.registry}/{component}:"
        rest = [line.replace(own, asked, 1) for line in rest]
    return [*lines[:2], *(f"        - {arg}\n" for arg in args), *rest]


def _set_args(args: list[str], component: str, options: InstallOptions, generator: Generator) -> None:
    """Replace by position, as the template's JSON patches do; refuse where another flag stands there."""
    domain = options.cluster_domain
    wanted = [
        ("--watch-all-namespaces", "true" if options.watch_all_namespaces else "false"),
        ("--log-level", options.log_level),
    ]
    if component != NOTIFICATION:
        namespace = "$(RUNTIME_NAMESPACE)" if generator.runtime_namespace else options.namespace
        address = f"http://{NOTIFICATION}.{namespace}.svc.{domain}./"
        wanted.insert(0, ("--events-addr", address if NOTIFICATION in options.components else ""))
    for position, (flag, value) in enumerate(wanted):
        _set_arg(args, position, flag, value, component)
    if component == "source-controller" or (component == SOURCE_WATCHER and generator.pod_labels):
        host = component if generator.storage_host_of_component else "source-controller"
        _set_arg(args, 6, "--storage-adv-addr", f"{host}.$(RUNTIME_NAMESPACE).svc.{domain}.", component)
    if (
        generator.pod_labels
        and SOURCE_WATCHER in options.components
        and component in ("helm-controller", "kustomize-controller")
    ):
        args.append("--feature-gates=ExternalArtifact=true")


def _set_arg(args: list[str], position: int, flag: str, value: str, component: str) -> None:
    if args[position].split("=", 1)[0] != flag:
        raise ValueError(f"{component}: argument {position} is not {flag}")
    args[position] = f"{flag}={value}"
