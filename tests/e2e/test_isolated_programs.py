"""The user's programs know nothing of the user's clusters: a real run, with a stand-in that records, and a real kubectl."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from adapters.loopback import Loopback
from cases_on_disk import write_tree
from flows import fleet
from real_parts import require_program

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: mine
contexts: [{{name: mine, context: {{cluster: mine, user: me}}}}]
clusters: [{{name: mine, cluster: {{server: '{url}'}}}}]
users: [{{name: me, user: {{token: secret}}}}]
"""
PATCH = b"""\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [gotk-components.yaml]
patches:
- target: {kind: Deployment}
  patch: '[{"op": "add", "path": "/spec/template/spec/priorityClassName", "value": "high"}]'
"""
RECORDS = """\
#!/bin/sh
{{ echo "$0 $*"; env; echo "in the home: $(ls -A "$HOME" | tr '\\n' ' ')"; cat "$KUBECONFIG"; }} >> {record}
exit 1
"""


def planned(folder: Path, source: Path, url: str) -> subprocess.CompletedProcess[str]:
    """A plan that needs a build, of a user with a kubeconfig."""
    home = folder / "home"
    write_tree(home, {".kube/config": KUBECONFIG.format(url=url).encode()})
    files = {**fleet({"clusters/staging": "v2.8.7"}), "clusters/staging/flux-system/kustomization.yaml": PATCH}
    tree = write_tree(folder / "tree", files)
    env = {"HOME": str(home), "PATH": str(folder / "bin"), "KUBECONFIG": f"{home}/.kube/config", "NO_PROXY": "*"}
    arguments = ("plan", str(tree), f"--release-source={source}", "--details")
    command = [sys.executable, "-P", "-m", "flux_upgrade", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603 ours


def recorded(text: str) -> Mapping[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


@pytest.mark.parametrize("name", ["kubectl", "kustomize", "flux"])
def test_programs_have_an_empty_home_and_no_kubeconfig(name: str, tmp_path: Path, written_source: Path) -> None:
    record, program = tmp_path / "record", tmp_path / "bin" / name
    program.parent.mkdir()
    program.write_text(RECORDS.format(record=record))
    program.chmod(0o755)
    for other in ("env", "ls", "tr", "cat"):
        (program.parent / other).symlink_to(require_program(other))
    planned(tmp_path, written_source, "http://127.0.0.1:1")
    text = record.read_text()
    assert str(tmp_path / "home") not in text
    assert "in the home: \n" in text
    assert "token" not in text
    assert not Path(recorded(text)["HOME"]).exists()


@pytest.mark.real_part("kubectl")
def test_a_plan_asks_no_cluster(tmp_path: Path, written_source: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(os.path.realpath(require_program("kubectl")))
    with Loopback() as server:
        done = planned(tmp_path, written_source, server.url)
        assert server.seen == []
    assert "cannot build" not in done.stdout + done.stderr
