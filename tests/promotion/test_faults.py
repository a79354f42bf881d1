"""Whatever goes wrong at whichever request, the moving tag is never wrong, and the next run finishes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.faulty_registry import Fault, FaultyRegistry
from error_names import error_names, require_error
from flux_upgrade.model.errors import (
    ForbiddenByRegistry,
    NothingFound,
    Overtaken,
    RegistryUnavailable,
    UntrustedArchive,
)
from promotion.program import Seen, Site

FOREVER = -1
STEPS: dict[str, tuple[str, str] | tuple[str, str, int]] = {
    "look at the tag": ("GET", "/manifests/production"),
    "fetch the layer": ("GET", "/blobs/sha256:"),
    "list the tags": ("GET", "/tags/list"),
    "keep what there was": ("PUT", "/manifests/v2.8.7-"),
    "begin an upload": ("POST", "/blobs/uploads/"),
    "upload": ("PUT", "/blobs/uploads/"),
    "push": ("PUT", "/manifests/v2.8.8-"),
    "check the tag": ("HEAD", "/manifests/production"),
    "move the tag": ("PUT", "/manifests/production"),
    "read it again": ("HEAD", "/manifests/production", 1),
}
WRONG_DIGEST = {"Docker-Content-Digest": f"sha256:{'0' * 64}"}
FAULTS = {
    "503 once": (Fault(status=503), 1),
    "500 for ever": (Fault(status=500), FOREVER),
    "429 with a time": (Fault(status=429, headers={"Retry-After": "3"}), 1),
    "429 for ever": (Fault(status=429, headers={"Retry-After": "3600"}), FOREVER),
    "no connection once": (Fault(drop="request"), 1),
    "no connection": (Fault(drop="request"), FOREVER),
    "no answer once": (Fault(drop="answer"), 1),
    "no answer": (Fault(drop="answer"), FOREVER),
    "half an answer": (Fault(drop="body"), 1),
    "other bytes": (Fault(tampered=True), FOREVER),
    "another digest": (Fault(headers=WRONG_DIGEST), FOREVER),
    "no digest": (Fault(headers={"Docker-Content-Digest": ""}), FOREVER),
    "forbidden": (Fault(status=403, body=b'{"errors":[{"code":"DENIED","message":"no"}]}'), FOREVER),
    "not allowed": (Fault(status=405, body=b'{"errors":[{"code":"UNSUPPORTED"}]}'), FOREVER),
    "gone": (Fault(status=404), 1),
}
CLEAR = {
    (error.exit_code, error.slug) for error in (RegistryUnavailable, ForbiddenByRegistry, UntrustedArchive, Overtaken)
}


@pytest.fixture(scope="module")
def proxy(registry_url: str) -> Iterator[FaultyRegistry]:
    with FaultyRegistry(registry_url) as running:
        yield running


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("step", STEPS)
def test_the_tag_is_right_and_the_next_run_finishes(
    step: str, fault: str, proxy: FaultyRegistry, registry_url: str, written_source: Path
) -> None:
    path = f"faults/{step}-{fault}".replace(" ", "-")
    site, seen = Site(proxy.url, written_source, path), Seen(registry_url, path)
    before = site.push("v2.8.7", base=registry_url)
    spoiled, times = FAULTS[fault]
    method, part, *skip = STEPS[step]
    proxy.spoil(method, part, spoiled, times=times, skip=sum(skip))

    ran = site.run("upgrade", "--range=2.8.x", "--policy=patch")
    proxy.heal()

    tags = seen.tags()
    if tags["production"] != before:
        (pushed,) = [tag for tag in tags if tag.startswith("v2.8.8-")]
        assert tags["production"] == tags[pushed]
        assert seen.version() == "v2.8.8"
        assert before in [digest for tag, digest in tags.items() if tag.startswith("v2.8.7-")]
    assert ("promoted: production" in ran.out) <= (tags["production"] != before)
    if ran.exit_code:
        looked = step == "look at the tag" and fault == "gone"
        nothing_found = {(NothingFound.exit_code, NothingFound.slug)} if looked else set()
        (name,) = error_names(ran.err)
        assert (ran.exit_code, name) in CLEAR | nothing_found, ran.err
        assert ran.err.count("flux-upgrade: ") == 1, ran.err
        assert ran.err.count("\n  ") == 1, "it says what to do"
    else:
        assert tags["production"] != before
    again = site.run("upgrade", "--range=2.8.x", "--policy=patch")
    assert again.exit_code == 0, again.err
    assert seen.version() == "v2.8.8"
    assert sum(site.slept) < 130, "waiting is bounded"


def test_what_passes_by_itself_is_not_reported_as_trouble(
    proxy: FaultyRegistry, registry_url: str, written_source: Path
) -> None:
    site = Site(proxy.url, written_source, "faults/passing")
    site.push("v2.8.7", base=registry_url)
    for method, part, *_ in STEPS.values():
        proxy.spoil(method, part, Fault(status=503), times=1)

    ran = site.run("upgrade", "--range=2.8.x", "--policy=patch")
    proxy.heal()

    assert ran.exit_code == 0, ran.err
    assert not ran.err


def test_a_registry_that_forbids_to_move_the_tag_says_so(
    proxy: FaultyRegistry, registry_url: str, written_source: Path
) -> None:
    site = Site(proxy.url, written_source, "faults/immutable")
    before = site.push("v2.8.7", base=registry_url)
    body = b'{"errors":[{"code":"TAG_INVALID","message":"the tag is immutable"}]}'
    proxy.spoil("PUT", "/manifests/production", Fault(status=400, body=body), times=FOREVER)

    ran = site.run("upgrade", "--range=2.8.x", "--policy=patch")
    proxy.heal()

    require_error(ForbiddenByRegistry, ran.exit_code, ran.err)
    assert "the tag is immutable" in ran.err
    assert Seen(registry_url, site.path).digest() == before
