"""A registered deploy key whose private part is elsewhere stays, unless ``--rotate-key`` asks for another one."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from bootstrap.arranged import OTHERS, TITLE, arrange, file_at, handed_over, options, ours
from bootstrap.proposed_bootstraps import cluster as proposed
from bootstrap.registered_keys import RegisteredKeys
from cluster.memory_cluster import MemoryCluster
from flux_upgrade.adapters.local.ssh_keys import generate
from flux_upgrade.bootstrap.access import Access, AccessInputs, AccessPorts, carry_out, foresee, retire
from flux_upgrade.bootstrap.access_plan import plan_access
from flux_upgrade.bootstrap.known_hosts import fingerprint
from flux_upgrade.bootstrap.proposed import PlaceKind, handover_of
from flux_upgrade.bootstrap.report_text import access_lines
from flux_upgrade.bootstrap.secrets import ActionsSecret, ClusterSecretPlace, SecretPlace
from flux_upgrade.bootstrap.todo import left_to_do
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import DeployKey
from flux_upgrade.model.kubernetes_objects import SECRET, parse

CREDS = "ann:s3cret"


@pytest.fixture
def github() -> RegisteredKeys:
    """Somebody has bootstrapped already: by hand, by flux, or from another laptop."""
    theirs = DeployKey(TITLE, generate().public, id=50)
    return RegisteredKeys([*OTHERS, theirs])


@pytest.fixture(params=["file", "actions"])
def place(request: pytest.FixtureRequest, tmp_path: Path, github: RegisteredKeys) -> SecretPlace:
    return file_at(tmp_path) if request.param == "file" else ActionsSecret(github, "FLUX", "staging")


def place_kind(access: Access, place: SecretPlace) -> PlaceKind:
    return handover_of(access, secret="" if place.is_readable else "FLUX").place


def test_all_stays_as_it_is(github: RegisteredKeys, place: SecretPlace) -> None:
    (theirs,) = ours(github)
    github.fails_after = 0
    done = arrange(github, place)
    assert ours(github) == [theirs]
    assert not place.has("flux-system", "flux-system")
    assert (done.public, done.is_registered, done.is_elsewhere) == (theirs.public, True, True)
    assert (done.is_new_key, done.registered, done.removed, done.handed_over) == (False, False, (), ())
    (note,) = done.notes
    assert "--rotate-key" in note
    assert fingerprint(done.public) in note
    assert place_kind(done, place) is PlaceKind.NOWHERE
    assert list(access_lines(done)) == [f"deploy key: {TITLE} ({fingerprint(done.public)}) kept"]


def test_another_one_is_made_when_asked(github: RegisteredKeys, place: SecretPlace) -> None:
    (theirs,) = ours(github)
    done = arrange(github, place, AccessInputs(rotate=True))
    assert done.removed == (theirs,)
    assert [each.public for each in ours(github)] == [done.public]
    assert handed_over(github, place)["identity.pub"] == f"{done.public}\n"
    assert done.notes == ()
    assert place_kind(done, place) is not PlaceKind.NOWHERE
    assert list(access_lines(done)) == [f"deploy key: {TITLE} ({fingerprint(done.public)}) replaced"]


def test_the_users_own_key_takes_its_place(github: RegisteredKeys, place: SecretPlace) -> None:
    own = generate()
    done = arrange(github, place, AccessInputs(key=own))
    assert [each.public for each in ours(github)] == [own.public]
    assert (done.is_elsewhere, done.notes) == (False, ())


def test_a_file_that_was_applied_and_removed(github: RegisteredKeys, tmp_path: Path) -> None:
    """As the to-do list has it."""
    github.keys = list(OTHERS)
    place = file_at(tmp_path)
    first = arrange(github, place)
    Path(place.where).unlink()
    github.fails_after = 0
    again = arrange(github, place)
    assert (again.public, again.is_elsewhere, again.handed_over) == (first.public, True, ())
    assert [each.public for each in ours(github)] == [first.public]


def test_a_file_of_before_another_rotation(github: RegisteredKeys, tmp_path: Path) -> None:
    """Somebody rotated the key from another laptop: what is in this file is of the past."""
    github.keys = list(OTHERS)
    arrange(github, file_at(tmp_path))
    theirs = DeployKey(TITLE, generate().public, id=50)
    github.keys = [*OTHERS, theirs]
    github.fails_after = 0
    assert arrange(github, file_at(tmp_path)).is_elsewhere
    assert ours(github) == [theirs]


def test_what_is_not_of_the_key_is_handed_over_in_a_file(github: RegisteredKeys, tmp_path: Path) -> None:
    place = file_at(tmp_path)
    done = arrange(github, place, registry_creds=CREDS)
    assert (done.handed_over, done.at_place, done.has_source) == (("pull",), ("pull",), False)
    assert [each.name for each in parse(Path(place.where).read_text())] == ["pull"]
    handover = handover_of(done)
    assert (handover.place, handover.lacks_source) == (PlaceKind.FILE, True)
    github.fails_after = 0
    assert arrange(github, place, registry_creds=CREDS).handed_over == ()


def test_what_is_not_sealed_is_reported_as_such(github: RegisteredKeys) -> None:
    """Alone, it would look like a secret that has the key."""
    github.fails_after = 0
    (note,) = arrange(github, ActionsSecret(github, "FLUX"), registry_creds=CREDS).notes
    assert "the Secret pull cannot be stored without it" in note


def test_what_may_not_be_in_a_sealed_secret_is_reported(github: RegisteredKeys) -> None:
    github.keys = list(OTHERS)
    place = ActionsSecret(github, "FLUX", "staging")
    arrange(github, place)
    github.fails_after = 0
    again = arrange(github, place, registry_creds=CREDS)
    assert again.handed_over == ()
    (note,) = again.notes
    assert "whether the Secret pull is current" in note
    github.fails_after = -1
    arrange(github, place, AccessInputs(rotate=True), registry_creds=CREDS)
    assert [each.name for each in parse(github.secrets["FLUX", "staging"])] == ["flux-system", "pull"]


def test_a_secret_of_actions_that_was_removed(github: RegisteredKeys) -> None:
    """After it was applied, say: the cluster has the key."""
    github.keys = list(OTHERS)
    place = ActionsSecret(github, "FLUX", "staging")
    first = arrange(github, place)
    github.secrets.clear()
    github.fails_after = 0
    again = arrange(github, place)
    assert (again.public, again.is_elsewhere, place_kind(again, place)) == (first.public, True, PlaceKind.NOWHERE)


def test_a_cluster_without_a_key_takes_a_new_one_and_says_so(github: RegisteredKeys) -> None:
    (theirs,) = ours(github)
    place = ClusterSecretPlace(MemoryCluster())
    done = arrange(github, place)
    assert done.removed == (theirs,)
    assert [each.name for each in place.handed_over] == ["flux-system"]
    (note,) = done.notes
    assert "is replaced with a new one" in note


def test_a_cluster_with_a_key_that_nobody_knows_is_for_a_person_to_decide(github: RegisteredKeys) -> None:
    own, before = generate(), list(github.keys)
    data = {"identity": own.private, "identity.pub": own.public}
    secret = {
        "apiVersion": "v1",
        "kind": SECRET.name,
        "metadata": {"name": "flux-system", "namespace": "flux-system"},
        "data": {name: b64encode(value.encode()).decode() for name, value in data.items()},
    }
    place = ClusterSecretPlace(MemoryCluster(secret))
    with pytest.raises(UsageError, match="is not registered, and another key is registered") as caught:
        arrange(github, place)
    assert "--rotate-key" in caught.value.hint
    assert (github.keys, place.handed_over) == (before, ())
    github.keys[:] = []
    assert arrange(github, place).public == own.public
    assert [each.public for each in ours(github)] == [own.public]


def test_what_is_left_to_do_is_to_look(github: RegisteredKeys, place: SecretPlace) -> None:
    new = proposed(path="clusters/staging")
    things = left_to_do(new._replace(handover=handover_of(arrange(github, place))), "acme/fleet")
    assert "--rotate-key" in things[0]
    assert "ssh-keygen" not in "".join(things)


@pytest.mark.parametrize("rotate", [False, True])
def test_a_dry_run_makes_no_key(github: RegisteredKeys, place: SecretPlace, *, rotate: bool) -> None:
    if not rotate:
        github.keys = list(OTHERS)
    github.fails_after = 0
    ports = AccessPorts(github, place, lambda: pytest.fail("a key is made"))
    would_be = foresee(plan_access(options(), AccessInputs(rotate=rotate), ports), ports)
    assert (would_be.public, would_be.is_registered, would_be.is_new_key) == ("", False, True)
    assert (would_be.registered, would_be.handed_over) == (True, ("flux-system",))
    deed = "replaced" if rotate else "registered"
    assert list(access_lines(would_be, is_dry=True)) == [f"deploy key: {TITLE} would be {deed}"]
    assert handover_of(would_be, secret="FLUX").is_registered is False


def test_a_dry_run_reports_what_exists(tmp_path: Path) -> None:
    github, place = RegisteredKeys(list(OTHERS)), file_at(tmp_path)
    done = arrange(github, place)
    ports = AccessPorts(github, place, generate)
    would_be = foresee(plan_access(options(), AccessInputs(), ports), ports)
    assert would_be == carry_out(plan_access(options(), AccessInputs(), ports), ports)
    assert (would_be.public, would_be.is_registered) == (done.public, True)
    nowhere = AccessPorts(github, None, generate)
    assert foresee(plan_access(options(), AccessInputs(), nowhere), nowhere) == arrange(github, None)


def test_a_key_that_a_cluster_still_has_is_removed_once_it_has_another(github: RegisteredKeys) -> None:
    place = ClusterSecretPlace(MemoryCluster())
    ports = AccessPorts(github, place, generate)
    before = [each.public for each in ours(github)]
    plan = plan_access(options(), AccessInputs(rotate=True), ports)
    done = carry_out(plan, ports)
    assert [each.public for each in ours(github)] == [*before, done.public]
    retire(plan, ports)
    assert [each.public for each in ours(github)] == [done.public]
    assert [each.name for each in place.handed_over] == ["flux-system"]
