"""After any write that fails, the same command goes on and ends with one registered key that is handed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bootstrap.arranged import OTHERS, TITLE, arrange, file_at, handed_over, ours
from bootstrap.registered_keys import RegisteredKeys
from flux_upgrade.bootstrap.access import AccessInputs
from flux_upgrade.bootstrap.secrets import ActionsSecret, SecretPlace
from flux_upgrade.model.errors import ForgeUnavailable
from flux_upgrade.model.hosting import Secret

FIRST, ROTATED, WIDENED = "first", "rotated", "widened"


class FailingFile:
    """A file that cannot be written as often as the network fails."""

    is_readable = True
    is_cluster = False

    def __init__(self, place: SecretPlace, github: RegisteredKeys) -> None:
        self._place, self._github = place, github
        self.where = place.where
        self.present, self.has = place.present, place.has

    def put(self, wanted: tuple[Secret, ...]) -> None:
        self._github.put_secret("file", "")
        self._place.put(wanted)


def worlds(tmp_path: Path, what: str, kind: str) -> Iterator[tuple[RegisteredKeys, SecretPlace]]:
    """The same world again and again, with one more write that succeeds each time."""
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        github = RegisteredKeys(list(OTHERS))
        place = FailingFile(file_at(folder), github) if kind == "file" else ActionsSecret(github, "FLUX", "staging")
        if what != FIRST:
            arrange(github, place)
        github.fails_after = number
        yield github, place


@pytest.mark.parametrize("kind", ["file", "actions"])
@pytest.mark.parametrize("what", [FIRST, ROTATED, WIDENED])
@pytest.mark.parametrize("asks_again", [True, False])
def test_it_converges(tmp_path: Path, what: str, kind: str, *, asks_again: bool) -> None:
    given, may_write = AccessInputs(rotate=what == ROTATED), what == WIDENED
    interrupted = 0
    for github, place in worlds(tmp_path, what, kind):
        try:
            arrange(github, place, given, read_write_key=may_write)
        except ForgeUnavailable:
            interrupted += 1
        else:
            break
        finally:
            github.fails_after = -1
        arrange(github, place, given if asks_again else AccessInputs(), read_write_key=may_write)
        (key,) = ours(github)
        assert handed_over(github, place)["identity.pub"] == f"{key.public}\n"
        assert key.is_read_only is (what != WIDENED)
        writes = len(github.writes)
        arrange(github, place, read_write_key=may_write)
        assert len(github.writes) == writes
    assert interrupted == {FIRST: 2, ROTATED: 3, WIDENED: 2}[what]


@pytest.mark.parametrize("kind", ["file", "actions"])
def test_while_a_key_is_rotated_one_is_always_registered(tmp_path: Path, kind: str) -> None:
    for github, place in worlds(tmp_path, ROTATED, kind):
        try:
            arrange(github, place, AccessInputs(rotate=True))
        except ForgeUnavailable:
            assert ours(github)
        else:
            assert [key.title for key in ours(github)] == [TITLE]
            break
