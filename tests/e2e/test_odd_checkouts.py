"""Commands in checkouts that are none of the usual ones, against a server: submodules, worktrees, parts of a clone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cases_on_disk import Run, contents, run_in, write_tree
from e2e.fleet import WHERE, Fleet, image_of
from error_names import require_error
from flux_upgrade.model.errors import CheckoutDiffers, ForeignCheckout, NothingFound
from git_servers import PERSON, Bare, git, give_away
from real_parts import require_program

MANIFESTS = Path(__file__).resolve().parent.parent / "manifests"
PATH = "clusters/production/flux-system/gotk-components.yaml"
BEFORE = {
    PATH: (MANIFESTS / "v2.8.7.yaml").read_bytes(),
    ".github/flux-upgrade.yaml": b"forge: git\n",
    ".github/workflows/check.yaml": b"jobs: {a: {steps: [{uses: fluxcd/flux2/action@main, with: {version: 2.8.7}}]}}\n",
    "apps/config.yaml": b"kind: ConfigMap\n",
}


class Shapes:
    """A server with the repository, and the checkouts of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = Bare.make(folder / "server.git")
        git("config", "uploadpack.allowAnySHA1InWant", "true", at=self.server.folder)
        first = self.clone("first")
        for each in (BEFORE | {"apps/config.yaml": b"kind: Secret\n"}, BEFORE):
            for path, content in each.items():
                (first / path).parent.mkdir(parents=True, exist_ok=True)
                (first / path).write_bytes(content)
            git("add", "--all", at=first)
            git("commit", "--quiet", "-m", "Change", at=first)
        git("push", "--quiet", "origin", "HEAD:main", at=first)
        (folder / "bin").mkdir()
        for name in ("git", "env"):  # which Git is run by
            (folder / "bin" / name).symlink_to(require_program(name))

    def run(self, root: Path, releases: Path, *args: str) -> Run:
        return run_in(root, releases, args, path=str(self.folder / "bin"))

    def clone(self, name: str, *options: str) -> Path:
        git("clone", "--quiet", *options, f"file://{self.server.folder}", self.folder / name)
        return self.folder / name

    def worktree(self) -> Path:
        git("worktree", "add", "--quiet", "-b", "aside", self.folder / "tree", at=self.clone("main"))
        return self.folder / "tree"

    def worktree_of_bare(self) -> Path:
        bare = self.clone("bare.git", "--bare")
        git("worktree", "add", "--quiet", "-b", "aside", self.folder / "tree", "main", at=bare)
        return self.folder / "tree"

    def above(self) -> Path:
        outer = self.folder / "outer"
        git("init", "--quiet", "--initial-branch=main", outer)
        allowed = ("-c", "protocol.file.allow=always")
        git(*allowed, "submodule", "--quiet", "add", f"file://{self.server.folder}", "inner", at=outer)
        (outer / ".github").mkdir()
        (outer / ".github" / "flux-upgrade.yaml").write_text("forge: git\n")
        git("add", "--all", at=outer)
        git("commit", "--quiet", "-m", "Add a submodule", at=outer)
        git("clone", "--quiet", "--bare", outer, self.folder / "outer.git")
        git("remote", "add", "origin", f"file://{self.folder}/outer.git", at=outer)
        return outer

    def apart(self) -> Path:
        return self.clone("apart", f"--separate-git-dir={self.folder / 'git'}")


@pytest.fixture
def shapes(tmp_path: Path) -> Shapes:
    return Shapes(tmp_path)


SHAPES = [
    pytest.param(lambda shapes: shapes.clone("clone", "--depth=1"), id="shallow"),
    pytest.param(lambda shapes: shapes.clone("clone", "--filter=blob:none"), id="without contents"),
    pytest.param(lambda shapes: shapes.clone("clone", "--filter=tree:0"), id="without trees"),
    pytest.param(Shapes.worktree, id="worktree"),
    pytest.param(Shapes.worktree_of_bare, id="worktree of a bare repository"),
    pytest.param(lambda shapes: shapes.above() / "inner", id="inside of a submodule"),
    pytest.param(Shapes.apart, id="separate folder of Git's"),
]


@pytest.mark.parametrize("made", SHAPES)
def test_plan_pull_request_and_upgrade(made: Callable[[Shapes], Path], shapes: Shapes, written_source: Path) -> None:
    root = made(shapes)
    for args in (["plan"], ["plan", "--pull-request"]):
        planned = shapes.run(root, written_source, *args)
        assert (planned.exit_code, planned.err) == (0, "")
        assert "v2.8.7 → v2.8.8  patch  ready" in planned.out
    opened = shapes.run(root, written_source, "upgrade", "--pull-request")
    assert (opened.exit_code, opened.err) == (0, "")
    branch = "flux-upgrade/clusters.production/patch"
    pushed = shapes.server.content(f"refs/heads/{branch}:{PATH}")
    assert git("status", "--porcelain", at=root) == "", "it is pushed from a repository of its own"
    upgraded = shapes.run(root, written_source, "upgrade")
    assert (upgraded.exit_code, upgraded.err) == (0, "")
    assert (root / PATH).read_text() == f"{pushed}\n"


def test_what_a_sparse_checkout_lacks_is_no_reason_for_a_bootstrap(shapes: Shapes, written_source: Path) -> None:
    root = shapes.clone("clone")
    git("sparse-checkout", "set", "apps", at=root)
    for args in (["plan"], ["upgrade"], ["plan", "--pull-request"], ["inspect"]):
        ran = shapes.run(root, written_source, *args)
        require_error(NothingFound, ran.exit_code, ran.err)
        assert "the checkout is sparse: run `git sparse-checkout add`" in ran.err
    git("sparse-checkout", "add", "clusters", at=root)
    assert shapes.run(root, written_source, "plan").exit_code == 0


def test_a_bare_repository_has_no_files(shapes: Shapes, written_source: Path) -> None:
    for args in (["plan"], ["upgrade"], ["plan", "--pull-request"]):
        ran = shapes.run(shapes.server.folder, written_source, *args)
        require_error(NothingFound, ran.exit_code, ran.err)
        assert ran.out == ""
        assert "no Flux found" in ran.err


def test_a_submodule_is_not_proposed_in_the_repository_above(shapes: Shapes, written_source: Path) -> None:
    root = shapes.above()
    assert shapes.run(root, written_source, "plan").exit_code == 0
    held = shapes.run(root, written_source, "upgrade", "--pull-request")
    require_error(CheckoutDiffers, held.exit_code, held.err)
    assert f"inner/{PATH} is in another repository, inner" in held.err
    assert "run flux-upgrade in that repository" in held.err
    (root / ".github" / "flux-upgrade.yaml").write_text("forge: git\nignore: [inner/]\n")
    assert shapes.run(root, written_source, "upgrade", "--pull-request").exit_code == 0


def test_a_checkout_of_another_user(shapes: Shapes, written_source: Path) -> None:
    root = shapes.clone("clone")
    git("config", "core.sshCommand", f"touch {shapes.folder}/ran", at=root)
    git("config", "remote.origin.url", "ssh://git@127.0.0.1:1/fleet", at=root)
    give_away(root)
    trust = f"run `git config --global --add safe.directory {root}` if you trust it"
    planned = shapes.run(root, written_source, "plan", "--details", "--approve=2.9")
    assert (planned.exit_code, planned.err) == (0, "")
    assert f"the earlier releases are unknown: another user owns the checkout: {trust}" in planned.out
    for args in (["plan"], ["upgrade"]):
        refused = shapes.run(root, written_source, *args, "--pull-request")
        assert refused.exit_code == ForeignCheckout.exit_code
        assert refused.err == (
            "flux-upgrade: another user owns the checkout, so the address of its remote is not used "
            f"[foreign-checkout]\n  Try: {trust}\n"
        )
    opened = shapes.run(
        root, written_source, "upgrade", "--pull-request", f"--repository=file://{shapes.server.folder}"
    )
    assert (opened.exit_code, opened.err) == (0, "")
    assert not (shapes.folder / "ran").exists()


@WHERE
def test_the_action_in_a_workspace_of_another_user(where: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with Fleet(tmp_path, image=image_of(where, request)) as on:
        root = on.check_out()
        expected = on.run({"mode": "plan"}, is_checked_out=True)
        git("config", "core.sshCommand", f"touch {tmp_path}/ran", at=root)
        give_away(root)
        done = on.run({"mode": "plan"}, is_checked_out=True)
        assert (done.exit_code, done.outputs["outcome"]) == (0, expected.outputs["outcome"])
        assert done.summary == expected.summary
        assert "another user" not in done.log
        assert not (tmp_path / "ran").exists()


def test_ten_runs_at_once_write_one_result(tmp_path: Path, written_source: Path) -> None:
    root, alone = tmp_path / "fleet", tmp_path / "alone"
    clusters = {PATH.replace("production", name): BEFORE[PATH] for name in ("a", "b", "c")}
    write_tree(root, BEFORE | clusters)
    git("init", "--quiet", root)
    shutil.copytree(root, alone)
    command = [sys.executable, "-m", "flux_upgrade", "upgrade", f"--release-source={written_source}"]
    subprocess.run([*command, str(alone)], env=PERSON, check=True, capture_output=True)  # noqa: S603  (ours)
    runs = [
        subprocess.Popen([*command, str(root)], env=PERSON, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603
        for _ in range(10)
    ]
    said = [run.communicate()[1].decode() for run in runs]
    assert [(run.returncode, text) for run, text in zip(runs, said, strict=True)] == [(0, "")] * 10
    assert contents(root) == contents(alone) != BEFORE | clusters
