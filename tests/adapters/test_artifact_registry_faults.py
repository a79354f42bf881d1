"""A registry that fails for a moment is retried, and any other failure is one clear error that moves no tag."""

from __future__ import annotations

import io
import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from adapters.conftest import NOW, Clients, Clock
from adapters.faulty_registry import Fault, FaultyRegistry
from adapters.registries import NoCredentials, running_registry
from adapters.small_release import member, pack
from adapters.test_artifact_registry import LAYER, PATH, described, opened, push, stored
from flux_upgrade.adapters.oci.artifact_registry import OciArtifactRegistry
from flux_upgrade.model.errors import FluxUpgradeError, ForbiddenByRegistry, RegistryUnavailable, UntrustedArchive

pytestmark = pytest.mark.real_part("docker-registry")
TAG = "production"
NEXT = pack([member("gotk-components.yaml", b"kind: Namespace # another\n" * 4000)])
SOON = {"Retry-After": "7"}


def errors(code: str, message: str = "") -> bytes:
    return json.dumps({"errors": [{"code": code, "message": message}]}).encode()


@pytest.fixture
def front(registry: str, stack: ExitStack) -> FaultyRegistry:
    return stack.enter_context(FaultyRegistry(registry))


@pytest.fixture
def faulty(front: FaultyRegistry, clients: Clients) -> OciArtifactRegistry:
    """It holds an artifact; what is asked of it comes by ``front``."""
    registry = opened(front.url, clients)
    push(registry, TAG)
    front.passed.clear()
    return registry


def pull(registry: OciArtifactRegistry) -> bytes:
    with registry.blob(described(LAYER)) as blob:
        return blob.read()


def refused(registry: OciArtifactRegistry, kind: type[FluxUpgradeError], layer: bytes = NEXT) -> FluxUpgradeError:
    """The error of a push."""
    with pytest.raises(kind) as caught:
        push(registry, TAG, layer)
    assert type(caught.value) is kind
    assert caught.value.message.isprintable()
    assert caught.value.hint
    assert "release source" not in caught.value.hint
    return caught.value


TRANSIENT = {
    "500": Fault(500),
    "503": Fault(503, errors("UNAVAILABLE")),
    "503 with a wait": Fault(503, headers=SOON),
    "429": Fault(429, errors("TOOMANYREQUESTS")),
    "429 with a wait": Fault(429, headers=SOON),
    "403 with a wait": Fault(403, headers=SOON),
    "no request": Fault(drop="request"),
    "no answer": Fault(drop="answer"),
}
STEPS = {
    "manifest": ("GET", "/manifests/"),
    "head": ("HEAD", "/manifests/"),
    "tags": ("GET", "/tags/list"),
    "blob": ("GET", "/blobs/"),
    "upload": ("POST", "/blobs/uploads/"),
    "bytes": ("PUT", "/blobs/uploads/"),
    "promotion": ("PUT", f"/manifests/{TAG}"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("fault", TRANSIENT)
def test_what_passes_is_waited_for(
    front: FaultyRegistry, faulty: OciArtifactRegistry, clock: Clock, step: str, fault: str
) -> None:
    front.spoil(*STEPS[step], TRANSIENT[fault], times=2)
    assert faulty.manifest(TAG) == stored()
    assert faulty.digest(TAG) == stored().digest
    assert faulty.tags() == (TAG,)
    assert pull(faulty) == LAYER
    after = push(faulty, TAG, NEXT)
    assert faulty.digest(TAG) == after.digest
    waits = [7.0, 7.0] if "wait" in fault else [0.5, 1.0]
    assert clock.slept == waits


@pytest.mark.parametrize("step", STEPS)
def test_what_stays_is_one_error_and_the_tag_is_what_it_was(
    front: FaultyRegistry, faulty: OciArtifactRegistry, clock: Clock, step: str
) -> None:
    front.spoil(*STEPS[step], Fault(502), times=-1)
    with pytest.raises(RegistryUnavailable, match=f"{front.host} returned status 502 for /v2/{PATH}/") as caught:
        _ = faulty.manifest(TAG), faulty.digest(TAG), faulty.tags(), pull(faulty), push(faulty, TAG, NEXT)
    assert type(caught.value) is RegistryUnavailable
    assert "release source" not in caught.value.hint
    assert clock.slept == [0.5, 1.0, 2.0, 4.0]
    front.heal()
    assert faulty.digest(TAG) == stored().digest


def test_a_limit_that_ends_far_away(front: FaultyRegistry, faulty: OciArtifactRegistry, clock: Clock) -> None:
    front.spoil("PUT", "/manifests/", Fault(429, headers={"Retry-After": "3600"}))
    error = refused(faulty, RegistryUnavailable)
    assert error.message == f"the rate limit of {front.host} is exceeded until 2023-11-14 23:13:20 UTC"
    assert "GITHUB_TOKEN" not in error.hint
    assert clock.now == NOW


def test_a_blob_that_breaks_off_in_the_middle(front: FaultyRegistry, faulty: OciArtifactRegistry, clock: Clock) -> None:
    front.spoil("GET", "/blobs/", Fault(drop="body"), times=2)
    assert pull(faulty) == LAYER
    assert clock.slept == [0.5, 1.0]
    front.spoil("GET", "/blobs/", Fault(drop="body"), times=-1)
    with pytest.raises(RegistryUnavailable, match="is unreachable"):
        pull(faulty)


def test_a_large_blob_that_breaks_off_in_the_middle(front: FaultyRegistry, faulty: OciArtifactRegistry) -> None:
    large = bytes(range(256)) * 4096
    push(faulty, TAG, large)
    front.spoil("GET", "/blobs/", Fault(drop="body"), times=2)
    with faulty.blob(described(large)) as blob:
        assert blob.read() == large


def test_a_registry_that_is_slow(front: FaultyRegistry, faulty: OciArtifactRegistry, clients: Clients) -> None:
    hurried = OciArtifactRegistry(clients(timeout=0.2), front.host, PATH, NoCredentials(), plain_http=True)
    front.spoil("GET", "/manifests/", Fault(delay=0.5))
    with pytest.raises(RegistryUnavailable, match=r"did not answer in full within 0\.2 s"):
        hurried.manifest(TAG)
    assert faulty.manifest(TAG) is not None


def test_a_tampered_blob_is_refused_at_once(front: FaultyRegistry, faulty: OciArtifactRegistry, clock: Clock) -> None:
    front.spoil("GET", "/blobs/", Fault(tampered=True))
    with pytest.raises(UntrustedArchive, match=described(LAYER).digest):
        pull(faulty)
    assert clock.slept == []


def test_a_tampered_manifest_is_refused(front: FaultyRegistry, faulty: OciArtifactRegistry) -> None:
    for reference in (TAG, stored().digest):
        front.spoil("GET", "/manifests/", Fault(tampered=True))
        with pytest.raises(UntrustedArchive):
            faulty.manifest(reference)


OTHER = f"sha256:{'0' * 64}"


def test_a_wrong_digest_with_a_manifest(front: FaultyRegistry, faulty: OciArtifactRegistry) -> None:
    front.spoil("GET", "/manifests/", Fault(headers={"Docker-Content-Digest": OTHER}))
    with pytest.raises(UntrustedArchive, match=OTHER[7:]):
        faulty.manifest(TAG)


def test_a_wrong_digest_for_what_was_pushed(front: FaultyRegistry, faulty: OciArtifactRegistry) -> None:
    front.spoil("PUT", "/manifests/", Fault(headers={"Docker-Content-Digest": OTHER}))
    error = refused(faulty, UntrustedArchive)
    assert f"should now point to {stored(NEXT).digest}, but the registry reports {OTHER}" in error.message


def test_a_registry_that_does_not_say_what_was_pushed(front: FaultyRegistry, faulty: OciArtifactRegistry) -> None:
    silent = Fault(headers={"Docker-Content-Digest": ""})
    front.spoil("PUT", "/manifests/", silent, times=-1)
    push(faulty, TAG, NEXT)
    assert front.asked[-1] == f"HEAD /v2/{PATH}/manifests/{TAG}"
    front.spoil("HEAD", "/manifests/", Fault(headers={"Docker-Content-Digest": OTHER}))
    refused(faulty, UntrustedArchive)


@pytest.mark.parametrize(
    "head", [Fault(headers={"Docker-Content-Digest": ""}), Fault(405), Fault(headers={"Docker-Content-Digest": "x"})]
)  # fmt: skip
def test_a_registry_that_does_not_say_the_digest(
    front: FaultyRegistry, faulty: OciArtifactRegistry, head: Fault
) -> None:
    front.spoil("HEAD", "/manifests/", head)
    assert faulty.digest(TAG) == stored().digest
    assert [each.partition(" ")[0] for each in front.asked] == ["HEAD", "GET"]


def test_an_upload_that_the_registry_forgot_is_restarted(front: FaultyRegistry, faulty: OciArtifactRegistry) -> None:
    front.spoil("PUT", "/uploads/", Fault(404, errors("BLOB_UPLOAD_UNKNOWN")))
    front.passed.clear()
    faulty.put_blob(io.BytesIO(NEXT), described(NEXT))
    assert [each.partition(" ")[0] for each in front.asked] == ["POST", "PUT", "POST", "PUT"]
    with faulty.blob(described(NEXT)) as blob:
        assert blob.read() == NEXT
    front.spoil("PUT", "/uploads/", Fault(404, errors("BLOB_UPLOAD_UNKNOWN")), times=-1)
    assert "(404): BLOB_UPLOAD_UNKNOWN" in refused(faulty, RegistryUnavailable).message


@pytest.mark.parametrize("location", ["", "ftp://127.0.0.1/x", "http://localhost.example/x"])
def test_an_upload_that_leads_nowhere(front: FaultyRegistry, faulty: OciArtifactRegistry, location: str) -> None:
    front.spoil("POST", "/uploads/", Fault(202, headers={"Location": location} if location else {}))
    refused(faulty, RegistryUnavailable)


def test_plain_http_is_not_spoken_to_another_host(front: FaultyRegistry, faulty: OciArtifactRegistry) -> None:
    front.spoil("GET", "/blobs/", Fault(307, headers={"Location": "http://localhost.example/x"}))
    with pytest.raises(RegistryUnavailable, match="redirects to http, which is not followed"):
        pull(faulty)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(412, errors("PRECONDITION", "Failed to process request due to 'production' configured as immutable.")),
        Fault(400, errors("TAG_INVALID", "The image tag 'production' already exists in the repository.")),
        Fault(400, b"ImageTagAlreadyExistsException: cannot be overwritten"),
        Fault(403, errors("DENIED", "cannot overwrite tag")),
        Fault(409, errors("TAG_INVALID", "immutable")),
        Fault(405, errors("UNSUPPORTED", "The operation is disallowed.")),
    ],
    ids=["harbor", "ecr", "words", "artifactory", "quay", "acr"],
)  # fmt: skip
def test_a_tag_that_must_not_be_overwritten(
    front: FaultyRegistry, faulty: OciArtifactRegistry, clock: Clock, fault: Fault
) -> None:
    front.spoil("PUT", "/manifests/", fault, times=-1)
    error = refused(faulty, ForbiddenByRegistry)
    assert f"does not allow you to overwrite the tag {front.host}/{PATH}:{TAG}" in error.message
    assert f"({fault.status})" in error.message
    assert clock.slept == []
    assert faulty.digest(TAG) == stored().digest


def test_a_tag_that_is_there_already_is_not_overwritten(front: FaultyRegistry, faulty: OciArtifactRegistry) -> None:
    # The first answer was lost, and the tag is immutable.
    front.spoil("PUT", "/manifests/", Fault(drop="answer"))
    front.spoil("PUT", "/manifests/", Fault(409, errors("TAG_INVALID", "immutable")))
    assert push(faulty, "v2.9.4-0123456789ab").digest == faulty.digest("v2.9.4-0123456789ab")


@pytest.mark.parametrize("step", ["upload", "bytes", "promotion"])
def test_a_user_who_may_not_push(front: FaultyRegistry, faulty: OciArtifactRegistry, clock: Clock, step: str) -> None:
    front.spoil(*STEPS[step], Fault(403, errors("DENIED", "requested access to the resource is denied")))
    error = refused(faulty, ForbiddenByRegistry)
    assert error.message.endswith("DENIED: requested access to the resource is denied")
    assert clock.slept == []
    assert faulty.digest(TAG) == stored().digest


def test_a_registry_that_is_read_only(tmp_path: Path, clients: Clients, stack: ExitStack) -> None:
    read_only = ", maintenance: {readonly: {enabled: true}}"
    address = stack.enter_context(running_registry(tmp_path, storage=read_only))
    error = refused(opened(address, clients), ForbiddenByRegistry)
    assert "is read-only (405)" in error.message
