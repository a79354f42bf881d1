"""The CRDs of a manifest are read in whatever form it is written."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.impact.stored_versions.refused import Definition, installed_crds
from written_crds import manifest

OCI = "ocirepositories.source.toolkit.fluxcd.io"
GIT = "gitrepositories.source.toolkit.fluxcd.io"
WRITTEN = manifest("v2.6.4", {GIT: "v1beta1 v1beta2 v1*", OCI: "v1beta2 v1*"})
CRDS = {
    GIT: Definition("v1", frozenset({"v1beta1", "v1beta2", "v1"})),
    OCI: Definition("v1", frozenset({"v1beta2", "v1"})),
}


def dumped(content: bytes) -> bytes:
    """As another YAML tool writes it."""
    return yaml.safe_dump_all(yaml.safe_load_all(content), sort_keys=False, indent=4).encode()


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "as Flux writes it": bytes,
    "CRLF": lambda content: content.replace(b"\n", b"\r\n"),
    "byte order mark": lambda content: b"\xef\xbb\xbf" + content,
    "no last newline": bytes.rstrip,
    "another tool": dumped,
    "flow style": lambda content: b"\n---\n".join(
        yaml.safe_dump(each, default_flow_style=True, width=10**6).encode()
        for each in yaml.safe_load_all(content)
        if each
    ),
    "quoted": lambda content: re.sub(rb"(storage|served|name): ([a-z0-9]+)\n", rb"\1: \2 # so\n", content),
    "status below": lambda content: content.replace(
        b"---\n",
        b"status:\n  acceptedNames:\n    kind: ''\n    plural: ''\n  conditions: []\n  storedVersions: []\n---\n",
    ).replace(b"status:\n", b"", 1),
    "comments": lambda content: content.replace(b"  versions:\n", b"  # all of them\n  versions: # here\n"),
    "names last": lambda content: content.replace(b"  name: " + OCI.encode() + b"\n", b"").replace(
        b"spec:\n  group: source.toolkit.fluxcd.io\n  names:\n    kind: OCI",
        b"  name: " + OCI.encode() + b"\nspec:\n  group: source.toolkit.fluxcd.io\n  names:\n    kind: OCI",
    ),
    "separators with comments": lambda content: content.replace(b"---\napi", b"--- # next\napi"),
    "a captured line above": lambda content: b"Warning: a newer flux is there\n---\n" + content,
    "something else below": lambda content: content + b"---\njust: text\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_does_not_matter(form: str) -> None:
    found = installed_crds(FORMS[form](WRITTEN))
    assert found is not None
    assert found.crds == CRDS
    assert found.tag == "v2.6.4"


def test_old_crds_and_old_releases() -> None:
    old = WRITTEN.replace(b"apiextensions.k8s.io/v1\n", b"apiextensions.k8s.io/v1beta1\n").replace(b"v2.6.4", b"v0.8.0")
    found = installed_crds(old)
    assert found is not None
    assert (found.tag, found.crds) == ("v0.8.0", CRDS)


@pytest.mark.parametrize(
    ("old", "new", "tag"),
    [
        (b"# Flux Version: v2.6.4", b"# Flux Version: v2.8.0", "v2.6.4"),
        (b"    app.kubernetes.io/version: v2.6.4\n", b"", "v2.6.4"),
        (b": v2.6.4\n", b': "v2.6.4"\n', "v2.6.4"),
        (b": v2.6.4\n", b": latest\n", ""),
        (b"v2.6.4", b"v2.6", ""),
        (b"v2.6.4", b"v0.0.0-dev.0", "v0.0.0-dev.0"),
        (b"v2.6.4", "v2.٦.4".encode(), ""),
    ],
)
def test_labels_tell_the_release_before_the_header(old: bytes, new: bytes, tag: str) -> None:
    found = installed_crds(WRITTEN.replace(old, new))
    assert found is not None
    assert (found.tag, found.crds) == (tag, CRDS)


def test_most_labels_win() -> None:
    found = installed_crds(WRITTEN.replace(b"version: v2.6.4", b"version: v2.8.0", 1))
    assert found is not None
    assert found.tag == "v2.6.4"


@given(st.binary(max_size=40), st.integers(0, len(WRITTEN)), st.integers(0, 60))
def test_damage_raises_nothing(junk: bytes, at: int, length: int) -> None:
    installed_crds(WRITTEN[:at] + junk + WRITTEN[at + length :])
