"""The manifest of a rebased artifact is what ``flux push artifact`` writes, with the annotations of others kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.model.errors import UntrustedArchive
from flux_upgrade.model.oci.manifest import (
    CONFIG,
    CONFIG_TYPE,
    CONTENT_TYPE,
    CREATED,
    FLUX_SOURCE,
    MANIFEST_TYPE,
    PREVIOUS,
    REVISION,
    SOURCE,
    VERSION,
    Descriptor,
    StoredManifest,
    content_type,
    parse,
    successor,
)

DOCKER_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
NOW = datetime(2026, 11, 21, 18, 31, 39, 999999, UTC)
PREDECESSOR = f"sha256:{'9' * 64}"
LAYER = Descriptor(CONTENT_TYPE, f"sha256:{'e' * 64}", 4321)


def blob(letter: str, media_type: str = CONTENT_TYPE, size: int = 7) -> dict[str, Any]:
    return {"mediaType": media_type, "size": size, "digest": f"sha256:{letter * 64}"}


def pushed(**changes: Any) -> dict[str, Any]:
    """A manifest as ``flux push artifact`` writes it; None takes a key out."""
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": blob("a", CONFIG_TYPE, 233),
        "layers": [blob("b")],
        "annotations": {CREATED: "2026-01-01T00:00:00Z", REVISION: "main@sha1:00", SOURCE: "https://git.example/fleet"},
    }
    return {key: value for key, value in (document | changes).items() if value is not None}


def stored(document: object, media_type: str = MANIFEST_TYPE) -> StoredManifest:
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    return StoredManifest(media_type, content, f"sha256:{sha256(content).hexdigest()}")


def made(document: object, *, revision: str = "v2.9.4", created: datetime = NOW) -> StoredManifest:
    manifest, config, descriptor = successor(
        parse(stored(document)), LAYER, created=created, revision=revision, previous=PREDECESSOR
    )
    assert manifest.digest == f"sha256:{sha256(manifest.content).hexdigest()}"
    assert descriptor == (CONFIG_TYPE, f"sha256:{sha256(config).hexdigest()}", len(config))
    return manifest


def refusal(document: object, media_type: str = MANIFEST_TYPE) -> str:
    with pytest.raises(UntrustedArchive) as caught:
        parse(stored(document, media_type))
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value.message


# Read.


def test_reads_what_flux_pushes() -> None:
    manifest = parse(stored(pushed()))
    assert manifest.media_type == MANIFEST_TYPE
    assert manifest.config == Descriptor(CONFIG_TYPE, f"sha256:{'a' * 64}", 233)
    assert manifest.layers == (Descriptor(CONTENT_TYPE, f"sha256:{'b' * 64}", 7),)
    assert manifest.annotations[REVISION] == "main@sha1:00"
    assert not manifest.is_index


def test_reads_what_flux_pushed_before_it_had_types_of_its_own() -> None:
    config = blob("a", "application/vnd.docker.container.image.v1+json", 233)
    document = pushed(mediaType=DOCKER_TYPE, config=config, layers=[blob("b", DOCKER_LAYER)])
    manifest = parse(stored(document, DOCKER_TYPE))
    assert (manifest.media_type, manifest.layers[0].media_type) == (DOCKER_TYPE, DOCKER_LAYER)


def test_reads_a_manifest_that_does_not_name_its_type_or_annotations() -> None:
    manifest = parse(stored(pushed(mediaType=None, annotations=None)))
    assert manifest.media_type == MANIFEST_TYPE
    assert manifest.annotations == {}


@pytest.mark.parametrize("media_type", [INDEX_TYPE, "application/vnd.docker.distribution.manifest.list.v2+json"])
def test_an_index_is_distinguished_from_an_image(media_type: str) -> None:
    index = {"schemaVersion": 2, "mediaType": media_type, "manifests": [blob("c", MANIFEST_TYPE)]}
    manifest = parse(stored(index, media_type))
    assert manifest.is_index
    assert (manifest.config, manifest.layers) == (None, ())


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"", "not JSON"),
        (b"\xff{}", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"9" * 10_000, "not JSON"),
        (b"[]", "not a JSON object"),
        ({}, "no layers"),
        (pushed(schemaVersion=1), "no layers"),
        (pushed(layers=None), "no layers"),
        (pushed(layers={}), "no layers"),
        (pushed(layers=["x"]), "not described"),
        (pushed(config=None), "not described"),
        (pushed(mediaType="text/x\x1b[1m"), r"of the type 'text/x\x1b[1m'"),
        (pushed(mediaType=INDEX_TYPE), "of the type"),
        (pushed(mediaType=["x"]), "of the type"),
        (pushed(manifests=[]), "both an image and an index"),
        (pushed(annotations={"a": 1}), "annotations are not text"),
        (pushed(annotations=["a"]), "annotations are not text"),
        (pushed(layers=[blob("b") | {"annotations": {"a": None}}]), "annotations are not text"),
        (pushed(layers=[blob("b") | {"digest": f"sha512:{'b' * 128}"}]), "no sha256"),
        (pushed(layers=[blob("B")]), "no sha256"),
        (pushed(layers=[blob("b") | {"digest": None}]), "no sha256"),
        (pushed(layers=[blob("b", size=-1)]), "no type or no size"),
        (pushed(layers=[blob("b") | {"size": True}]), "no type or no size"),
        (pushed(layers=[blob("b") | {"size": "7"}]), "no type or no size"),
        (pushed(config=blob("b") | {"mediaType": None}), "no type or no size"),
    ],
)
def test_refuses_what_is_no_image_manifest(document: object, why: str) -> None:
    assert why in refusal(document)


def test_refuses_a_manifest_of_another_type_that_does_not_name_it() -> None:
    assert "of the type 'application/json'" in refusal(pushed(mediaType=None), "application/json")


# Written.


def test_writes_what_flux_push_artifact_writes() -> None:
    expected = (
        '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",'
        '"config":{"mediaType":"application/vnd.cncf.flux.config.v1+json","size":115,'
        '"digest":"sha256:5b943e2b943f6c81dbbd4e2eca5121f4fcc39139e3d1219d6d89bd925b77d9fe"},'
        '"layers":[{"mediaType":"application/vnd.cncf.flux.content.v1.tar+gzip","size":4321,'
        f'"digest":"sha256:{"e" * 64}"}}],'
        f'"annotations":{{"flux-upgrade.previous":"{PREDECESSOR}",'
        '"flux-upgrade.version":"v2.9.4@sha1:0123",'
        '"org.opencontainers.image.created":"2026-11-21T18:31:39Z",'
        '"org.opencontainers.image.revision":"main@sha1:00",'
        '"org.opencontainers.image.source":"https://git.example/fleet"}}'
    )
    manifest = made(pushed(), revision="v2.9.4@sha1:0123")
    assert manifest.content.decode() == expected
    assert manifest.media_type == MANIFEST_TYPE


def test_the_config_is_that_of_flux_2_9() -> None:
    assert len(CONFIG) == 115
    assert sha256(CONFIG).hexdigest() == "5b943e2b943f6c81dbbd4e2eca5121f4fcc39139e3d1219d6d89bd925b77d9fe"
    assert json.loads(CONFIG)["rootfs"] == {"type": "layers", "diff_ids": None}


def test_the_moment_is_written_in_utc() -> None:
    india = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert made(pushed(), created=india) == made(pushed())


def test_annotations_of_others_stay_and_all_are_in_order() -> None:
    annotations = {"z.example/last": "1", "a.example/first": "", PREVIOUS: "sha256:older", SOURCE: "s"}
    written = json.loads(made(pushed(annotations=annotations)).content)["annotations"]
    assert [*written] == sorted(written)
    assert written["z.example/last"] == "1"
    assert written["a.example/first"] == ""
    assert written[PREVIOUS] == PREDECESSOR


@pytest.mark.parametrize("annotations", [None, {}, {SOURCE: ""}, {SOURCE: FLUX_SOURCE, REVISION: "v2.8.7"}])
def test_the_source_is_that_of_flux_as_the_revision_is(annotations: object) -> None:
    written = json.loads(made(pushed(annotations=annotations)).content)["annotations"]
    assert written[SOURCE] == "https://github.com/fluxcd/flux2"
    assert written[REVISION] == written[VERSION]


@pytest.mark.parametrize("revision", [{}, {REVISION: "main@sha1:0123"}])
def test_source_and_revision_of_a_repository_stay(revision: dict[str, str]) -> None:
    own = {SOURCE: "https://git.example/fleet", **revision}
    written = json.loads(made(pushed(annotations=own), revision="v2.9.4").content)["annotations"]
    assert {key: written.get(key) for key in (SOURCE, REVISION)} == {REVISION: None} | own
    assert written[VERSION] == "v2.9.4"


def test_types_of_docker_become_those_of_flux() -> None:
    config = blob("a", "application/vnd.docker.container.image.v1+json", 233)
    document = pushed(mediaType=DOCKER_TYPE, config=config, layers=[blob("b", DOCKER_LAYER)])
    assert b"docker" not in made(document).content
    assert made(document) == made(pushed())


def test_only_the_first_layer_is_replaced() -> None:
    second = blob("c", "application/vnd.acme+gzip") | {
        "annotations": {"b": "2", "a": "1"},
        "urls": ["https://a.example"],
    }
    layers = json.loads(made(pushed(layers=[blob("b"), second])).content)["layers"]
    assert [layer["digest"][-1] for layer in layers] == ["e", "c"]
    assert layers[1] == second


def test_what_is_said_of_the_first_layer_stays_but_not_what_is_said_of_its_bytes() -> None:
    first = blob("b") | {
        "data": "QQ==",
        "urls": ["https://a.example"],
        "platform": {"os": "linux"},
        "annotations": {"title": "fleet", "io.deis.oras.content.digest": "sha256:old", "a": "1"},
    }
    (layer,) = json.loads(made(pushed(layers=[first])).content)["layers"]
    assert layer == blob("e", size=4321) | {"platform": {"os": "linux"}, "annotations": {"a": "1", "title": "fleet"}}
    assert [*layer["annotations"]] == ["a", "title"]


def test_what_ties_an_artifact_to_another_does_not_stay() -> None:
    document = pushed(subject=blob("d", MANIFEST_TYPE), artifactType="application/x")
    assert made(document) == made(pushed())


def test_a_successor_can_have_a_successor() -> None:
    once = made(pushed())
    assert made(once.content) == once


def test_text_is_written_as_go_writes_it() -> None:
    content = made(pushed(annotations={"a": 'ä<b>&"\n\u2028\U0001f600'})).content
    assert '"a":"ä\\u003cb\\u003e\\u0026\\"\\n\\u2028\U0001f600"'.encode() in content


@given(st.dictionaries(st.text(max_size=20), st.text(st.characters(exclude_categories=[]), max_size=20), max_size=4))
def test_any_annotations_come_back(annotations: dict[str, str]) -> None:
    written = parse(made(pushed(annotations=annotations))).annotations
    ours = (CREATED, REVISION, SOURCE, VERSION, PREVIOUS)
    assert {k: v for k, v in written.items() if k not in ours} == {
        k: v for k, v in annotations.items() if k not in ours
    }


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (CONTENT_TYPE, CONTENT_TYPE),
        (DOCKER_LAYER, CONTENT_TYPE),
        ("application/vnd.oci.image.layer.v1.tar", CONTENT_TYPE),
        ("application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.oci.image.layer.v1.tar+gzip"),
        ("application/vnd.acme.content.v1.tar+gzip", "application/vnd.acme.content.v1.tar+gzip"),
    ],
)
def test_a_type_that_a_cluster_may_ask_for_by_name_stays(was: str, becomes: str) -> None:
    assert content_type(was) == becomes
