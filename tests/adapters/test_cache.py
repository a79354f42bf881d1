"""A cached download is used only if it still has its digest, and a cached response only for its token."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback
from flux_upgrade.adapters.http.cache import CachedResponse, DownloadCache, EtagCache
from flux_upgrade.adapters.http.client import CONDITIONAL, Credential

CONTENT = b"an archive"
DIGEST = sha256(CONTENT).hexdigest()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_keeps_by_digest(tmp_path: Path) -> None:
    cache = DownloadCache(str(tmp_path / "new" / "cache"))
    assert cache.get(DIGEST) is None
    cache.put(CONTENT)
    assert cache.get(DIGEST) == CONTENT
    assert [path.name for path in files(tmp_path)] == [DIGEST]


@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], CONTENT + b"x", b"AN archive"])
def test_drops_what_was_tampered_with(tmp_path: Path, damage: bytes) -> None:
    cache = DownloadCache(str(tmp_path))
    cache.put(CONTENT)
    (path,) = files(tmp_path)
    path.write_bytes(damage)
    assert cache.get(DIGEST) is None
    assert files(tmp_path) == []


@pytest.mark.parametrize("digest", ["../../etc/passwd", "", "/etc/passwd", "."])
def test_asks_for_nothing_but_digests(tmp_path: Path, digest: str) -> None:
    assert DownloadCache(str(tmp_path)).get(digest) is None


def test_works_without_a_folder_and_with_one_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    for folder in (None, str(blocked), "/proc/none"):
        cache, etags = DownloadCache(folder), EtagCache(folder)
        cache.put(CONTENT)
        etags.put("https://host/", "", CachedResponse("e", "", b"{}"))
        assert cache.get(DIGEST) is None
        assert etags.get("https://host/", "") is None
    assert blocked.read_text() == "not a folder"


def test_an_answer_that_did_not_change_is_not_sent_again(server: Loopback, clients: Clients, tmp_path: Path) -> None:
    server.route("/x", Answer(b'["body"]', headers={"ETag": 'W/"1"', "Link": "<next>"}))
    answers = [clients(etags=tmp_path).get(f"{server.url}/x", CONDITIONAL) for _ in range(2)]
    assert [answer.body for answer in answers] == [b'["body"]'] * 2
    assert [answer.headers["link"] for answer in answers] == ["<next>"] * 2
    assert answers[1].is_found
    assert server.seen[1].headers["if-none-match"] == 'W/"1"'
    server.route("/x", Answer(b"[]", headers={"ETag": '"2"'}))
    assert clients(etags=tmp_path).get(f"{server.url}/x", CONDITIONAL).body == b"[]"


def test_answers_are_bound_to_their_token(server: Loopback, clients: Clients, tmp_path: Path) -> None:
    server.route("/x", Answer(b"[]", headers={"ETag": '"1"'}))
    for token in ("first", "second", "first"):
        clients(Credential(server.url, token), etags=tmp_path).get(f"{server.url}/x", CONDITIONAL)
    assert ["if-none-match" in seen.headers for seen in server.seen] == [False, False, True]
    assert not any(token in path.read_text() + path.name for path in files(tmp_path) for token in ("first", "second"))


def _forged(text: str) -> str:
    return json.dumps({**json.loads(text), "body": '["forged"]'})


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", "{}", '{"etag": 1}', "[" * 100_000, "forged", "\udcff"])
def test_a_damaged_response_is_fetched_again(server: Loopback, clients: Clients, tmp_path: Path, damage: str) -> None:
    server.route("/x", Answer(b'["true"]', headers={"ETag": '"1"'}))
    clients(etags=tmp_path).get(f"{server.url}/x", CONDITIONAL)
    (path,) = files(tmp_path)
    text = _forged(path.read_text()) if damage == "forged" else damage
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert clients(etags=tmp_path).get(f"{server.url}/x", CONDITIONAL).body == b'["true"]'
    assert "if-none-match" not in server.seen[1].headers


def test_what_is_not_text_is_not_kept(tmp_path: Path) -> None:
    etags = EtagCache(str(tmp_path))
    etags.put("https://host/", "", CachedResponse("e", "", b"\xff"))
    assert files(tmp_path) == []
