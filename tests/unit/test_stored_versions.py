"""The CRDs that the API server would refuse follow from the releases that ran in the cluster."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.impact.impact import Stored
from flux_upgrade.impact.stored_versions.refused import (
    Definition,
    InstalledCrds,
    Past,
    PastState,
    Target,
    stored,
    stored_after,
)
from flux_upgrade.manifests.crds import Crd, crds_of
from flux_upgrade.manifests.documents import parse
from flux_upgrade.model.file_history import FileRevision, FileRevisions
from flux_upgrade.model.unknown import Unknown
from flux_upgrade.model.versions import Version
from written_crds import manifest

OCI = "ocirepositories.source.toolkit.fluxcd.io"
IMAGE = "imagerepositories.image.toolkit.fluxcd.io"
# The version that is stored has a star, as in reference tables of Flux's APIs.
TWO_5 = {OCI: "v1beta2*"}
TWO_6 = {OCI: "v1beta2 v1*"}
TWO_8 = {OCI: "v1*"}


def revision(date: str, tag: str, crds: dict[str, str], *, is_aside: bool = False) -> FileRevision:
    return FileRevision("0" * 40, f"{date}T10:00:00Z", manifest(tag, crds), is_aside)


def crds_in(crds: dict[str, str]) -> tuple[Crd, ...]:
    return tuple(crds_of(parse(manifest("v2.8.8", crds)).documents).values())


def stored_by(
    history: list[FileRevision],
    target: dict[str, str],
    migrated: tuple[str, ...] = (),
    missing: str = "",
    current: str = "",
) -> Stored:
    return stored(
        FileRevisions(tuple(history), Unknown(missing) if missing else None),
        history[-1].content,
        crds_in(target),
        migrated,
        Version(current),
    )


def phrases(found: Stored) -> list[str]:
    """``OCIRepository v1beta2, since v2.5.1 (2025-03-01)``."""
    return [
        f"{each.kind} {each.version}, since {each.release.tag} ({each.release.since[:10]})" for each in found.refused
    ]


# -- what is refused


def test_what_older_releases_stored_is_refused() -> None:
    history = [
        revision("2025-03-01", "v2.5.0", TWO_5),
        revision("2025-04-01", "v2.5.1", TWO_5),
        revision("2025-06-01", "v2.6.0", TWO_6),
    ]
    found = stored_by(history, TWO_8)
    assert phrases(found) == ["OCIRepository v1beta2, since v2.5.0 (2025-03-01)"]
    assert found.refused[0].crd == OCI
    assert found.refused[0].release.storage == ((OCI, "v1beta2"),)
    assert (found.after_migrate, found.cli, found.unknown) == ((), "2.7", None)
    assert found.resolved == ()


def test_what_is_stored_today_needs_another_stop() -> None:
    found = stored_by([revision("2025-04-01", "v2.5.1", TWO_5)], TWO_8)
    assert phrases(found) == ["OCIRepository v1beta2, since v2.5.1 (2025-04-01)"]
    assert found.after_migrate == found.refused


def test_nothing_is_refused_where_nothing_older_ran() -> None:
    assert (
        stored_by([revision("2025-06-01", "v2.6.0", TWO_6), revision("2025-10-01", "v2.7.0", TWO_6)], TWO_8) == Stored()
    )


def test_nothing_is_refused_where_no_version_goes() -> None:
    history = [revision("2025-04-01", "v2.5.1", TWO_5), revision("2025-06-01", "v2.6.0", TWO_6)]
    assert stored_by(history, TWO_6, missing="the checkout is shallow") == Stored()


def test_what_the_present_crd_lacks_was_migrated_already() -> None:
    """The API server took it: somebody ran `flux migrate`, and nobody has to be asked for it again."""
    history = [revision("2025-04-01", "v2.5.1", TWO_5), revision("2026-03-01", "v2.8.0", TWO_8)]
    assert stored_by(history, TWO_8 | {IMAGE: "v1*"}) == Stored()


def test_a_release_that_was_refused_and_taken_back_proves_nothing() -> None:
    history = [
        revision("2025-04-01", "v2.5.1", TWO_5),
        revision("2026-03-01", "v2.8.6", TWO_8),
        revision("2026-03-02", "v2.6.4", TWO_6),
    ]
    assert phrases(stored_by(history, TWO_8)) == ["OCIRepository v1beta2, since v2.5.1 (2025-04-01)"]


def test_a_crd_counts_while_it_is_there() -> None:
    image = {IMAGE: "v1beta2*"}
    newer = {IMAGE: "v1beta2 v1*"}
    history = [
        revision("2025-04-01", "v2.5.1", TWO_6 | image),
        revision("2025-06-01", "v2.6.0", TWO_6),
        revision("2025-10-01", "v2.7.0", TWO_6 | newer),
    ]
    target = TWO_6 | {IMAGE: "v1*"}
    assert stored_by(history, target).refused == ()
    del history[1]
    assert phrases(stored_by(history, target)) == ["ImageRepository v1beta2, since v2.5.1 (2025-04-01)"]


def test_a_branch_that_was_merged_adds_and_takes_nothing_away() -> None:
    image, newer, target = {IMAGE: "v1beta2*"}, {IMAGE: "v1beta2 v1*"}, {IMAGE: "v1*"}
    history = [
        revision("2025-04-01", "v2.5.1", TWO_6 | image),
        revision("2025-06-01", "v2.6.0", TWO_6, is_aside=True),
        revision("2025-10-01", "v2.7.0", TWO_6 | newer),
    ]
    assert phrases(stored_by(history, TWO_6 | target)) == ["ImageRepository v1beta2, since v2.5.1 (2025-04-01)"]
    tried = [revision("2025-04-01", "v2.5.1", image, is_aside=True), revision("2025-10-01", "v2.7.0", newer)]
    assert phrases(stored_by(tried, target)) == ["ImageRepository v1beta2, since v2.5.1 (2025-04-01)"]


def test_controllers_that_the_target_does_not_install_do_not_count() -> None:
    history = [revision("2025-04-01", "v2.6.4", TWO_6 | {IMAGE: "v1beta2*"})]
    assert stored_by(history, TWO_6 | {"receivers.notification.toolkit.fluxcd.io": "v1*"}) == Stored()


def test_crds_speak_and_not_headers_or_images() -> None:
    """Bots raise either and leave the rest behind."""
    ahead = manifest("v2.5.1", TWO_5).replace(b"# Flux Version: v2.5.1", b"# Flux Version: v2.8.0")
    history = [FileRevision("", "2025-04-01T10:00:00Z", ahead), revision("2025-10-01", "v2.7.0", TWO_6)]
    assert phrases(stored_by(history, TWO_8)) == ["OCIRepository v1beta2, since v2.5.1 (2025-04-01)"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"# nothing yet\n",
        b"\xff\xfe",
        b"- a\n- b\n",
        b"<<<<<<< HEAD\n" + manifest("v2.5.1", TWO_5) + b"=======\n>>>>>>> main\n",
        manifest("v2.5.1", TWO_5).replace(b"  versions:", b"  versions: ]["),
        b"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: x\nspec: 7\n",
        b"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: x\nspec:\n  versions: 7\n",
        b"&a [*a]\n",
    ],
)
def test_contents_that_never_ran_are_left_out(content: bytes) -> None:
    history = [FileRevision("", "2025-04-01T10:00:00Z", content), revision("2025-10-01", "v2.7.0", TWO_6)]
    assert stored_by(history, TWO_8) == Stored()
    assert stored(FileRevisions(), content, crds_in(TWO_8)) == Stored()


# -- what people did


def test_flux_migrate_at_the_present_release() -> None:
    history = [revision("2025-04-01", "v2.5.1", TWO_5), revision("2025-10-01", "v2.7.5", TWO_6)]
    found = stored_by(history, TWO_8, ("v2.7.5",), missing="the checkout is shallow")
    assert (found.refused, found.cli, found.unknown) == ((), "", None)
    assert [each.version for each in found.resolved] == ["v1beta2"]


def test_flux_migrate_changes_nothing_about_what_is_stored_today() -> None:
    found = stored_by([revision("2025-04-01", "v2.5.1", TWO_5)], TWO_8, ("v2.5.1",))
    assert found.refused == found.after_migrate == found.resolved != ()


def test_flux_migrate_at_an_older_release() -> None:
    history = [
        revision("2025-04-01", "v2.5.1", TWO_5),
        revision("2025-06-01", "v2.6.0", TWO_6),
        revision("2025-10-01", "v2.7.0", TWO_6),
    ]
    assert stored_by(history, TWO_8, ("v2.6.0",)) == Stored()
    assert stored_by(history, TWO_8, ("v2.5.1",)).refused != (), "that release stored it itself"
    assert stored_by(history, TWO_8, ("v2.4.0",)).refused != (), "it did not run here"


def test_what_runs_after_flux_migrate_counts_again() -> None:
    history = [
        revision("2025-06-01", "v2.6.0", TWO_6),
        revision("2025-07-01", "v2.5.1", TWO_5),
        revision("2025-10-01", "v2.7.0", TWO_6),
    ]
    found = stored_by(history, TWO_8, ("v2.6.0",))
    assert phrases(found) == ["OCIRepository v1beta2, since v2.5.1 (2025-07-01)"]


def test_the_present_release_is_what_it_was_proved_to_be() -> None:
    """Its labels may say otherwise, and people tick a box for the one that is shown."""
    history = [revision("2025-04-01", "v2.5.1", TWO_5), revision("2025-10-01", "v2.7.0", TWO_6)]
    assert stored_by(history, TWO_8, ("v2.7.5",)).refused != ()
    assert stored_by(history, TWO_8, ("v2.7.5",), current="v2.7.5").refused == ()


@pytest.mark.parametrize(
    ("current", "cli"),
    [
        ("v0.41.2", "2.7"),
        ("v2.5.1", "2.7"),
        ("v2.7.5", "2.7"),
        ("v2.8.8", "2.8"),
        ("v2.10.0", "2.10"),
        ("", "2.7"),
        ("latest", "2.7"),
    ],
)
def test_the_cli_is_the_first_that_can_or_that_of_the_release(current: str, cli: str) -> None:
    history = [revision("2025-04-01", "none", TWO_5), revision("2025-10-01", "none", TWO_6)]
    assert stored_by(history, TWO_8, current=current).cli == cli


# -- what nobody knows


def test_older_releases_that_nobody_could_look_at() -> None:
    found = stored_by([revision("2025-10-01", "v2.7.0", TWO_6)], TWO_8, missing="the checkout is shallow")
    assert found == Stored(unknown=Unknown("the checkout is shallow"))


def look_at_the_end(migrated: tuple[str, ...], *, is_aside: bool = False, has_gaps: bool = False) -> Stored:
    """Return what is refused after v2.7.0 and v2.7.5, if the history does not go back further."""
    earlier, now = revision("2025-10-01", "v2.7.0", TWO_6, is_aside=is_aside), revision("2025-11-01", "v2.7.5", TWO_6)
    history = FileRevisions((earlier, now), Unknown("the checkout is shallow"), has_gaps)
    return stored(history, now.content, crds_in(TWO_8), migrated, Version("v2.7.5"))


def test_nothing_counts_that_ran_before_a_confirmed_migration() -> None:
    assert look_at_the_end(("v2.7.0",)) == Stored()


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(look_at_the_end(()), id="not-confirmed"),
        pytest.param(look_at_the_end(("v2.6.4",)), id="of-a-release-that-is-not-known-to-have-run"),
        pytest.param(look_at_the_end(("v2.7.0",), is_aside=True), id="of-another-branch"),
        pytest.param(look_at_the_end(("v2.7.0",), has_gaps=True), id="newer-ones-may-be-missing"),
    ],
)
def test_older_releases_may_have_run_all_the_same(outcome: Stored) -> None:
    assert outcome == Stored(unknown=Unknown("the checkout is shallow"))


def test_what_the_release_of_a_confirmed_migration_stores_counts() -> None:
    history = [revision("2025-04-01", "v2.5.1", TWO_5), revision("2025-10-01", "v2.7.0", TWO_6)]
    outcome = stored_by(history, TWO_8, ("v2.5.1",), "the checkout is shallow")
    assert phrases(outcome) == ["OCIRepository v1beta2, since v2.5.1 (2025-04-01)"]


def test_what_is_unknown_after_a_confirmed_migration_stays_unknown() -> None:
    ran = PastState(InstalledCrds(Version("v2.7.0"), {OCI: Definition("v1", frozenset({"v1beta2", "v1"}))}), "")
    now, target = ran.installed, Target({OCI: frozenset({"v1"})}, lambda _: "OCIRepository")

    def look(*states: PastState | Unknown) -> Stored:
        return stored_after(Past(states), now, target, ("v2.7.0",), Version("v2.7.5"))

    assert look(Unknown("a range"), ran) == Stored()
    assert look(ran, Unknown("a range")) == Stored(unknown=Unknown("a range"))


def test_nothing_is_unknown_where_all_that_may_be_refused_is_known_to_be() -> None:
    history = [revision("2025-04-01", "v2.5.1", TWO_5), revision("2025-10-01", "v2.7.0", TWO_6)]
    found = stored_by(history, TWO_8, missing="the checkout is shallow")
    assert (len(found.refused), found.unknown) == (1, None)


def test_without_a_history_the_present_content_speaks() -> None:
    found = stored(FileRevisions(missing=Unknown("no Git")), manifest("v2.5.1", TWO_5), crds_in(TWO_8))
    assert phrases(found) == ["OCIRepository v1beta2, since v2.5.1 ()"]


def test_what_was_not_committed_yet_is_the_present() -> None:
    history = (revision("2025-10-01", "v2.7.0", TWO_6),)
    found = stored(FileRevisions(history), manifest("v2.5.1", TWO_5), crds_in(TWO_8))
    assert phrases(found) == ["OCIRepository v1beta2, since v2.5.1 ()"]


# -- properties

VERSIONS = ("v1alpha1", "v1beta1", "v1beta2", "v1")


@st.composite
def releases(draw: st.DrawFn) -> list[dict[str, str]]:
    """What each release has of two CRDs: versions come and go in order, and the newest is stored."""
    found = []
    first = last = 0
    for _ in range(draw(st.integers(2, 8))):
        last = min(last + draw(st.integers(0, 1)), len(VERSIONS) - 1)
        first = min(first + draw(st.integers(0, 1)), last)
        names = [*VERSIONS[first : last + 1]]
        crds = {OCI: " ".join(names) + "*"}
        if draw(st.booleans()):
            crds[IMAGE] = " ".join(names) + "*"
        found.append(crds)
    return found


@given(releases(), st.sets(st.integers(0, 6)), st.integers(0, 6))
def test_it_is_what_an_api_server_would_remember(crds: list[dict[str, str]], at: set[int], unread: int) -> None:
    """A model of it: one step after the other, migrated where it has to be."""
    *ran, target = crds
    remembered: dict[str, set[str]] = {}
    migrated = []
    for number, installed in enumerate(ran):
        names = {name: {each.rstrip("*") for each in versions.split()} for name, versions in installed.items()}
        if any(not remembered.get(name, set()) <= names[name] for name in names):
            return  # refused: nobody goes on from there
        remembered = {name: remembered.get(name, set()) | {installed[name].split()[-1].rstrip("*")} for name in names}
        if number in at:
            migrated.append(f"v2.{number}.0")
            remembered = {name: {installed[name].split()[-1].rstrip("*")} for name in names}
    wanted = {
        (name, version)
        for name in target.keys() & ran[-1].keys()
        for version in remembered[name] - {each.rstrip("*") for each in target[name].split()}
    }
    history = [revision("2025-01-01", f"v2.{number}.0", installed) for number, installed in enumerate(ran)]
    found = stored_by(history, target, tuple(migrated))
    assert {(each.crd, each.version) for each in found.refused} == wanted
    known = stored_by(history[min(unread, len(ran) - 1) :], target, tuple(migrated), "shallow" if unread else "")
    refused = {(each.crd, each.version) for each in known.refused}
    assert refused <= wanted
    assert known.unknown or refused == wanted
