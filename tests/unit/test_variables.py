"""Which variables a Kustomization substitutes without a value and without a default."""

from __future__ import annotations

import pytest

from flux_upgrade.clusters.graph.flux_objects import SourceKey
from flux_upgrade.clusters.graph.graph import ClusterGraph
from flux_upgrade.clusters.graph.reads import Root
from flux_upgrade.clusters.graph.variables import MissingVariable, Variables
from memory import MemoryTree

HERE = SourceKey("GitRepository", "flux-system", "flux-system")
SETTINGS = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\ndata: {DOMAIN: x}\n"
SECRET = b"""\
apiVersion: v1
kind: Secret
metadata: {name: secrets, namespace: flux-system}
stringData: {TOKEN: "ENC[AES256_GCM,data:abc,type:str]"}
sops: {mac: x}
"""
FROM = "postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}, {kind: Secret, name: secrets}]}"


def missing(post_build: str, **files: str) -> list[MissingVariable]:
    """Of the Kustomization ``apps``, which has ``files`` in its directory; a name's last ``_`` is a dot."""
    apps = f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: apps, namespace: flux-system}}
spec:
  path: ./apps
  sourceRef: {{kind: GitRepository, name: flux-system}}
  {post_build}
"""
    tree = MemoryTree(
        {
            "cluster/apps.yaml": apps.encode(),
            "cluster/settings.yaml": SETTINGS,
            "cluster/secrets.yaml": SECRET,
            **{f"apps/{'.'.join(name.rsplit('_', 1))}": text.encode() for name, text in files.items()},
        }
    )
    (reads,) = ClusterGraph(tree, {"one": (Root("cluster", HERE, "cluster/sync.yaml"),)}).clusters
    variables = Variables(reads, tree)
    assert variables.knows("flux-system/apps")
    return list(variables.missing("flux-system/apps"))


def map_of(text: str, more: str = "") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{more}}}\ndata:\n  a: {text}\n"


@pytest.mark.parametrize(
    "text", ["${DOMAIN}", "${TOKEN}", "${OTHER:=x}", "${OTHER:-}", "${OTHER-x}", "$${OTHER}", "$OTHER", "x # ${OTHER}"]
)
def test_what_has_a_value_or_a_default_is_not_missing(text: str) -> None:
    assert not missing(FROM, a_yaml=map_of(text))


@pytest.mark.parametrize("text", ["${OTHER}", "x.${OTHER}", "${OTHER:0:3}", "${DOMAIN}${OTHER}"])
def test_what_has_neither_is_missing_at_its_line(text: str) -> None:
    assert missing(FROM, a_yaml=map_of(text)) == [MissingVariable("OTHER", "apps/a.yaml", 5)]


def test_lines_of_blocks_and_each_variable_once() -> None:
    text = "|\n    one\n    ${OTHER}\n    ${OTHER} ${LAST}"
    found = missing(FROM, a_yaml=map_of(text))
    assert found == [MissingVariable("OTHER", "apps/a.yaml", 7), MissingVariable("LAST", "apps/a.yaml", 8)]


def test_who_turns_it_off_is_not_concerned() -> None:
    off = ", annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}"
    assert not missing(FROM, a_yaml=map_of("${OTHER}", off))


def test_where_nothing_is_put_in_nothing_is_missing() -> None:
    assert not missing("prune: true", a_yaml=map_of("${OTHER}"))
    assert not missing(
        "postBuild: {substituteFrom: [{kind: ConfigMap, name: gone, optional: true}]}", a_yaml=map_of("${OTHER}")
    )


def test_a_source_that_is_not_in_git_may_have_all_of_them() -> None:
    gone = "postBuild: {substituteFrom: [{kind: Secret, name: gone}, {kind: ConfigMap, name: settings}]}"
    assert missing(gone, a_yaml=map_of("${OTHER}")) == [MissingVariable("", "", 0, "Secret/gone")]
    assert not missing(gone, a_yaml=map_of("${DOMAIN}")), "what it may have does not matter"


def test_what_a_generator_takes_is_looked_at() -> None:
    kustomization = "configMapGenerator: [{name: a, files: [run.sh]}]\n"
    assert missing(FROM, kustomization_yaml=kustomization, run_sh="#!/bin/sh\necho ${OTHER}\n") == [
        MissingVariable("OTHER", "apps/run.sh", 2)
    ]
    off = "generatorOptions: {annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\n"
    assert not missing(FROM, kustomization_yaml=kustomization + off, run_sh="#!/bin/sh\necho ${OTHER}\n")
