"""A manifest is upgraded to the right release, or held with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest
import written_release

from discovered import manifests_in
from flux_upgrade.manifests.generators import _SOURCES, GENERATOR_PATHS, GENERATORS
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.render import render
from flux_upgrade.model.errors import (
    Downgrade,
    EditConflict,
    FluxUpgradeError,
    ReleaseNotFound,
    Unreadable,
    UnsupportedRelease,
    Unverified,
    WriteFailed,
)
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.manifest_planner import newest_stable
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.write_tree import WriteResult, exit_code, publish
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from memory import MemoryTree, NoFlux, WrittenReleases, regenerator, rendered
from planned import change_of, decision_of, plans_of

PATH = "clusters/a/flux-system/gotk-components.yaml"
EIGHT = InstallOptions("v2.8.8")


def plans(content: str, to: str = "", releases: WrittenReleases | None = None, path: str = PATH) -> Plan:
    releases = releases or WrittenReleases()
    using = regenerator(releases)
    tree = MemoryTree({path: content.encode()})
    (plan,) = plans_of(manifests_in(tree, using), using, releases, to=to)
    return plan


def upgrade(plan: Plan) -> Upgrade:
    found = decision_of(plan)
    assert isinstance(found, Upgrade)
    return found


def errors(outcomes: Iterable[WriteResult]) -> list[type[FluxUpgradeError]]:
    return [error for outcome in outcomes for error in outcome.errors]


def hold(plan: Plan) -> Hold:
    found = decision_of(plan)
    assert isinstance(found, Hold)
    return found


def bumped(text: str, version: str) -> str:
    return text.replace("helm-controller:v1.8.8", f"helm-controller:{version}")


def test_the_newest_stable_release_is_the_target() -> None:
    plan = plans(rendered(EIGHT))
    assert upgrade(plan).target == "v2.9.4"
    assert change_of(upgrade(plan)).new.decode() == rendered(EIGHT._replace(version="v2.9.4"))


def test_newest_is_by_semver_and_stable() -> None:
    releases = WrittenReleases(["v2.9.4", "v2.6.4"])
    releases.files |= {tag: {} for tag in ("v2.10.0", "v2.11.0-rc.1", "v3.0.0", "v0.41.2", "nightly")}
    assert newest_stable(regenerator(releases)) == "v2.10.0"
    with pytest.raises(ReleaseNotFound):
        newest_stable(regenerator(WrittenReleases([])))


def test_a_version_that_does_not_exist() -> None:
    with pytest.raises(ReleaseNotFound):
        plans(rendered(EIGHT), to="v2.8.99")


@pytest.mark.parametrize(
    ("content", "to", "reason", "error"),
    [
        (rendered(EIGHT), "v2.8.8", HoldReason.UP_TO_DATE, None),
        (rendered(EIGHT), "v2.6.4", HoldReason.DOWNGRADE, Downgrade),
        (bumped(rendered(EIGHT), "v1.9.9"), "", HoldReason.CONTROLLER_NEWER, None),
        (bumped(rendered(EIGHT), "v1.9.9"), "v2.9.4", HoldReason.CONTROLLER_NEWER, Downgrade),
        (rendered(EIGHT).replace("v2.8.8", "v0.41.2"), "", HoldReason.UNVERIFIED, Unverified),
        ("---\n# Flux Version: v2.8.8\n", "", HoldReason.UNREADABLE, Unreadable),
        (rendered(EIGHT).replace("cpu: 1000m", "cpu: 5"), "", HoldReason.EDIT_CONFLICT, EditConflict),
    ],
)
def test_holds(content: str, to: str, reason: HoldReason, error: type[Exception] | None) -> None:
    held = hold(plans(content, to))
    assert held.reason is reason
    assert held.error is error
    if error is not None:
        assert held.detail
        assert held.hint


def test_newer_than_the_source_is_up_to_date() -> None:
    releases = WrittenReleases()
    del releases.files["v2.9.4"], releases.files["v2.9.3"]
    del releases.files["v2.8.8"]
    releases.files["v2.8.9-rc.1"] = written_release.files("v2.8.8")
    releases.hashes["v2.8.9-rc.1"] = dict(zip(GENERATOR_PATHS, _SOURCES["v2.7.2"], strict=True))
    content = rendered(EIGHT).replace("v2.8.8", "v2.8.9-rc.1")
    held = hold(plans(content, "", releases))
    assert (held.reason, held.error) == (HoldReason.UP_TO_DATE, None)


def test_align_names_the_smallest_release_that_will_do() -> None:
    older = bumped(rendered(InstallOptions("v2.8.7")).replace("v1.8.7", "v1.8.8"), "v1.9.2")
    held = hold(plans(older, to="v2.8.8"))
    assert held.reason is HoldReason.CONTROLLER_NEWER
    assert "--to v2.9.3" in held.hint
    assert "helm-controller runs v1.9.2" in held.detail


def test_no_release_is_new_enough() -> None:
    held = hold(plans(bumped(rendered(EIGHT), "v9.0.0")))
    assert "wait for the next release" in held.hint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("helm-controller:v1.9.4", "helm-controller:v1.9.1"),
        ("# Flux Version: v2.9.4", "# Flux Version: v2.9.3"),
        ("/version: v2.9.4", "/version: v2.9.3"),
    ],
)
def test_a_current_body_is_made_whole(old: str, new: str) -> None:
    whole = rendered(InstallOptions("v2.9.4"))
    plan = plans(whole.replace(old, new))
    assert change_of(upgrade(plan)).new.decode() == whole


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("helm-controller:v1.9.4", "helm-controller:v1.9.5"),
        lambda text: text.replace("helm-controller:v1.9.4", "helm-controller:main"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("replicas: 1", "replicas: 2"),
    ],
)
def test_a_current_body_is_left_alone(change: Callable[[str], str]) -> None:
    held = hold(plans(change(rendered(InstallOptions("v2.9.4")))))
    assert held.reason is HoldReason.UP_TO_DATE
    assert "v2.9.4 is the newest stable release" in held.detail
    assert ("v1.9.5" in held.detail) == ("v1.9.5" in change("helm-controller:v1.9.4"))


def test_an_unknown_future() -> None:
    releases = WrittenReleases()
    releases.files["v2.10.0"] = written_release.files("v2.10.0")
    held = hold(plans(rendered(EIGHT), "", releases))
    assert (held.reason, held.error) == (HoldReason.UNSUPPORTED_RELEASE, None)
    assert hold(plans(rendered(EIGHT), "v2.10.0", releases)).error is UnsupportedRelease
    releases.published_texts["v2.10.0"] = "something else"
    assert hold(plans(rendered(EIGHT), "", releases)).error is UnsupportedRelease


def test_evidence_is_reported_with_what_it_does_not_cover() -> None:
    releases = WrittenReleases()
    releases.files["v2.10.0"] = written_release.files("v2.10.0")
    options = InstallOptions("v2.10.0")
    releases.published_texts["v2.10.0"] = render(releases.manifests("v2.10.0"), options, GENERATORS[-1])
    plan = plans(rendered(EIGHT._replace(namespace="x", log_level="debug")), "", releases)
    assert "published" in change_of(upgrade(plan)).evidence
    assert change_of(upgrade(plan)).not_covered == ("namespace", "log-level")


def test_identical_installations_are_rendered_once() -> None:
    releases = WrittenReleases()
    using = regenerator(releases)
    tree = MemoryTree({f"{n}/gotk-components.yaml": rendered(EIGHT).encode() for n in range(50)})
    done = list(publish([[each] for each in plans_of(manifests_in(tree, using), using, WrittenReleases())], tree))
    assert exit_code(errors(done)) == 0
    assert len({tree.files[path] for path in tree.files}) == 1
    assert releases.asked.count("v2.9.4") == releases.asked.count("v2.8.8") == 1


class FullDisk(MemoryTree):
    """A Worktree that cannot write one of its files."""

    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        if path.startswith("a/"):
            raise WriteFailed("no space left", hint="make some")
        super().write(path, content, old)


def test_one_fails_and_the_others_go_on() -> None:
    using = regenerator()
    good = rendered(EIGHT).encode()
    tree = FullDisk(
        {"a/gotk-components.yaml": good, "b/gotk-components.yaml": good, "c/gotk-components.yaml": b"a: b\n"}
    )
    done = list(publish([[each] for each in plans_of(manifests_in(tree, using), using, WrittenReleases())], tree))
    assert [outcome.errors for outcome in done] == [(WriteFailed,), (), (Unreadable,)]
    assert tree.files["a/gotk-components.yaml"] == good
    assert tree.files["b/gotk-components.yaml"] != good
    assert exit_code(errors(done)) == Unreadable.exit_code == WriteFailed.exit_code


def test_no_outcome_no_error() -> None:
    assert exit_code([]) == 0
    assert exit_code(errors([WriteResult(plans(rendered(EIGHT)))])) == 0


@pytest.mark.parametrize(
    ("path", "content", "found"),
    [
        ("x.yaml", rendered(EIGHT), "gotk-components"),
        ("x.yaml", "kind: Deployment\n", None),
        ("x.yaml", "{{ template }}\n# Flux is here\n", None),
        ("x.yaml", "kind: Deployment\nmetadata:\n  name: source-controller\n  labels: {app.kubernetes.io/part-of: other\n", None),
        ("gotk-components.yml", "kind: Deployment\n", "gotk-components"),
        ("x.yaml", "# Flux Version: v2.8.8\n{{ template }}\n", "gotk-components"),
        (
            "x.yaml",
            "\n".join(
                line
                for line in rendered(EIGHT).splitlines()
                if not line.startswith("#") and "app.kubernetes.io/version" not in line
            ),
            "install",
        ),
    ],
)  # fmt: skip
def test_found_by_content(path: str, content: str, found: str | None) -> None:
    kinds = [each.kind for each in manifests_in(MemoryTree({path: content.encode()}), regenerator())]
    assert kinds == ([found] if found else [])


def test_the_flux_cli_does_the_work_where_the_rules_do_not() -> None:
    class Flux(NoFlux):
        def version(self) -> str:
            return "v2.10.0"

        def install_export(self, flags: Sequence[str]) -> str:
            assert "--version=v2.10.0" in flags
            return rendered(EIGHT._replace(version="v2.9.4")).replace("v2.9.4", "v2.10.0")

    releases = WrittenReleases()
    releases.files["v2.10.0"] = written_release.files("v2.10.0")
    using = Regenerator(releases, Flux())
    tree = MemoryTree({PATH: rendered(EIGHT).encode()})
    (plan,) = plans_of(manifests_in(tree, using), using, releases)
    assert change_of(upgrade(plan)).evidence == "the manifest was rendered by the Flux CLI v2.10.0"
    assert b"# Flux Version: v2.10.0" in change_of(upgrade(plan)).new
