"""An upgrade pushes a new artifact and moves the tag to it once policy, approval and signature allow, and never otherwise."""

from __future__ import annotations

import errno
import io
import json
import re
from collections.abc import Callable
from datetime import timedelta

import pytest

from flows import manifest
from flux_upgrade.artifacts.promote import ArtifactOutcome
from flux_upgrade.artifacts.promotion_plan import ConsumingClusters
from flux_upgrade.artifacts.pull import pull
from flux_upgrade.artifacts.report_text import artifact_text
from flux_upgrade.model.errors import (
    NothingFound,
    Overtaken,
    RegistryUnavailable,
    Unreadable,
    UntrustedArchive,
    UsageError,
    WriteFailed,
)
from flux_upgrade.model.oci import reference as names
from flux_upgrade.model.oci.manifest import CONTENT_TYPE
from flux_upgrade.model.oci.reference import parse_address
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.policy.policy import MaxBump
from memory_registry import FILE, MemoryRegistry
from promotion.promoting import ADDRESS, NOW, VERIFYING, files, ports, registry, run

TAG = ADDRESS.tag


def reasons(outcome: ArtifactOutcome) -> list[tuple[HoldReason, str]]:
    return [(hold.reason, hold.target) for hold in outcome.plan.plan.holds]


def writes(using: MemoryRegistry) -> list[str]:
    return [call for call in using.calls if call.startswith("put_")]


def annotations_of(using: MemoryRegistry, reference: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(using.at(reference).content)["annotations"]
    return found


def test_a_patch_is_pushed_and_the_tag_moved_to_it() -> None:
    using = registry("v2.8.7")
    before = using.at(TAG)

    outcome = run(using)

    assert outcome.failure is None
    patch = next(each for each in outcome.pushed if each.successor.version == "v2.8.8")
    assert using.named[TAG] == using.named[patch.successor.tag] == outcome.promoted != before.digest
    assert using.files(TAG) == {**files("v2.8.7"), FILE: manifest("v2.8.8")}


def test_what_was_there_before_keeps_a_tag_of_its_own() -> None:
    using = registry("v2.8.7")
    before = using.at(TAG)

    outcome = run(using)

    assert outcome.kept.startswith("v2.8.7-")
    assert using.at(outcome.kept) == before


def test_what_was_there_before_keeps_the_tag_that_it_has() -> None:
    using = registry("v2.8.7")
    kept = run(using).kept
    using.named[TAG] = using.named[kept]

    assert not run(using, tags=("v2.8.7", "v2.8.8", "v2.8.9")).kept


def test_the_annotations_are_those_of_flux_push_artifact_and_the_way_back() -> None:
    using = MemoryRegistry()
    before = using.add(
        TAG,
        files("v2.8.7"),
        {
            "org.opencontainers.image.source": "https://git.example.com/org/fleet",
            "org.opencontainers.image.revision": "main@sha1:0123",
            "org.opencontainers.image.created": "2020-01-01T00:00:00Z",
            "team": "platform",
        },
    )

    run(using)

    assert annotations_of(using, TAG) == {
        "flux-upgrade.previous": before.digest,
        "flux-upgrade.version": f"v2.8.8@sha1:{'a' * 40}",
        "org.opencontainers.image.created": "2026-09-01T12:30:00Z",
        "org.opencontainers.image.revision": "main@sha1:0123",
        "org.opencontainers.image.source": "https://git.example.com/org/fleet",
        "team": "platform",
    }


@pytest.mark.parametrize(
    "name", ["/etc/flux.yaml", "flux-system/../flux.yaml", "../flux.yaml", "flux-system\\flux.yaml"]
)
def test_nothing_is_pushed_that_flux_does_not_extract(name: str) -> None:
    using = MemoryRegistry()
    using.add(TAG, {**files("v2.8.7"), name: b"a: 1\n"})

    with pytest.raises(UntrustedArchive, match="Flux does not extract it"):
        run(using)

    assert not [call for call in using.calls if call.startswith("put_")]


def test_a_commit_that_is_not_known_is_left_out_of_the_revision() -> None:
    using = registry("v2.9.3")

    run(using)

    assert annotations_of(using, TAG)["org.opencontainers.image.revision"] == "v2.9.4"


def test_a_second_run_writes_nothing_and_asks_three_things() -> None:
    using = registry("v2.8.7")
    run(using)

    outcome = run(using)

    assert [call.split()[0] for call in using.calls] == ["manifest", "blob", "tags"]
    assert [each.is_new for each in outcome.pushed] == [False]  # the minor that waits
    assert not outcome.promoted


def test_up_to_date_nothing_is_pushed() -> None:
    using = registry("v2.9.4")

    outcome = run(using)

    assert reasons(outcome) == [(HoldReason.UP_TO_DATE, "")]
    assert not writes(using)
    assert not outcome.pushed


def test_a_minor_is_pushed_and_waits() -> None:
    using = registry("v2.8.8")
    before = using.named[TAG]

    outcome = run(using)

    (pushed,) = outcome.pushed
    assert pushed.successor.version == "v2.9.4"
    assert pushed.is_new
    assert using.files(pushed.successor.tag)[FILE] == manifest("v2.9.4")
    assert using.named[TAG] == before
    assert not outcome.promoted


@pytest.mark.parametrize("approval", ["2.9", "v2.9.4"])
def test_an_approval_moves_the_tag_to_what_was_pushed_before(approval: str) -> None:
    using = registry("v2.8.8")
    (waiting,) = run(using).pushed
    assert waiting.stored is not None

    outcome = run(using, approve=[approval])

    assert using.named[TAG] == waiting.stored.digest == outcome.promoted
    assert not [call for call in writes(using) if call.startswith("put_blob")]


def test_a_minor_that_the_policy_covers_waits_for_nobody() -> None:
    using = registry("v2.8.7")

    outcome = run(using, policy=MaxBump.MINOR)

    assert using.files(TAG)[FILE] == manifest("v2.9.4")
    assert len(outcome.pushed) == 1


def test_the_same_content_beside_other_annotations_is_another_artifact_and_its_layer_is_not_pushed_again() -> None:
    using = registry("v2.8.7")
    first = run(using)
    # Another channel of the same repository, or the same one after somebody gave it an annotation.
    using.add(TAG, files("v2.8.7"), {"team": "platform"})

    again = run(using)

    assert f"put_blob {CONTENT_TYPE}" not in using.calls
    assert annotations_of(using, TAG)["team"] == "platform"
    assert using.files(TAG) == using.files(first.promoted)
    assert again.promoted != first.promoted
    (tag,) = [tag for tag, digest in using.named.items() if digest == again.promoted and tag != TAG]
    assert re.fullmatch(r"v2\.8\.8-[0-9a-f]{12}-[0-9a-f]{12}", tag)


def test_it_is_found_again_by_the_next_run_while_it_waits_for_its_signature() -> None:
    using = registry("v2.8.7")
    run(using)
    using.add(TAG, files("v2.8.7"), {"team": "platform"})
    waiting = run(using, clusters=VERIFYING)
    (pushed,) = [each for each in waiting.pushed if each.successor.version == "v2.8.8"]
    assert pushed.stored is not None
    using.signed.add(pushed.stored.digest)

    signed = run(using, clusters=VERIFYING)

    assert signed.promoted == pushed.stored.digest


@pytest.mark.parametrize(
    "tag", ["v2.8.7-0123456789ab", "a.before-0123456789ab", "a.migrated-0123456789ab", "a.rejected-v2.9.4"]
)
def test_tags_that_no_cluster_follows_are_distinguished_from_others(tag: str) -> None:
    assert names.is_ours(tag)
    assert not any(names.is_ours(each) for each in ("production", "v2.8.7", "2026.before", "v2.8.7-rc.1"))


def test_an_artifact_that_is_not_what_its_tag_says_is_not_promoted() -> None:
    using = registry("v2.8.8")
    (waiting,) = run(using).pushed
    stranger = using.add(waiting.successor.tag, {FILE: b"kind: Something\n"})
    before = using.named[TAG]

    outcome = run(using, approve=["2.9"])

    assert reasons(outcome) == [(HoldReason.UNTRUSTED_ARTIFACT, "v2.9.4")]
    assert outcome.errors == (UntrustedArchive,)
    assert using.named[TAG] == before != stranger.digest


def test_a_tag_that_has_been_removed_meanwhile_is_pushed_again() -> None:
    using = registry("v2.8.8")
    (waiting,) = run(using).pushed

    def remove(call: str) -> None:
        if call == f"manifest {waiting.successor.tag}":
            using.named.pop(waiting.successor.tag, None)

    using.before = remove

    outcome = run(using, approve=["2.9"])

    assert [each.is_new for each in outcome.pushed] == [True]
    assert using.named[TAG] == outcome.promoted != ""


def test_a_verified_artifact_waits_for_its_signature_and_is_promoted_once_it_has_one() -> None:
    using = registry("v2.8.7")
    before = using.named[TAG]

    first = run(using, clusters=VERIFYING)
    assert (HoldReason.NEEDS_SIGNATURE, "v2.8.8") in reasons(first)
    assert using.named[TAG] == before
    (patch,) = [each for each in first.pushed if each.successor.version == "v2.8.8"]
    assert patch.stored is not None

    again = run(using, clusters=VERIFYING)
    assert not [call for call in writes(using) if call.startswith("put_")]
    assert [each.stored for each in again.pushed if each.successor.version == "v2.8.8"] == [patch.stored]

    using.signed.add(patch.stored.digest)
    signed = run(using, clusters=VERIFYING)
    assert signed.promoted == patch.stored.digest == using.named[TAG]


def test_a_tag_that_somebody_moved_meanwhile_is_left_alone() -> None:
    using = registry("v2.8.7")
    theirs = using.add("theirs", {**files("v2.8.7"), "new.yaml": b"kind: New\n"})

    def move(call: str) -> None:
        if call == f"digest {TAG}":
            using.named[TAG] = theirs.digest

    using.before = move

    outcome = run(using)

    assert isinstance(outcome.failure, Overtaken)
    assert using.named[TAG] == theirs.digest
    assert f"put_manifest {TAG}" not in using.calls


def test_a_tag_that_somebody_moves_directly_afterwards_is_noticed() -> None:
    using = registry("v2.8.7")
    theirs = using.add("theirs", {**files("v2.8.7"), "new.yaml": b"kind: New\n"})

    def move(call: str) -> None:
        if call == f"digest {TAG}" and f"put_manifest {TAG}" in using.calls:
            using.named[TAG] = theirs.digest

    using.before = move

    outcome = run(using)

    assert isinstance(outcome.failure, Overtaken)
    assert using.named[TAG] == theirs.digest
    assert not outcome.promoted


def _breaking(using: MemoryRegistry, at: int) -> Callable[[str], None]:
    """Whose call number ``at`` fails, and no other."""

    def fail(call: str) -> None:
        if len(using.calls) == at:
            raise RegistryUnavailable(f"{call} failed")

    return fail


def test_wherever_a_run_breaks_off_the_tag_is_right_and_the_next_run_finishes() -> None:
    whole = registry("v2.8.7")
    run(whole)
    for broken in range(1, len(whole.calls) + 1):
        using = registry("v2.8.7")
        before = using.named[TAG]
        using.before = _breaking(using, broken)
        failures: list[object] = []
        try:
            failures.append(run(using).failure)
        except RegistryUnavailable as error:  # while it was looked at
            failures.append(error)

        # An answer that is lost once the tag has moved is asked for again.
        is_moved = f"put_manifest {TAG}" in whole.calls[: broken - 1]
        assert isinstance(failures[0], RegistryUnavailable) or is_moved
        assert using.named[TAG] in (before, using.named.get(_tag(using, "v2.8.8")))
        using.before = str
        assert run(using).failure is None
        assert using.files(TAG)[FILE] == manifest("v2.8.8")
        assert before in [using.named[tag] for tag in using.named if tag.startswith("v2.8.7-")]


def _tag(using: MemoryRegistry, version: str) -> str:
    return next((tag for tag in using.named if tag.startswith(f"{version}-")), "")


def test_an_edit_goes_along() -> None:
    using = MemoryRegistry()
    # One controller that logs more is an edit; all of them would be a flag.
    edited = manifest("v2.8.7").replace(b"--log-level=info", b"--log-level=debug", 1)
    using.add(TAG, {**files("v2.8.7"), FILE: edited})

    run(using)

    assert using.files(TAG)[FILE].count(b"--log-level=debug") == 1


def test_a_version_that_was_asked_for_needs_no_approval() -> None:
    using = registry("v2.8.7")

    run(using, to="v2.9.3")

    assert using.files(TAG)[FILE] == manifest("v2.9.3")


def test_the_manifest_is_found_by_content_wherever_it_stands() -> None:
    using = MemoryRegistry()
    using.add(TAG, {"deep/down/flux.yaml": manifest("v2.8.7"), "gotk_notes.txt": b"v2.8.7"})

    run(using)

    assert using.files(TAG)["deep/down/flux.yaml"] == manifest("v2.8.8")


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("oci://registry.example.com/org/flux:staging", NothingFound, "the artifact "),
        ("oci://registry.example.com/org/flux", UsageError, "neither a tag nor a digest"),
    ],
)
def test_an_artifact_that_is_not_there_or_not_named_is_one_clear_error(
    address: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        pull(parse_address(address), ports(registry()))


@pytest.mark.parametrize(
    ("held", "error", "message"),
    [
        ({"README.md": b"# Nothing\n"}, NothingFound, "has no Flux manifest"),
        (
            {"a.yaml": manifest("v2.8.7"), "b.yaml": manifest("v2.8.7")},
            Unreadable,
            "has 2 Flux manifests: a.yaml, b.yaml",
        ),
    ],
)
def test_an_artifact_holds_one_manifest_of_flux(held: dict[str, bytes], error: type[Exception], message: str) -> None:
    using = MemoryRegistry()
    using.add(TAG, held)
    with pytest.raises(error, match=message):
        pull(ADDRESS, ports(using))


class Full(io.BytesIO):
    """A temporary file on a disk that is full."""

    def write(self, content: object) -> int:
        del content
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_one_clear_error() -> None:
    with pytest.raises(WriteFailed, match="No space left on device"):
        pull(ADDRESS, ports(registry())._replace(spool=Full))


def test_what_somebody_pushed_with_the_same_content_keeps_a_tag_of_its_own_too() -> None:
    using = registry("v2.8.7")
    run(using, tags=("v2.8.7", "v2.8.8"))
    # As each `flux push artifact` does: the same files, and another time.
    theirs = using.add(TAG, files("v2.8.7"), {"org.opencontainers.image.created": "2026-08-31T00:00:00Z"})

    outcome = run(using, to="v2.9.4")

    assert re.fullmatch(r"v2\.8\.7-[0-9a-f]{12}-[0-9a-f]{12}", outcome.kept)
    assert using.named[outcome.kept] == theirs.digest
    assert not run(using, to="v2.9.4").kept


def test_of_two_runs_at_the_same_time_the_one_that_is_late_gives_back_the_immutable_tag() -> None:
    using = registry("v2.8.7")
    meanwhile: list[str] = []

    def other_run(call: str) -> None:
        if call == "put_blob application/vnd.cncf.flux.config.v1+json" and not meanwhile:
            meanwhile.append("")
            meanwhile[0] = run(using, now=NOW + timedelta(minutes=1)).promoted

    using.before = other_run

    late = run(using)

    assert isinstance(late.failure, Overtaken)
    assert using.named[TAG] == meanwhile[0]
    assert meanwhile[0] in [digest for tag, digest in using.named.items() if tag.startswith("v2.8.8-")]


def test_where_a_range_takes_what_is_pushed_nothing_that_waits_is_pushed() -> None:
    using = registry("v2.8.7")
    open_range = ConsumingClusters(takes_what_waits=True, remarks=("a range takes it",))

    outcome = run(using, clusters=open_range)

    assert [each.successor.version for each in outcome.pushed] == ["v2.8.8"]
    assert "note: a range takes it" in artifact_text(outcome, written=True)
    assert run(using, approve=["2.9"], clusters=open_range).promoted


def test_a_tag_that_moved_since_its_digest_was_noted_is_said() -> None:
    using = registry("v2.8.7")
    noted = ADDRESS._replace(digest=using.named[TAG])
    assert pull(noted, ports(using)).pin.version == "v2.8.7"
    run(using)

    with pytest.raises(Overtaken, match="is outdated: the tag points to sha256:"):
        pull(noted, ports(using))
