"""Each verdict is given to the manifests that deserve it; those of public repositories are in tests/conformance."""

from __future__ import annotations

import pytest
import written_release

from flux_upgrade.manifests.documents import parse
from flux_upgrade.manifests.generators import GENERATORS, Generator
from flux_upgrade.manifests.images import ImageState
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.proof import Proof, Verdict
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.pins.gotk_components.prove import prove
from flux_upgrade.pins.regenerate import Regenerator
from memory import WrittenReleases, regenerator, rendered

EIGHT = InstallOptions("v2.8.8")


@pytest.fixture(scope="module")
def shared() -> Regenerator:
    return regenerator()


def proof_of(text: str | bytes, using: Regenerator) -> Proof:
    return prove(parse(text if isinstance(text, bytes) else text.encode()), using)


def edits(proof: Proof) -> list[str]:
    return [f"{edit.op} {edit.object} {edit.where}".strip() for edit in proof.edits]


@pytest.mark.parametrize("tag", written_release.TAGS)
def test_exact(tag: str, shared: Regenerator) -> None:
    options = InstallOptions(tag, namespace="x", registry="r/m", network_policy=False, toleration_keys=("k",))
    proof = proof_of(rendered(options), shared)
    assert proof.verdict is Verdict.EXACT
    assert proof.options == options
    assert proof.version == tag
    assert proof.edits == ()


@pytest.mark.parametrize(
    ("old", "new", "state"),
    [
        ("source-controller:v1.8.8", "source-controller:v1.9.9", ImageState.AHEAD),
        ("source-controller:v1.8.8", "source-controller:v1.8.1", ImageState.BEHIND),
        ("source-controller:v1.8.8", "source-controller:v1.8.8@sha256:ab", ImageState.PINNED),
    ],
)
def test_images(old: str, new: str, state: ImageState, shared: Regenerator) -> None:
    proof = proof_of(rendered(EIGHT).replace(old, new), shared)
    assert proof.verdict is Verdict.IMAGES
    assert proof.edits == ()
    assert proof.controllers[0].state is state


def test_an_image_of_the_users_own_is_an_edit(shared: Regenerator) -> None:
    proof = proof_of(rendered(EIGHT).replace("ghcr.io/fluxcd/helm-controller:", "r/helm-controller:"), shared)
    assert proof.verdict is Verdict.IMAGES
    assert edits(proof) == [
        "replace Deployment/helm-controller spec.template.spec.containers[name=manager].image.repository"
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.removesuffix("\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.removeprefix("---\n"),
        lambda text: text.replace('"1000"', "'1000'"),
        lambda text: text.replace("---\n", "---\n\n"),
        lambda text: text.replace("kind: Namespace\n", "").replace("  name: flux-system\n---", "  name: flux-system\nkind: Namespace\n---", 1),
        lambda text: text.replace("source-controller:v1.8.8", "source-controller:v1.8.9").removesuffix("\n"),
    ],
)  # fmt: skip
def test_formatting(change: object, shared: Regenerator) -> None:
    assert callable(change)
    proof = proof_of(change(rendered(EIGHT)).encode(), shared)
    assert (proof.verdict, edits(proof)) == (Verdict.FORMATTING, [])


def test_a_comment_makes_it_edited(shared: Regenerator) -> None:
    proof = proof_of(rendered(EIGHT).replace("  replicas: 1\n", "  replicas: 1 # one\n", 1), shared)
    assert proof.verdict is Verdict.EDITED
    assert edits(proof) == ["comment Deployment/source-controller spec.replicas"]


@pytest.mark.parametrize(
    ("header", "label"), [("v2.9.4", "v2.8.8"), ("v2.9.4", "v2.9.4"), ("v2.6.4", "v2.9.4"), ("", "v2.8.8")]
)
def test_the_body_tells_the_version(header: str, label: str, shared: Regenerator) -> None:
    text = rendered(EIGHT).replace("/version: v2.8.8", f"/version: {label}")
    line = f"# Flux Version: {header}\n" if header else ""
    proof = proof_of(text.replace("# Flux Version: v2.8.8\n", line), shared)
    assert proof.version == "v2.8.8"
    assert proof.verdict is Verdict.EDITED
    assert proof.edits == ()


def test_the_header_of_the_components_may_be_wrong(shared: Regenerator) -> None:
    text = rendered(EIGHT)
    wrong = text.replace(",notification-controller\n", "\n", 1)
    proof = proof_of(wrong, shared)
    assert proof.verdict is Verdict.EDITED
    assert proof.edits == ()
    assert proof.options is not None
    assert proof.options.components == EIGHT.components


def test_a_controller_taken_out_by_hand_is_an_edit(shared: Regenerator) -> None:
    documents = rendered(EIGHT).split("---\n")
    kept = [d for d in documents if not ("kind: Deployment" in d and "name: helm-controller\n" in d)]
    proof = proof_of("---\n".join(kept), shared)
    assert edits(proof) == ["remove Deployment/helm-controller"]
    assert proof.options is not None
    assert "helm-controller" in proof.options.components


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("tag", ["v2.6.4", "v2.8.8"])
def test_templates_of_another_release(tag: str, generator: Generator, shared: Regenerator) -> None:
    options = InstallOptions(tag, components=("helm-controller", "notification-controller", "source-controller"))
    own = shared.rules(tag).generator
    foreign = shared.regenerate(options, generator)
    proof = proof_of(foreign.text, shared)
    assert proof.version == tag
    assert proof.edits == ()
    assert proof.base is not None
    if foreign.text == shared.regenerate(options).text:
        assert proof.verdict is Verdict.EXACT
    else:
        assert generator != own
        assert proof.verdict is Verdict.EDITED
        assert proof.base.foreign == generator


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("v0.41.2", "older than v2.0.0"),
        ("0.18.3", "older than v2.0.0"),
        ("latest", "development build"),
        ("2.8.0-dev.0", "development build"),
        ("v2.8.3", "no release v2.8.3"),
        ("v2.9.9", "newer than this flux-upgrade"),
    ],
)
def test_unproved(version: str, reason: str) -> None:
    releases = WrittenReleases()
    releases.files["v2.9.9"] = {**releases.files["v2.9.4"]}
    # Bodies of their own, so that no other release fits.
    text = rendered(EIGHT).replace("v2.8.8", version).replace("v0.8.0", "v0.99.0").replace("replicas: 1", "replicas: 7")
    proof = proof_of(text, Regenerator(releases, regenerator()._flux))  # noqa: SLF001 the same double
    assert proof.verdict is Verdict.UNVERIFIED
    assert reason in proof.reason
    assert proof.hint
    assert proof.options is not None
    assert proof.options.components == EIGHT.components


def test_a_release_that_the_source_lacks_but_the_body_is_another() -> None:
    """A label that nobody knows does not speak against a clean proof."""
    text = rendered(EIGHT).replace("# Flux Version: v2.8.8", "# Flux Version: v2.8.3")
    assert proof_of(text, regenerator()).version == "v2.8.8"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text + "---\n" + text.split("---\n")[-1], "two manifests in one file"),
        (lambda text: text.replace("  replicas: 1\n", "  replicas: [\n", 1), "not valid YAML"),
        (lambda text: "---\njust text\n" + text, "not a Kubernetes object"),
        (lambda text: text.split("---\n")[1], "no Deployment"),
    ],
)
def test_unreadable(change: object, reason: str, shared: Regenerator) -> None:
    assert callable(change)
    proof = proof_of(change(rendered(EIGHT)), shared)
    assert proof.verdict is Verdict.UNREADABLE
    assert reason in proof.reason
    assert proof.hint


def test_unreadable_has_the_line_of_the_file(shared: Regenerator) -> None:
    lines = rendered(EIGHT).splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "replicas: 1" in line)
    lines[number - 1] = "  replicas: a: b"
    proof = proof_of("\n".join(lines) + "\n", shared)
    assert f"line {number} " in proof.reason


def test_flags_that_flux_never_takes(shared: Regenerator) -> None:
    text = rendered(EIGHT._replace(namespace="x")).replace("  name: x\n", "  name: '123'\n")
    proof = proof_of(text, shared)
    assert proof.verdict is Verdict.UNVERIFIED
    assert "recovered flags" in proof.reason


def test_parse_errors_are_unreadable() -> None:
    with pytest.raises(Unreadable):
        parse(b"\xff\xfe")
