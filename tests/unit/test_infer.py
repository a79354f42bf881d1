"""The flags that a manifest was rendered with are inferred from its text."""

from __future__ import annotations

from typing import Any

import pytest

from flux_upgrade.manifests.documents import parse
from flux_upgrade.manifests.infer import infer
from flux_upgrade.manifests.options import COMPONENTS, InstallOptions, validate
from flux_upgrade.model.errors import Unreadable
from memory import rendered

PLAIN = InstallOptions("v2.9.4")


@pytest.mark.parametrize("tag", ["v2.0.0-rc.3", "v2.6.4", "v2.7.1", "v2.9.4"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"namespace": "x"},
        {"components": ("helm-controller", "source-controller")},
        {"registry": "r:5000/mirror/fluxcd"},
        {"image_pull_secret": "regcred"},
        {"watch_all_namespaces": False},
        {"network_policy": False},
        {"log_level": "debug"},
        {"cluster_domain": "k8s.example.org"},
        {"cluster_domain": "k8s.example.org."},
        {"cluster_domain": "${CLUSTER_DOMAIN}"},
        {"namespace": "${NAMESPACE}", "log_level": "${LEVEL}", "image_pull_secret": "${SECRET}"},
        {"toleration_keys": ("a", "b/c", "y")},
    ],
    ids=str,
)
def test_every_flag_is_read_back(tag: str, changes: dict[str, Any]) -> None:
    options = PLAIN._replace(version=tag, **changes)
    found = infer(parse(rendered(options).encode()))
    expected = options._replace(version="")
    if tag == "v2.0.0-rc.3":
        # Sorted documents tell the set of the components, the header tells their order.
        assert set(found.options.components) == set(expected.components)
        expected = expected._replace(components=found.options.components)
    assert found.options == expected
    assert found.versions == (tag,)
    validate(options)  # What `inspect` shows, `render` takes


def test_lines_are_those_of_the_file() -> None:
    text = rendered(PLAIN._replace(image_pull_secret="s", toleration_keys=("k",)))
    lines = text.splitlines()
    found = infer(parse(text.encode())).lines
    expected = {
        "namespace": "name: flux-system",
        "components": "apiVersion: apps/v1",
        "registry": "image: ghcr.io/fluxcd/source-controller:v1.9.4",
        "image-pull-secret": "imagePullSecrets:",
        "watch-all-namespaces": "- --watch-all-namespaces=true",
        "network-policy": "apiVersion: networking.k8s.io/v1",
        "log-level": "- --log-level=info",
        "toleration-keys": "tolerations:",
    }
    for flag, line in expected.items():
        assert lines[found[flag] - 1].strip() == line, flag
    assert ".svc.cluster.local." in lines[found["cluster-domain"] - 1]


def test_the_majority_made_the_file() -> None:
    text = rendered(PLAIN)
    assert infer(parse(text.replace("--log-level=info", "--log-level=debug", 1).encode())).options.log_level == "info"
    assert infer(parse(text.replace("--log-level=info", "--log-level=debug", 3).encode())).options.log_level == "debug"
    tie = text.replace("--log-level=info", "--log-level=debug", 2).encode()
    assert infer(parse(tie)).options.log_level == "info"
    one = text.replace("image: ghcr.io/fluxcd/", "image: r/", 1).encode()
    assert infer(parse(one)).options.registry == "ghcr.io/fluxcd"


def test_without_its_namespace() -> None:
    documents = rendered(PLAIN._replace(namespace="x")).split("---\n")
    text = "---\n".join(document for document in documents if "kind: Namespace" not in document)
    assert infer(parse(text.encode())).options.namespace == "x"


def test_nothing_that_depends_on_the_domain() -> None:
    options = PLAIN._replace(components=("helm-controller",), cluster_domain="c.l")
    found = infer(parse(rendered(options).encode()))
    assert found.options.cluster_domain == "cluster.local"
    assert "cluster-domain" not in found.lines


def test_a_stub() -> None:
    with pytest.raises(Unreadable, match="no Deployment"):
        infer(parse(b"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: x\n"))


def test_known_components_only() -> None:
    text = rendered(PLAIN._replace(components=tuple(COMPONENTS)))
    assert infer(parse(text.encode())).options.components == COMPONENTS
