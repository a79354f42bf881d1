"""Install flags in the config file change what was inferred, and a bad one is refused."""

from __future__ import annotations

import pytest

from flux_upgrade.config.flag_text import INSTALL_FLAGS, read_flag_text
from flux_upgrade.config.install_flags import MEANINGS, REFUSED, applied
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions
from flux_upgrade.model.errors import UsageError


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", {}),
        (" \n", {}),
        ("network-policy: false", {"network-policy": "false"}),
        ("{network-policy: no, log-level: debug}", {"network-policy": "false", "log-level": "debug"}),
        (
            "toleration-keys: [a, b]\n# c\nregistry: r.io:5000/x\n",
            {"toleration-keys": "a,b", "registry": "r.io:5000/x"},
        ),
        ("toleration-keys: a,b", {"toleration-keys": "a,b"}),
        ("toleration-keys: '\"a\",b'", {"toleration-keys": "a,b"}),
        ("--network-policy=false", {"network-policy": "false"}),
        ("--network-policy", {"network-policy": "true"}),
        ("network-policy=F log-level=debug", {"network-policy": "false", "log-level": "debug"}),
        ("registry=r.io:5000/x\n--watch-all-namespaces=1", {"registry": "r.io:5000/x", "watch-all-namespaces": "true"}),
        ("--toleration-keys=a,b --toleration-keys=c", {"toleration-keys": "a,b,c"}),
        ("--image-pull-secret=", {"image-pull-secret": ""}),
    ],
)
def test_flags_are_a_mapping_or_words(text: str, flags: dict[str, str]) -> None:
    assert read_flag_text(text, "--flags", INSTALL_FLAGS) == flags


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("network-polcy: false", "--flags: unknown flag 'network-polcy', did you mean 'network-policy'?"),
        ("network-policy: maybe", "--flags: network-policy expects true or false, got 'maybe'"),
        ("--network-polcy=false", "--flags: unknown flag 'network-polcy', did you mean 'network-policy'?"),
        ("--network-policy=maybe", "--flags: --network-policy 'maybe' must be true or false"),
        ("--log-level debug", "--flags: flag 'log-level' has no value; write --log-level=…; 'debug' is not name=value"),
        ("--log-level=debug --log-level=info", "--flags: flag 'log-level' is given twice"),
        ("log-level=trace x=1", "--flags: unknown flag 'x'; --log-level 'trace' is not one of debug, info, error"),
        ("toleration-keys: '\"a'", "--flags: --toleration-keys '\"a' is not a comma-separated list"),
        ("--components=a", "--flags: component 'a' does not exist in this release"),
        ("namespace=x", "--flags: flag 'namespace' cannot change in an upgrade: Flux would be installed a second time"),
        ("--version=v2.9.4", "--flags: flag 'version' is set by policy and range"),
        ("debug", "--flags: this expects a mapping such as {network-policy: false}, got text"),
        ("{a", "--flags: invalid YAML: "),
        ("a=\x1b[31m", "--flags: unknown flag 'a'"),
        ("log-level=\x1b[31m", "--flags: --log-level '\ufffd[31m' is not one of debug, info, error"),
    ],
)
def test_bad_flags_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_flag_text(text, "--flags", INSTALL_FLAGS)
    assert caught.value.message.startswith(message)
    assert "docs/reference/config.md" in caught.value.hint


def test_every_install_flag_can_be_changed_or_is_refused_with_a_reason() -> None:
    names = {field.replace("_", "-") for field in InstallOptions._fields}
    assert set(MEANINGS) | set(REFUSED) == names | {"components-extra"}


BEFORE = InstallOptions("v2.8.0", namespace="x", components=("source-controller", "source-watcher"), log_level="error")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", BEFORE),
        ("network-policy=false", BEFORE._replace(network_policy=False)),
        ("network-policy=true", BEFORE),
        ("watch-all-namespaces=false", BEFORE._replace(watch_all_namespaces=False)),
        ("log-level=debug", BEFORE._replace(log_level="debug")),
        ("registry=r", BEFORE._replace(registry="r")),
        ("image-pull-secret=s", BEFORE._replace(image_pull_secret="s")),
        ("cluster-domain=d", BEFORE._replace(cluster_domain="d")),
        ("toleration-keys=a,b", BEFORE._replace(toleration_keys=("a", "b"))),
        ("toleration-keys=", BEFORE),
        ("components=helm-controller", BEFORE._replace(components=("helm-controller",))),
        (
            "components-extra=source-watcher,image-reflector-controller",
            BEFORE._replace(components=("source-controller", "source-watcher", "image-reflector-controller")),
        ),
        ("components-extra=", BEFORE),
        (
            f"components-extra=source-watcher,helm-controller components={','.join(DEFAULT_COMPONENTS)}",
            BEFORE._replace(components=(*DEFAULT_COMPONENTS, "source-watcher")),
        ),
    ],
)
def test_flags_change_what_was_recovered_and_nothing_else(text: str, after: InstallOptions) -> None:
    assert applied(read_flag_text(text, "x", INSTALL_FLAGS), BEFORE) == after
