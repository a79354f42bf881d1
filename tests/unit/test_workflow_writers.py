"""Which workflows of a repository write a manifest themselves."""

from __future__ import annotations

import pytest

from flux_upgrade.clusters.ownership.ownership import Ownership
from memory import MemoryTree

PATH = "clusters/production/flux-system/gotk-components.yaml"
OTHER = "clusters/staging/flux-system/gotk-components.yaml"
FILE = ".github/workflows/update.yaml"


def found(text: str, file: str = FILE) -> list[str]:
    return list(Ownership(MemoryTree({file: text.encode()})).remarks({PATH: b"", OTHER: b""}, {}))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(f"run: flux install --export > {PATH}\n", 1, id="one line"),
        pytest.param(f"run: flux install --export > ./{PATH}\n", 1, id="from here"),
        pytest.param(f'run: flux install --export >"{PATH}"\n', 1, id="in quotes"),
        pytest.param(f"run: flux install --export > $GITHUB_WORKSPACE/{PATH}\n", 1, id="workspace"),
        pytest.param(
            f"run: flux install --export > ${{{{ github.workspace }}}}/{PATH}\n", 1, id="workspace, expression"
        ),
        pytest.param(f"run: flux install --export | tee {PATH}\n", 1, id="tee"),
        pytest.param(f"run: |\n  flux install \\\n    --components=a \\\n    --export > {PATH}\n", 2, id="continued"),
        pytest.param(f"run: |\r\n  flux install \\\r\n    --export \\\r\n  > {PATH}\r\n", 2, id="Windows line ends"),
        pytest.param(
            "working-directory: clusters/production/flux-system\nrun: flux install --export > gotk-components.yaml\n",
            2,
            id="working directory",
        ),
        pytest.param(
            "run: cd clusters/production && flux install --export > flux-system/gotk-components.yaml\n", 1, id="cd"
        ),
    ],
)
def test_a_workflow_that_writes_the_manifest(text: str, line: int) -> None:
    (remark,) = found(text)
    assert f"`{FILE}:{line}`" in remark
    assert f"`{PATH}`" in remark
    assert OTHER not in remark


@pytest.mark.parametrize("variable", ["${cluster}", "$cluster", "${{ matrix.cluster }}"])
def test_a_variable_may_be_any_cluster(variable: str) -> None:
    (remark,) = found(f"run: flux install --export > clusters/{variable}/flux-system/gotk-components.yaml\n")
    assert f"`{PATH}`, `{OTHER}`" in remark


@pytest.mark.parametrize(
    "text",
    [
        "run: flux install --export > other.yaml\n",
        f"run: flux install --version=v2.8.0 > {PATH}\n",
        f"run: flux install --export | kubectl apply -f -; cat {PATH}\n",
        f"# run: flux install --export > {PATH}\n",
        "run: flux install --export > gotk-components.yaml\n",
        f"run: flux check > {PATH}\n",
    ],
)
def test_a_workflow_that_does_not(text: str) -> None:
    assert found(text) == []


def test_files_that_are_no_workflows() -> None:
    command = f"flux install --export > {PATH}\n"
    assert found(command, "docs/upgrade.yaml") == []
    assert len(found(command, ".gitlab-ci.yml")) == 1
    assert len(found(command, ".forgejo/workflows/flux.yml")) == 1


def of_action(path: str, name: str = "update") -> str:
    action = f"controlplaneio-fluxcd/distribution/actions/{name}@main"
    return f"jobs:\n  a:\n    steps:\n    - run: date\n    - uses: {action}\n      with: {{path: {path}, variant: alpine}}\n"


@pytest.mark.parametrize(
    "path",
    [
        "clusters/production/flux-system",
        "./clusters/production/flux-system/",
        '"${{ github.workspace }}/clusters/production/flux-system"',
    ],
)
def test_the_action_of_controlplane_writes_the_manifest(path: str) -> None:
    (remark,) = found(of_action(path))
    assert f"`{FILE}:5` runs ControlPlane's action `update` into `{PATH}`" in remark
    assert OTHER not in remark


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(of_action("clusters/development/flux-system"), id="of another cluster"),
        pytest.param(of_action("clusters/production"), id="of another directory"),
        pytest.param(of_action("clusters/production/flux-system", "migrate"), id="another action"),
        pytest.param(of_action("clusters/production/flux-system") + "  - {{\n", id="no YAML"),
    ],
)
def test_an_action_that_does_not_write_the_manifest(text: str) -> None:
    assert found(text) == []
