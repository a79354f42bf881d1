"""Images of a release are looked up in real registries at once, and each is pinned, missing or refused."""

from __future__ import annotations

import json
import subprocess
import threading
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from adapters import registries
from adapters.conftest import Clients
from adapters.loopback import Answer, Loopback, Seen, closed_port
from adapters.registries import allowing, artifacts_of
from discovered import manifests_in
from flux_upgrade.adapters.oci.repository import INDEX_TYPE
from flux_upgrade.commands.wiring import build_artifacts
from flux_upgrade.config.environment import Environment, RegistryAccess
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions
from flux_upgrade.model.errors import HostNotAllowed, SourceUnavailable, UntrustedArchive, UsageError
from flux_upgrade.model.oci.manifest import MANIFEST_TYPE
from flux_upgrade.model.ports import Artifacts
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from memory import MemoryArtifacts, MemoryTree, digest_of, regenerator, rendered
from planned import change_of, plans_of
from real_parts import require_program

PATH = "clusters/a/flux-system/gotk-components.yaml"
PULLED = f"sha256:{'1' * 64}"


def push_image(url: str, path: str, tag: str) -> str:
    """An image for two platforms, as a release has it; the digest of its index."""
    images = [_push_platform(url, path, architecture) for architecture in ("amd64", "arm64")]
    index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": images, "annotations": {"tag": tag}}
    return registries.push_manifest(url, path, tag, index)


def _push_platform(url: str, path: str, architecture: str) -> dict[str, object]:
    config = json.dumps({"architecture": architecture, "os": "linux"}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": registries.push_blob(url, path, config, "application/vnd.oci.image.config.v1+json"),
        "layers": [],
    }
    digest = registries.push_manifest(url, path, architecture, manifest)
    platform = {"architecture": architecture, "os": "linux"}
    size = len(json.dumps(manifest))
    return {"mediaType": MANIFEST_TYPE, "digest": digest, "size": size, "platform": platform}


def plan_of(artifacts: Artifacts, host: str, edit: Callable[[str], str] = str) -> Plan:
    """To v2.9.4, of a manifest with its images below ``host``."""
    using = regenerator()
    text = edit(rendered(InstallOptions("v2.8.8", registry=f"{host}/mirror")))
    found = manifests_in(MemoryTree({PATH: text.encode()}), using)
    (plan,) = plans_of(found, using, to="v2.9.4", artifacts=artifacts)
    return plan


def held(plan: Plan) -> Hold:
    (decision,) = plan.decisions
    assert isinstance(decision, Hold)
    return decision


def repositories(host: str) -> list[str]:
    return [f"{host}/mirror/{name}" for name in DEFAULT_COMPONENTS]


def serve(server: Loopback, names: Sequence[str] = DEFAULT_COMPONENTS) -> None:
    for name in names:
        server.route(f"/v2/mirror/{name}/manifests/v1.9.4", Answer(json.dumps({"of": name}).encode()))


# On the real registry


@pytest.mark.real_part("docker-registry")
@pytest.mark.real_part("skopeo")
def test_pins_become_the_digests_that_docker_would_pull(registry: str, clients: Clients) -> None:
    host = registry.removeprefix("http://")
    digests = {name: push_image(registry, f"mirror/{name}", "v1.9.4") for name in DEFAULT_COMPONENTS}

    def pinned(text: str) -> str:
        tagged, bare = (f"{host}/mirror/{name}" for name in ("source-controller", "helm-controller"))
        text = text.replace(f"{tagged}:v1.8.8", f"{tagged}:v1.8.8@{PULLED}")
        return text.replace(f"{bare}:v1.8.8", f"{bare}@{PULLED}")

    (decision,) = plan_of(artifacts_of(clients), host, pinned).decisions
    assert isinstance(decision, Upgrade)
    images = {name: image for name, _, image in change_of(decision).images}
    assert images == {
        "source-controller": f"{host}/mirror/source-controller:v1.9.4@{digests['source-controller']}",
        "kustomize-controller": f"{host}/mirror/kustomize-controller:v1.9.4",
        "helm-controller": f"{host}/mirror/helm-controller@{digests['helm-controller']}",
        "notification-controller": f"{host}/mirror/notification-controller:v1.9.4",
    }
    for name, image in images.items():
        assert f"        image: {image}\n".encode() in change_of(decision).new
        if "@" in image:
            assert skopeo_digest(f"{host}/mirror/{name}:v1.9.4") == image.partition("@")[2]


def skopeo_digest(image: str) -> str:
    command = [require_program("skopeo"), "inspect", "--tls-verify=false", "--format={{.Digest}}"]
    # Of an index, Digest is its own; --override keeps the machine's platform out of it.
    command += ["--override-os=linux", "--override-arch=amd64", f"docker://{image}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603  (ours)


@pytest.mark.real_part("docker-registry")
def test_what_the_mirror_does_not_have_is_named(registry: str, clients: Clients) -> None:
    host = registry.removeprefix("http://")
    push_image(registry, "mirror/source-controller", "v1.9.4")
    push_image(registry, "mirror/helm-controller", "v1.8.8")
    hold = held(plan_of(artifacts_of(clients), host))
    assert (hold.reason, hold.error) == (HoldReason.IMAGES_MISSING, None)
    missing = [f"{name}:v1.9.4" for name in repositories(host) if "source" not in name]
    assert hold.detail == f"3 images of v2.9.4 are not in the registry: {', '.join(missing)}"


@pytest.mark.real_part("docker-registry")
def test_a_registry_that_wants_a_password_holds(locked_registry: str, clients: Clients) -> None:
    hold = held(plan_of(artifacts_of(clients), locked_registry.removeprefix("http://")))
    assert hold.reason is HoldReason.SOURCE_UNAVAILABLE
    assert hold.error is not None
    assert issubclass(hold.error, SourceUnavailable)
    assert "--docker-config" in hold.hint


# All at once


@pytest.fixture(params=["memory", "registry"])
def both(request: pytest.FixtureRequest, server: Loopback, clients: Clients) -> tuple[Artifacts, str, str]:
    """A world with two tags, one of which cannot be had, and a host that is unreachable."""
    down = f"127.0.0.1:{closed_port()}"
    if request.param == "memory":
        name = f"{server.host}/mirror/a:v1"
        return MemoryArtifacts({name: {"digest": digest_of(name)}}, [down]), server.host, down
    server.route("/v2/mirror/a/manifests/v1", Answer(b"{}"))
    return artifacts_of(clients), server.host, down


def test_one_that_fails_hides_no_other(both: tuple[Artifacts, str, str]) -> None:
    artifacts, up, down = both
    there, nowhere, unreachable = ((f"{up}/mirror/a", "v1"), (f"{up}/mirror/b", "v1"), (f"{down}/mirror/a", "v1"))
    found = artifacts.digests([there, nowhere, unreachable, there])
    assert list(found) == [there, nowhere, unreachable]
    assert found[there] == artifacts.digest(*there)
    assert found[nowhere] is None
    assert isinstance(found[unreachable], SourceUnavailable)
    assert artifacts.digests([]) == {}


def test_each_image_is_asked_for_once_in_a_run(server: Loopback, clients: Clients) -> None:
    serve(server)
    artifacts = artifacts_of(clients)
    for _ in range(3):
        assert isinstance(plan_of(artifacts, server.host).decisions[0], Upgrade)
    assert len(server.seen) == len(set(server.paths())) == len(DEFAULT_COMPONENTS)


def test_all_are_asked_for_at_the_same_time_and_no_more_than_eight(clients: Clients) -> None:
    class Waiting(Loopback):
        """Answers when eight are waiting, and counts those that are."""

        def __init__(self) -> None:
            super().__init__()
            self.barrier = threading.Barrier(8, timeout=5)
            self.waiting, self.most, self.lock = 0, 0, threading.Lock()

        def answer(self, seen: Seen) -> Answer:
            super().answer(seen)
            with self.lock:
                self.waiting += 1
                self.most = max(self.most, self.waiting)
            self.barrier.wait()
            with self.lock:
                self.waiting -= 1
            return Answer(b"{}")

    with Waiting() as server:
        references = [(f"{server.host}/mirror/{number}", "v1") for number in range(16)]
        found = artifacts_of(clients).digests(references)
        assert list(found) == references
        assert all(isinstance(each, str) for each in found.values())
        assert server.most == 8


def test_what_is_no_image_at_all_is_reported(clients: Clients) -> None:
    found = artifacts_of(clients).digests([("${REGISTRY}/a", "v1"), ("UPPER/a", "v1")])
    for each in found.values():
        assert isinstance(each, SourceUnavailable)
        assert "is not the name of an OCI repository" in each.message


def test_bytes_of_another_digest_are_not_pinned(server: Loopback, clients: Clients) -> None:
    serve(server)
    wrong = Answer(b"{}", headers={"Docker-Content-Digest": PULLED})
    server.route("/v2/mirror/helm-controller/manifests/v1.9.4", wrong)
    hold = held(plan_of(artifacts_of(clients), server.host))
    assert (hold.reason, hold.error) == (HoldReason.UNTRUSTED_ARTIFACT, UntrustedArchive)


# Credentials


class Locked(Loopback):
    """Wants Basic authentication, and has everything for those who give it."""

    def answer(self, seen: Seen) -> Answer:
        super().answer(seen)
        expected = f"Basic {b64encode(b'robot:hunter2').decode()}"
        if seen.headers.get("authorization") != expected:
            return Answer(b"{}", 401, {"WWW-Authenticate": 'Basic realm="here"'})
        return Answer(b"{}")


def test_the_credentials_of_dockers_file_are_used(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    with Locked() as server:
        config.write_text(json.dumps({"auths": {server.host: {"auth": b64encode(b"robot:hunter2").decode()}}}))
        environment = Environment(registry=RegistryAccess(found_config=str(config)))
        assert isinstance(
            plan_of(build_artifacts(environment, partial(allowing, server.host)), server.host).decisions[0], Upgrade
        )
        hold = held(plan_of(build_artifacts(Environment(), partial(allowing, server.host)), server.host))
        assert hold.reason is HoldReason.SOURCE_UNAVAILABLE
        assert "hunter2" not in repr(hold)


def test_images_at_a_host_that_is_not_allowed(server: Loopback) -> None:
    hold = held(plan_of(build_artifacts(Environment(), allowing), server.host))
    assert (hold.reason, hold.error) == (HoldReason.HOST_NOT_ALLOWED, HostNotAllowed)
    assert f"{server.host} is not a public address, and is not allowed" in hold.detail
    assert hold.hint.startswith(f"allow {server.host}; if the registry is unreachable from here")
    assert server.seen == []


def test_credentials_that_cannot_be_read_end_the_run(tmp_path: Path) -> None:
    environment = Environment(registry=RegistryAccess(docker_config=str(tmp_path / "missing.json")))
    with Locked() as server, pytest.raises(UsageError, match=r"missing\.json"):
        plan_of(build_artifacts(environment, partial(allowing, server.host)), server.host)
