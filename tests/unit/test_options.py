"""Install flags are taken and refused as Flux and Kubernetes do it."""

from __future__ import annotations

from typing import Any

import pytest

from flux_upgrade.manifests.options import InstallOptions, ambiguous, validate
from flux_upgrade.model.errors import UsageError

PLAIN = InstallOptions("v2.9.4")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"namespace": "a1"},
        {"namespace": "x" * 63},
        {"registry": ""},
        {"registry": "localhost:5000/flux/"},
        {"image_pull_secret": "regcred"},
        {"cluster_domain": "c.l"},
        {"cluster_domain": "c.l."},
        {"cluster_domain": "${CLUSTER_DOMAIN}"},
        {"cluster_domain": "${REGION:=eu}.example.org"},
        {"namespace": "$(NAMESPACE)"},
        {"registry": "{{registry}}/fluxcd"},
        {"image_pull_secret": "${SECRET}"},
        {"log_level": "${LOG_LEVEL:=info}"},
        {"toleration_keys": ("${KEY}",)},
        {"log_level": "error"},
        {"toleration_keys": ("a", "node.kubernetes.io/dedicated", "y", "*")},
        {"components": ("source-controller",)},
    ],
)
def test_takes_what_flux_takes(changes: dict[str, Any]) -> None:
    validate(PLAIN._replace(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"namespace": "123"}, "not a string in YAML"),
        ({"namespace": "true"}, "not a string in YAML"),
        ({"namespace": "y"}, "not a string in YAML"),
        ({"namespace": "1e3"}, "not a string in YAML"),
        ({"namespace": "0x1f"}, "not a string in YAML"),
        ({"namespace": "2020-01-01"}, "not a string in YAML"),
        ({"namespace": "Flux"}, "not a DNS label"),
        ({"namespace": "x" * 64}, "not a DNS label"),
        ({"namespace": ""}, "not a DNS label"),
        ({"namespace": "a\n"}, "not a DNS label"),
        ({"components": ()}, "empty"),
        ({"components": ("source-controller", "source-controller")}, "listed 2 times"),
        ({"components": ("source-controler",)}, "did you mean 'source-controller'?"),
        ({"components": ("zzz",)}, "does not exist in this release"),
        ({"log_level": "warn"}, "not one of debug, info, error"),
        ({"log_level": "inf"}, "did you mean 'info'?"),
        ({"registry": "a b"}, "not the start of an image name"),
        ({"cluster_domain": "-x"}, "not a DNS name"),
        ({"cluster_domain": "c.l.."}, "not a DNS name"),
        ({"cluster_domain": "${A} b"}, "not a DNS name"),
        ({"cluster_domain": "${}"}, "not a DNS name"),
        ({"image_pull_secret": "123"}, "not a DNS name that YAML reads as a string"),
        ({"image_pull_secret": "A"}, "not a DNS name"),
        ({"toleration_keys": ("a b",)}, "not a key"),
        ({"toleration_keys": ("",)}, "not a key"),
    ],
)
def test_refuses_what_flux_or_kubernetes_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        validate(PLAIN._replace(**changes))
    assert message in caught.value.message
    assert caught.value.hint


def test_names_all_problems_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        validate(PLAIN._replace(namespace="y", log_level="warn", components=()))
    assert caught.value.message.count(";") >= 2


def test_a_component_that_the_release_lacks() -> None:
    with pytest.raises(UsageError, match="source-watcher"):
        validate(PLAIN._replace(components=("source-watcher",)), ["source-controller"])


@pytest.mark.parametrize("word", ["flux-system", "a", "v2", "e3", "x1", "1a", "no1"])
def test_plain_words(word: str) -> None:
    assert not ambiguous(word)


def test_the_command_that_flux_would_take() -> None:
    options = PLAIN._replace(network_policy=False, toleration_keys=("a", "b"), namespace="x")
    assert options.command_line() == (
        "--version=v2.9.4",
        "--namespace=x",
        "--network-policy=false",
        "--toleration-keys=a,b",
    )
