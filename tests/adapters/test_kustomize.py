"""kustomize or kubectl on PATH builds a kustomization, and its failure is one line."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from adapters.loopback import Loopback
from flux_upgrade.adapters.local import kustomize
from flux_upgrade.adapters.local.kustomize import Kustomize
from flux_upgrade.commands.wiring import build_kustomize
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import ClusterUnfit
from real_parts import require_program

FILES = {
    "clusters/a/flux-system/kustomization.yaml": b"""\
resources: [one.yaml, ../../../base]
patches:
- patch: '[{"op": "add", "path": "/data/patched", "value": "yes"}]'
  target: {kind: ConfigMap}
""",
    "clusters/a/flux-system/one.yaml": b"{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: b}}\n",
    "base/kustomization.yaml": b"resources: [two.yaml]\n",
    "base/two.yaml": b"{apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {a: b}}\n",
}
FOLDER = "clusters/a/flux-system"


def only(tmp_path: Path, name: str, program: str) -> str:
    """A PATH with one program of that name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / name).symlink_to(program)
    return str(folder)


def script(tmp_path: Path, name: str, text: str) -> str:
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
    return str(folder)


def found(path: str, environment: Mapping[str, str] | None = None, timeout: float = 60.0) -> Kustomize:
    builder = kustomize.find(path, environment or {"HOME": "/nonexistent"}, timeout)
    assert builder is not None
    return builder


def patched(built: bytes) -> list[str]:
    return [
        each["metadata"]["name"] for each in yaml.safe_load_all(built) if each["data"] == {"a": "b", "patched": "yes"}
    ]


@pytest.mark.real_part("kustomize")
def test_the_real_kustomize(tmp_path: Path) -> None:
    builder = found(only(tmp_path, "kustomize", require_program("kustomize")))
    assert sorted(patched(builder.build(FILES, FOLDER, "flux-system"))) == ["one", "two"]


@pytest.mark.real_part("kustomize")
def test_kubectl_builds_the_same(tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    # `kubectl kustomize` is kustomize's own build: where there is no kubectl, the real kustomize answers for it.
    real = f'[ "$1" = kustomize ] || exit 64; shift; exec {require_program("kustomize")} build "$@"'
    path = script(tmp_path, "kubectl", real) if kubectl is None else only(tmp_path, "kubectl", kubectl)
    built = found(path).build(FILES, FOLDER, "x")
    assert sorted(patched(built)) == ["one", "two"]


@pytest.mark.real_part("kustomize")
def test_no_file_of_this_machine_gets_into_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("private-4417")
    generator = f"configMapGenerator: [{{name: x, files: ['{tmp_path}/private']}}]\n".encode()
    builder = found(only(tmp_path, "kustomize", require_program("kustomize")))
    with pytest.raises(ClusterUnfit, match="cannot build") as caught:
        builder.build({"a/kustomization.yaml": generator}, "a", "x")
    assert "private-4417" not in caught.value.message


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("kustomize", "build ROOT/clusters/a/flux-system"),
        ("kubectl", "kustomize ROOT/clusters/a/flux-system"),
        (
            "flux",
            "build kustomization flux-system --path=ROOT/clusters/a/flux-system --kustomization-file=ROOT/clusters/a/flux-system/gotk-sync.yaml --dry-run",
        ),
    ],
)
def test_each_program_is_asked_in_its_own_words(tmp_path: Path, name: str, arguments: str) -> None:
    builder = found(script(tmp_path, name, 'echo "$@"; pwd; echo "$GITHUB_TOKEN"'), {"PATH": "/usr/bin:/bin"})
    asked, root, token = builder.build(FILES, FOLDER, "flux-system").decode().splitlines()
    assert asked.replace(root, "ROOT") == arguments
    assert token == ""
    assert not Path(root).exists()
    assert builder.program.endswith(name)


def test_kustomize_comes_first_and_none_is_none(tmp_path: Path) -> None:
    for name in ("flux", "kubectl", "kustomize"):
        path = script(tmp_path, name, "true")
    assert found(path, {}).program.endswith("kustomize")
    assert kustomize.find(str(tmp_path), {}) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 'Error: no such file' >&2; exit 1", "Error: no such file"),
        ("exit 3", "exited with code 3"),
        ("exec sleep 5", "did not finish within 0.3 s"),
        (
            "echo 'E1124 17:48:01.123456    1234 memcache.go:265] no such file' >&2; exit 1",
            "kustomization: no such file",
        ),
    ],
)
def test_a_failure_is_reported_on_one_line(tmp_path: Path, text: str, why: str) -> None:
    builder = found(script(tmp_path, "kustomize", text), {"PATH": "/usr/bin:/bin"}, timeout=0.3)
    with pytest.raises(ClusterUnfit) as caught:
        builder.build(FILES, FOLDER, "x")
    assert why in caught.value.message
    assert caught.value.message.isprintable()


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    path = script(tmp_path, "kustomize", "")
    Path(path, "kustomize").write_bytes(b"\x7fELF")
    with pytest.raises(ClusterUnfit, match="Exec format error"):
        found(path, {}).build(FILES, FOLDER, "x")


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    with pytest.raises(ClusterUnfit, match="outside the repository"):
        found(script(tmp_path, "kustomize", "true"), {}).build({"../x": b""}, "", "x")


@pytest.mark.real_part("kustomize")
@pytest.mark.parametrize(
    "resource", ["http://0.0.0.0:PORT/a.yaml", "ssh://git@127.0.0.1:PORT/org/repo", "git@127.0.0.1:org/repo"]
)
def test_a_build_for_a_plan_reaches_no_network(resource: str, tmp_path: Path) -> None:
    with Loopback() as server:
        port = server.host.rpartition(":")[2]
        path = only(tmp_path, "kustomize", require_program("kustomize"))
        builder = build_kustomize(Environment(search_path=path, home=str(tmp_path)))
        assert builder is not None
        files = {"kustomization.yaml": f"resources: ['{resource.replace('PORT', port)}']\n".encode()}
        with pytest.raises(ClusterUnfit):
            builder.build(files, "", "flux-system")
    assert server.seen == []
