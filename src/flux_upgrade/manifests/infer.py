"""gotk-components.yaml → the flags that it was generated with, and where each was read.

Every flag leaves its mark on the manifest. Where Deployments disagree, the
majority made the file and the others were edited by hand; a tie goes to Flux's
default. The header is asked for nothing but the order of components where the
documents were sorted (releases before v2.0.0-rc.4).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flux_upgrade.manifests.documents import Document, Manifest
from flux_upgrade.manifests.images import Image, controller_index
from flux_upgrade.manifests.options import COMPONENTS, InstallOptions
from flux_upgrade.manifests.residue import VERSION_LABEL
from flux_upgrade.model.errors import Unreadable

INSTANCE, PART_OF = "app.kubernetes.io/instance", "app.kubernetes.io/part-of"
RENDER = "`flux-upgrade render --version VERSION` and your flags (VERSION: the release that your cluster runs)"
"""How to make a manifest again: without ``--version``, `render` takes the newest release."""


@dataclass(frozen=True, slots=True)
class Inferred:
    """The flags that a manifest was generated with, and the version labels in it."""

    options: InstallOptions  # `version` is empty: the body does not name it reliably
    lines: dict[str, int]  # Flag → 1-based line that it was read from; a flag that left no line is absent
    components: tuple[tuple[str, ...], ...]  # Those in the body, and those in the header if it lists any
    versions: tuple[str, ...]  # Values of the version label, the most frequent first


def deployments(manifest: Manifest) -> Iterator[tuple[str, Document]]:
    """The known controllers' Deployments, by name, in file order. Raises Unreadable."""
    for document in manifest.documents:
        if "Deployment" in document.text:
            key = document.key
            if key.kind == "Deployment" and key.name in COMPONENTS:
                yield key.name, document


def flux_labels(document: Document) -> dict[str, str]:
    """Flux's labels on an object: those that tell it from a namesake of somebody else's."""
    labels = value_at(document.data, "metadata", "labels")
    entries = labels.items() if isinstance(labels, dict) else ()
    return {key: str(value) for key, value in entries if key in (INSTANCE, PART_OF, VERSION_LABEL)}


def is_dump(document: Document) -> bool:
    """Whether an object was printed by ``kubectl get``: the API server sets both fields, and no manifest has them."""
    if "\nstatus:" not in document.text or " uid: " not in document.text:
        return False
    data = document.data
    return isinstance(data, dict) and "status" in data and value_at(data, "metadata", "uid") is not None


def infer(manifest: Manifest) -> Inferred:
    """Recover the flags. Raises Unreadable where no controller is left, or a document is broken."""
    found = list(deployments(manifest))
    if not found:
        raise Unreadable(
            "the file has no Deployment of a Flux controller",
            hint="it is a stub or a fragment: restore the whole gotk-components.yaml from the history, "
            f"or regenerate it with {RENDER}",
        )
    lines: dict[str, int] = {"components": found[0][1].line}
    ballots = _ballots(manifest, found)
    plain = InstallOptions(version="")

    def vote(flag: str, default: str) -> str:
        counted = Counter([value for value, _ in ballots[flag]])
        value, most = counted.most_common(1)[0] if counted else (default, 0)
        value = default if counted[default] == most else value
        if value and value in counted:
            # The line of the first that says so.
            lines[flag] = dict(reversed(ballots[flag]))[value]
        return value

    options = InstallOptions(
        version="",
        namespace=vote("namespace", plain.namespace),
        components=tuple(dict(found)),
        registry=vote("registry", plain.registry),
        image_pull_secret=vote("image-pull-secret", ""),
        watch_all_namespaces=vote("watch-all-namespaces", "true") != "false",
        network_policy=vote("network-policy", "") != "",
        log_level=vote("log-level", plain.log_level),
        cluster_domain=vote("cluster-domain", plain.cluster_domain),
        toleration_keys=tuple(filter(None, vote("toleration-keys", "").split("\n"))),
    )
    components = dict.fromkeys(filter(None, (options.components, manifest.header_components)))
    return Inferred(options, lines, tuple(components), _versions(manifest, options.namespace))


def _ballots(manifest: Manifest, found: list[tuple[str, Document]]) -> defaultdict[str, list[tuple[str, int]]]:
    """Flag → what each object says of it, and the line in which it does."""
    ballots = defaultdict[str, list[tuple[str, int]]](list)
    for name, document in found:
        spec = value_at(document.data, "spec", "template", "spec")
        containers = [each for each in _list(spec, "containers") if isinstance(each, dict)]
        named = [(str(each.get("name", "")), str(each.get("image", ""))) for each in containers]
        index = controller_index(named, name)
        # Flux's own; those beside it are the user's.
        container = containers[index] if index is not None else None
        ballots["namespace"].append((document.key.namespace, _line(document, "  namespace:")))
        image = value_at(container, "image")
        repository = Image.parse(image).repository if isinstance(image, str) else ""
        if repository.endswith(f"/{name}"):
            registry = repository.removesuffix(f"/{name}")
            ballots["registry"].append((registry, _line(document, f" image: {image}")))
        secret = value_at(next(iter(_list(spec, "imagePullSecrets")), None), "name")
        ballots["image-pull-secret"].append(
            (secret if isinstance(secret, str) else "", _line(document, " imagePullSecrets:"))
        )
        keys = [value_at(toleration, "key") for toleration in _list(spec, "tolerations")]
        joined = "\n".join([key for key in keys if isinstance(key, str)])
        ballots["toleration-keys"].append((joined, _line(document, " tolerations:")))
        for arg in _list(container, "args"):
            flag, separator, value = arg.partition("=") if isinstance(arg, str) else ("", "", "")
            if flag in ("--watch-all-namespaces", "--log-level") and separator:
                ballots[flag.removeprefix("--")].append((value, _line(document, arg)))
            elif flag in ("--storage-adv-addr", "--events-addr") and ".svc." in value:
                domain = value.partition(".svc.")[2].removesuffix("/").removesuffix(".")  # Only Flux's own dot
                ballots["cluster-domain"].append((domain, _line(document, arg)))
    namespaces: list[tuple[str, int]] = []
    for document in manifest.documents:
        kind = document.key.kind
        if kind == "Namespace" and INSTANCE in flux_labels(document):
            # The Namespace tells; where somebody took it out, the Deployments do.
            ballot = document.key.name, _line(document, "  name:")
            namespaces += [ballot] * (len(found) + 1)
        elif kind == "NetworkPolicy" and PART_OF in flux_labels(document):
            ballots["network-policy"].append(("true", document.line))
    ballots["namespace"] = namespaces + ballots["namespace"]
    return ballots


def value_at(data: Any, *path: str) -> Any:
    """What stands at a path of keys in plain values; None where nothing does."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _list(data: Any, key: str) -> list[Any]:
    value = value_at(data, key)
    return value if isinstance(value, list) else []


def _line(document: Document, needle: str) -> int:
    """The line of the document in which ``needle`` first stands, else its first."""
    position = document.text.find(needle)
    return document.line + document.text.count("\n", 0, max(position, 0))


def _versions(manifest: Manifest, namespace: str) -> tuple[str, ...]:
    """The version labels of Flux's objects; those of the user's have versions of their own."""
    part_of, instance = re.escape(PART_OF), rf"{re.escape(INSTANCE)}[\"']?: *[\"']?{re.escape(namespace)}\b"
    own = re.compile(rf"{part_of}[\"']?: *[\"']?flux\b|{instance}")
    counted = Counter(
        line.partition(":")[2].strip().strip("\"'")
        for document in manifest.documents
        if own.search(document.text)
        for line in document.text.split("\n")
        if line.lstrip(" \"'").startswith(VERSION_LABEL)
    )
    return tuple(version for version, _ in counted.most_common() if version)
