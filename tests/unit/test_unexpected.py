"""A bug in the middle of a run: what was done is reported, the others go on, and the run ends red."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows import World, fleet, manifest, path_in
from flux_upgrade.action.report import outcome_of, run_value
from flux_upgrade.adapters.local.worktree import DirectoryWorktree
from flux_upgrade.model.errors import CheckoutDiffers, NoResources, Overtaken, Unexpected, WriteFailed, known
from flux_upgrade.model.file_history import FileRevisions
from flux_upgrade.model.forge import Done, OpenPull, Question, Repository, Step
from flux_upgrade.planning.planner import plan_update_groups
from flux_upgrade.planning.proposal import Action, Round, RunDetails
from flux_upgrade.planning.write_tree import exit_code, publish
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.pullrequests.apply import fetch_plans, question_of, reconcile_pull_requests
from flux_upgrade.report.pull_requests import round_errors, round_failures, round_text
from memory import MemoryHistory, MemoryTree
from memory_forge import MemoryForge
from memory_registry import MemoryRegistry
from promotion import promoting

A, B = path_in("clusters/a"), path_in("clusters/b")
FILES = fleet({"clusters/a": "v2.8.7", "clusters/b": "v2.8.7"})
ODD = "clusters/caf\udce9"


def opened(done: Round) -> list[str]:
    return [each.branch for each in done.results if each.action is Action.OPENED]


def require_red(done: Round, where: str) -> None:
    """It is in the report, the outputs and the exit code, once."""
    assert exit_code(round_errors(done)) == 1
    ((slug, message, hint),) = round_failures(done)
    assert (slug, message.count("ZeroDivisionError at test_unexpected.py:")) == ("unexpected", 1)
    assert message.startswith(where)
    assert "report this bug" in hint
    assert str(outcome_of(done, written=True)) == "failed"
    assert run_value(done, calls=0, written=True)["failures"] == [{"slug": slug, "message": message, "remedy": hint}]
    assert "ZeroDivisionError" in round_text(done, calls=0, written=True) or done.errors


class BrokenForge(MemoryForge):
    """A port with a bug that one branch meets, or a question."""

    branch = "clusters.a/patch"
    is_late = False

    def apply(self, step: Step) -> Done:
        if isinstance(step, OpenPull) and step.branch.endswith(self.branch):
            if self.is_late:
                raise Overtaken("another run was faster")
            raise ZeroDivisionError
        return super().apply(step)

    def fetch(self, question: Question) -> Repository:
        if self.is_late and self.steps:
            raise ZeroDivisionError
        return super().fetch(question)


def test_in_one_pull_request() -> None:
    done = World(dict(FILES)).run(BrokenForge(dict(FILES)))
    assert opened(done) == [f"flux-upgrade/clusters.{each}" for each in ("a/minor", "b/patch", "b/minor")]
    require_red(done, "clusters/a: ")


def test_between_two_rounds() -> None:
    forge = BrokenForge(dict(FILES))
    forge.is_late = True
    done = World(dict(FILES)).run(forge)
    assert len(opened(done)) == 3
    assert {type(error) for error in done.errors} == {Unexpected}
    assert [slug for slug, _, _ in round_failures(done)] == ["overtaken", "unexpected"]
    assert exit_code(round_errors(done)) == 1


def test_at_the_end_of_a_run() -> None:
    """While pull requests are closed that no installation needs any more."""
    forge = BrokenForge(dict(FILES))
    forge.branch, forge.is_late = "none", True
    world = World(dict(FILES), head=forge.fetch(question_of(World(dict(FILES)).gathered())).base_oid)
    inventory = world.gathered()
    fetched = fetch_plans(inventory, forge)
    fetched = fetched._replace(repository=fetched.repository._replace(others=("flux-upgrade/gone/patch",)))
    done = reconcile_pull_requests(inventory, fetched, forge, RunDetails(""), world.warned.append)
    assert len(opened(done)) == 4
    require_red(done, "ZeroDivisionError at ")


class BrokenCheckout:
    """The port Checkout."""

    def explain(self, path: str, base_oid: str) -> CheckoutDiffers:
        raise ZeroDivisionError(f"{path} at {base_oid}")


def test_in_the_plan_of_one_cluster() -> None:
    world, forge = World(dict(FILES)), MemoryForge({**FILES, A: manifest("v2.8.8")})
    inventory = world.gathered()._replace(checkout=BrokenCheckout())
    done = reconcile_pull_requests(inventory, fetch_plans(inventory, forge), forge, RunDetails(""), world.warned.append)
    assert opened(done) == ["flux-upgrade/clusters.b/patch", "flux-upgrade/clusters.b/minor"]
    assert [hold.reason for plan in done.plans[0].plans for hold in plan.holds] == [HoldReason.UNEXPECTED]
    require_red(done, f"{A}: ")


class BrokenHistory(MemoryHistory):
    def of(self, path: str) -> FileRevisions:
        if path == A:
            raise ZeroDivisionError
        return super().of(path)


class BrokenTree(MemoryTree):
    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        if path == A:
            raise ZeroDivisionError
        super().write(path, content, old)


@pytest.mark.parametrize(
    ("tree", "history"), [(MemoryTree(FILES), BrokenHistory()), (BrokenTree(FILES), MemoryHistory())]
)
def test_in_the_tree(tree: MemoryTree, history: MemoryHistory) -> None:
    plans = plan_update_groups(World(dict(FILES), history=history).gathered())
    done = list(publish([each for group in plans for each in group.sets], tree))
    assert [each.written for each in done] == [False, True]
    assert [each.errors for each in done] == [(Unexpected,), ()]
    assert (tree.files[A], tree.files[B]) == (FILES[A], manifest("v2.8.8"))


class BrokenRegistry(MemoryRegistry):
    """It breaks once the new artifact is pushed."""

    def digest(self, tag: str) -> str | None:
        if any("v2.8.8" in each for each in self.tags()):
            raise ZeroDivisionError
        return super().digest(tag)


def test_in_a_promotion() -> None:
    registry = BrokenRegistry()
    registry.add(promoting.ADDRESS.tag, promoting.files("v2.8.7"))
    done = promoting.run(registry)
    assert [each.successor.version for each in done.pushed] == ["v2.8.8"]
    assert (bool(done.kept), done.promoted) == (True, "")
    assert done.errors == (Unexpected,)


def test_an_interrupt_leaves_no_half_of_a_cluster(tmp_path: Path) -> None:
    class Interrupted(dict[str, bytes]):
        """Files, of which the second is never reached."""

        def items(self) -> Any:
            yield next(iter(super().items()))
            raise KeyboardInterrupt

    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        DirectoryWorktree(str(tmp_path)).write_all(Interrupted(a=b"new", b=b"new"), {"a": b"old", "b": b"old"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old", "b": b"old"}


def test_a_file_that_changed_keeps_the_others_as_they_are(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"old")
    with pytest.raises(WriteFailed, match="b could not be written: it changed"):
        DirectoryWorktree(str(tmp_path)).write_all({"a": b"new", "b": b"new"}, {"a": b"old", "b": b"other"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old", "b": b"old"}


def test_what_no_pull_request_can_name() -> None:
    """A directory whose name has a byte that is not UTF-8."""
    files = {**FILES, **fleet({ODD: "v2.8.7"})}
    world, forge = World(files), MemoryForge(dict(FILES))
    assert path_in(ODD) not in question_of(world.gathered()).paths
    done = world.run(forge)
    assert len(opened(done)) == 4
    ((slug, message, _),) = round_failures(done)
    assert (slug, message.partition(" has ")[0]) == ("unreadable", r"clusters/caf\xe9/flux-system/gotk-components.yaml")
    tree = MemoryTree(files)
    outcomes = list(publish([each for group in plan_update_groups(world.gathered()) for each in group.sets], tree))
    assert all(each.written for each in outcomes), "in a checkout it is a file like any other"


@pytest.mark.parametrize("error", [MemoryError(), OSError(24, "Too many open files"), OSError(28, "No space left")])
def test_a_limit_of_the_machine_is_no_bug(error: Exception) -> None:
    assert type(known(error)) is NoResources
