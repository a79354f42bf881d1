"""Patches give what kustomize gives, and fail where it fails: the real kustomize builds each row as well."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from built_overlays import Kustomize, objects
from flux_upgrade.impact.overlay.evaluation import Evaluation
from flux_upgrade.kustomize import json_patch, strategic
from flux_upgrade.kustomize.errors import CannotBuild
from flux_upgrade.kustomize.json_patch import JsonPatchOperation
from flux_upgrade.kustomize.kustomization import read
from memory import MemoryTree
from real_parts import require_program

OBJECT: dict[str, Any] = yaml.safe_load("""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: x
  namespace: flux-system
  labels: {a: "1", b/c: "2"}
  finalizers: [one, two]
spec:
  replicas: 1
  paused: null
  template:
    spec:
      containers:
      - name: manager
        image: fluxcd/x:v1
        args: [--a, --b=1]
        env: [{name: E, value: "1"}, {name: F, value: "2"}]
        ports:
        - {containerPort: 8080, name: http, protocol: TCP}
        - {containerPort: 9440, name: healthz, protocol: TCP}
        volumeMounts: [{mountPath: /tmp, name: temp}]
      - name: side
        image: other:v1
      tolerations: [{key: a, operator: Exists}]
      volumes: [{name: data, emptyDir: {}}, {name: temp, emptyDir: {}}]
""")
CONTAINERS = ("spec", "template", "spec", "containers")
FAILS = object()


def at(data: Any, *path: str | int) -> Any:
    for step in path:
        data = data[step]
    return data


def names(items: list[dict[str, Any]], key: str = "name") -> list[Any]:
    return [each.get(key) for each in items]


STRATEGIC = [
    ("a value", "{spec: {replicas: 2}}", ("spec", "replicas"), 2),
    ("null takes away", "{metadata: {labels: {a: null}}}", ("metadata", "labels"), {"b/c": "2"}),
    ("a new mapping, without what is null in it", "{spec: {x: {a: 1, b: null}}}", ("spec", "x"), {"a": 1}),
    ("containers by name, those of the patch first", "{spec: {template: {spec: {containers: [{name: side, image: z}]}}}}", (*CONTAINERS, 0, "name"), "side"),
    ("a new container comes first", "{spec: {template: {spec: {containers: [{name: new, image: z}]}}}}", (*CONTAINERS, 0, "name"), "new"),
    ("arguments have no key", "{spec: {template: {spec: {containers: [{name: manager, args: [--c]}]}}}}", (*CONTAINERS, 0, "args"), ["--c"]),
    ("nor have tolerations", "{spec: {template: {spec: {tolerations: [{key: b}]}}}}", ("spec", "template", "spec", "tolerations"), [{"key": "b"}]),
    ("environment by name", "{spec: {template: {spec: {containers: [{name: manager, env: [{name: F, value: z}]}]}}}}", (*CONTAINERS, 0, "env"), [{"name": "F", "value": "z"}, {"name": "E", "value": "1"}]),
    ("ports by number and protocol, in their places", "{spec: {template: {spec: {containers: [{name: manager, ports: [{containerPort: 9440, protocol: TCP, name: z}]}]}}}}", (*CONTAINERS, 0, "ports", 1, "name"), "z"),
    ("a port without its protocol is lost", "{spec: {template: {spec: {containers: [{name: manager, ports: [{containerPort: 9440, name: z}]}]}}}}", (*CONTAINERS, 0, "ports", 1, "name"), "healthz"),
    ("what has no name takes the others away", "{spec: {template: {spec: {containers: [{image: z}]}}}}", CONTAINERS, []),
    ("what stands twice counts once", "{spec: {template: {spec: {containers: [{name: side, image: z}, {name: side, image: y}]}}}}", (*CONTAINERS, 0, "image"), "z"),
    ("finalizers are a set", "{metadata: {finalizers: [three, two]}}", ("metadata", "finalizers"), ["three", "two", "one"]),
    ("an item deleted", "{spec: {template: {spec: {volumes: [{name: data, $patch: delete}]}}}}", ("spec", "template", "spec", "volumes"), [{"name": "temp", "emptyDir": {}}]),
    ("a list replaced", "{spec: {template: {spec: {volumes: [{name: v}, {$patch: replace}]}}}}", ("spec", "template", "spec", "volumes"), [{"name": "v"}]),
    ("a mapping replaced", "{metadata: {labels: {z: y, $patch: replace}}}", ("metadata", "labels"), {"z": "y"}),
    ("a name is not changed", "{metadata: {name: x}, spec: {replicas: 3}}", ("metadata", "name"), "x"),
    ("a list for a mapping", "{metadata: {labels: [a]}}", (), FAILS),
    ("a value for a list", "{spec: {template: {spec: {containers: z}}}}", (), FAILS),
    ("a directive that there is not", "{metadata: {labels: {$patch: retain}}}", (), FAILS),
]  # fmt: skip

JSON: list[tuple[str, list[dict[str, Any]], tuple[str | int, ...], Any]] = [
    ("append", [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--c"}], (*CONTAINERS, 0, "args"), ["--a", "--b=1", "--c"]),
    ("insert", [{"op": "add", "path": "/spec/template/spec/containers/0/args/1", "value": "--c"}], (*CONTAINERS, 0, "args"), ["--a", "--c", "--b=1"]),
    ("insert behind the last", [{"op": "add", "path": "/spec/template/spec/containers/0/args/2", "value": "--c"}], (*CONTAINERS, 0, "args"), ["--a", "--b=1", "--c"]),
    ("insert too far", [{"op": "add", "path": "/spec/template/spec/containers/0/args/3", "value": "--c"}], (), FAILS),
    ("count from the end", [{"op": "replace", "path": "/spec/template/spec/containers/0/args/-1", "value": "--c"}], (*CONTAINERS, 0, "args"), ["--a", "--c"]),
    ("add from the end", [{"op": "add", "path": "/spec/template/spec/containers/0/args/-1", "value": "--c"}], (*CONTAINERS, 0, "args"), ["--a", "--b=1", "--c"]),
    ("an index with a sign", [{"op": "remove", "path": "/spec/template/spec/containers/0/args/+1"}], (*CONTAINERS, 0, "args"), ["--a"]),
    ("no index", [{"op": "remove", "path": "/spec/template/spec/containers/first"}], (), FAILS),
    ("the place behind the last cannot be replaced", [{"op": "replace", "path": "/spec/template/spec/containers/0/args/-", "value": 1}], (), FAILS),
    ("replace adds a key", [{"op": "replace", "path": "/spec/x", "value": 1}], ("spec", "x"), 1),
    ("replace adds no list", [{"op": "replace", "path": "/spec/x/0", "value": 1}], (), FAILS),
    ("escapes", [{"op": "remove", "path": "/metadata/labels/b~1c"}], ("metadata", "labels"), {"a": "1"}),
    ("remove nothing", [{"op": "remove", "path": "/metadata/labels/c"}], (), FAILS),
    ("through null", [{"op": "add", "path": "/spec/paused/x", "value": 1}], (), FAILS),
    ("through a value", [{"op": "add", "path": "/spec/replicas/x", "value": 1}], (), FAILS),
    ("test", [{"op": "test", "path": "/spec/template/spec/tolerations/0", "value": {"operator": "Exists", "key": "a"}}, {"op": "remove", "path": "/spec/replicas"}], ("spec", "template", "spec", "tolerations", 0, "key"), "a"),
    ("test of null", [{"op": "test", "path": "/spec/paused", "value": None}, {"op": "add", "path": "/spec/x", "value": 1}], ("spec", "x"), 1),
    ("test of what is not there", [{"op": "test", "path": "/spec/nothing", "value": 1}], (), FAILS),
    ("test of another value", [{"op": "test", "path": "/spec/replicas", "value": "1"}], (), FAILS),
    ("move", [{"op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/z"}], ("metadata", "labels"), {"b/c": "2", "z": "1"}),
    ("move nothing", [{"op": "move", "from": "/metadata/labels/q", "path": "/metadata/labels/z"}], (), FAILS),
    ("copy", [{"op": "copy", "from": "/spec/template/spec/containers/1", "path": "/spec/template/spec/containers/-"}], (*CONTAINERS, 2, "name"), "side"),
    ("one after the other", [{"op": "remove", "path": "/spec/template/spec/containers/0"}, {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "z"}], (*CONTAINERS, 0, "image"), "z"),
    ("no slash at the beginning", [{"op": "add", "path": "x/spec", "value": {"a": 1}}], ("spec",), {"a": 1}),
    ("no such operation", [{"op": "insert", "path": "/spec/x", "value": 1}], (), FAILS),
    ("no pointer", [{"op": "remove", "path": ""}], (), FAILS),
]  # fmt: skip


def operations(patch: list[dict[str, Any]]) -> list[JsonPatchOperation]:
    return [JsonPatchOperation(each["op"], each["path"], 1, each.get("value"), each.get("from", "")) for each in patch]


@pytest.mark.parametrize(("patch", "path", "expected"), [pytest.param(*row[1:], id=row[0]) for row in STRATEGIC])
def test_strategic_merge_patches(patch: str, path: tuple[str | int, ...], expected: Any) -> None:
    before = copy.deepcopy(OBJECT)
    if expected is FAILS:
        with pytest.raises(CannotBuild):
            strategic.merged(OBJECT, yaml.safe_load(patch))
    else:
        assert at(strategic.merged(OBJECT, yaml.safe_load(patch)), *path) == expected
    assert before == OBJECT


@pytest.mark.parametrize(("patch", "path", "expected"), [pytest.param(*row[1:], id=row[0]) for row in JSON])
def test_json_patches(patch: list[dict[str, Any]], path: tuple[str | int, ...], expected: Any) -> None:
    before = copy.deepcopy(OBJECT)
    if expected is FAILS:
        with pytest.raises(CannotBuild):
            json_patch.apply(OBJECT, operations(patch))
    else:
        assert at(json_patch.apply(OBJECT, operations(patch)).data, *path) == expected
    assert before == OBJECT


def test_custom_resources_have_no_merge_keys() -> None:
    resource = {"apiVersion": "example.com/v1", "kind": "X", "spec": {"containers": [{"name": "a"}]}}
    patch = {"spec": {"containers": [{"name": "b"}]}}
    assert strategic.merged(resource, patch)["spec"] == patch["spec"]


def test_an_object_deleted() -> None:
    assert strategic.merged(OBJECT, {"$patch": "delete"}) is None


def arranged(patch: Any) -> dict[str, bytes]:
    """A kustomization that patches the object."""
    entry: dict[str, Any] = {"patch": json.dumps(patch)}
    if isinstance(patch, list):
        entry["target"] = {"kind": "Deployment"}
    listed = {"resources": ["object.yaml"], "patches": [entry]}
    return {"object.yaml": json.dumps(OBJECT).encode(), "kustomization.yaml": json.dumps(listed).encode()}


def headed(patch: dict[str, Any]) -> dict[str, Any]:
    metadata = {**patch.get("metadata", {}), "name": "x", "namespace": "flux-system"}
    return {**patch, "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


def compare(kustomize: Kustomize, patch: Any) -> None:
    files = arranged(patch)
    built = kustomize.build(files, "")
    root = read(MemoryTree(files), "")
    assert root is not None
    evaluation = Evaluation(MemoryTree(files), "gotk-components.yaml", (), ())
    ours = objects(evaluation.run(root).new)
    assert (built.error == "") == (not evaluation.findings), (built.error, evaluation.findings)
    if not built.error:
        # Null is the same as nothing for the API server, and kustomize lets some of it stand.
        assert without_null(built.objects) == without_null(ours)


def without_null(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_null(value) for key, value in data.items() if value is not None}
    return [without_null(each) for each in data] if isinstance(data, list) else data


@pytest.mark.real_part("kustomize")
@pytest.mark.parametrize(
    "patch",
    [
        *(pytest.param(headed(yaml.safe_load(row[1])), id=row[0]) for row in STRATEGIC),
        *(pytest.param(row[1], id=row[0]) for row in JSON if row[0] not in ("no pointer", "no slash at the beginning")),
    ],
)
def test_kustomize_does_the_same(patch: Any, tmp_path: Path) -> None:
    compare(Kustomize(require_program("kustomize"), tmp_path), patch)


def pointers(data: Any, path: str) -> Iterator[str]:
    yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from pointers(value, f"{path}/{key}")


# Of what kustomize looks at by itself, such as names, any other shape may end the build.
POINTERS = st.sampled_from(
    [
        each
        for each in pointers(OBJECT["spec"], "/spec")
        if each.startswith(("/spec/replicas", "/spec/paused", "/spec/template/spec/tolerations"))
        or "/containers/0/args" in each
    ]
).flatmap(lambda each: st.sampled_from([each, each, each, f"{each}/-", f"{each}/0", f"{each}/-1", f"{each}/x/y"]))
OPERATIONS = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "replace", "remove", "test", "move", "copy"]),
        "path": POINTERS,
        "value": st.sampled_from(["a", "--b=1", 1, ["--a", "--b=1"], {"key": "a"}]),
        "from": POINTERS,
    }
)


@pytest.mark.real_part("kustomize")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(patch=st.lists(OPERATIONS, min_size=1, max_size=3))
def test_any_json_patch(patch: list[dict[str, Any]], tmp_path: Path) -> None:
    """Whether it builds, and to what."""
    compare(Kustomize(require_program("kustomize"), tmp_path), patch)
