"""Any file and any flag gives a value or one clear error, never a traceback, and no edit is lost."""

from __future__ import annotations

import random
from contextlib import suppress

import written_release
from hypothesis import given
from hypothesis import strategies as st

from discovered import manifests_in
from flux_upgrade.manifests.carry import carry
from flux_upgrade.manifests.documents import parse
from flux_upgrade.manifests.images import Image
from flux_upgrade.manifests.options import COMPONENTS, LOG_LEVELS, InstallOptions, validate
from flux_upgrade.manifests.proof import Verdict
from flux_upgrade.model.errors import Unreadable, UsageError
from flux_upgrade.pins.gotk_components.prove import prove
from memory import MemoryTree, regenerator, rendered
from mutation import PATH, mutate, survive

REGENERATOR = regenerator()

label = st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


@st.composite
def options(draw: st.DrawFn, tag: str | None = None) -> InstallOptions:
    version = tag or draw(st.sampled_from([each for each in written_release.TAGS if "rc" not in each]))
    chosen = InstallOptions(
        version,
        namespace=draw(label),
        components=tuple(draw(st.lists(st.sampled_from(written_release.components(version)), min_size=1, unique=True))),
        registry=draw(st.sampled_from(["ghcr.io/fluxcd", "r", "localhost:5000/flux", "a.b/c/d"])),
        image_pull_secret=draw(st.one_of(st.just(""), label)),
        watch_all_namespaces=draw(st.booleans()),
        network_policy=draw(st.booleans()),
        log_level=draw(st.sampled_from(LOG_LEVELS)),
        cluster_domain=draw(st.sampled_from(["cluster.local", "c.l", "k8s.example.org"])),
        toleration_keys=tuple(draw(st.lists(label, max_size=3, unique=True))),
    )
    with suppress(UsageError):
        validate(chosen)
        return chosen
    return chosen._replace(namespace="flux-system", image_pull_secret="")


@given(options())
def test_what_is_rendered_is_read_back_and_proved_exact(chosen: InstallOptions) -> None:
    text = rendered(chosen)
    proof = prove(parse(text.encode()), REGENERATOR)
    assert proof.verdict is Verdict.EXACT
    found = proof.options
    assert found is not None
    if "cluster-domain" not in (proof.inferred.lines if proof.inferred else {}):
        # Nothing in such a manifest tells the cluster's domain, and nothing depends on it.
        assert text == rendered(chosen._replace(cluster_domain="another.domain"))
        found = found._replace(cluster_domain=chosen.cluster_domain)
    assert found == chosen


@given(options("v2.8.8"))
def test_an_upgrade_is_the_rendering_of_the_new_release(chosen: InstallOptions) -> None:
    proof = prove(parse(rendered(chosen).encode()), REGENERATOR)
    assert proof.options is not None
    carried = carry(proof, REGENERATOR.regenerate(proof.options._replace(version="v2.9.4")))
    assert carried.content.decode() == rendered(chosen._replace(version="v2.9.4"))


yaml_scalar = st.one_of(st.integers(), st.booleans(), st.text("abc #:'\"\n-é", max_size=30), st.none())


@given(st.dictionaries(label, yaml_scalar, min_size=1, max_size=4), st.integers(0, 3))
def test_edits_of_any_value_are_carried(values: dict[str, object], where: int) -> None:
    """Annotations of a Deployment, with values that need every kind of quoting."""
    import yaml

    lines = yaml.safe_dump(values, allow_unicode=True, default_flow_style=False).splitlines(keepends=True)
    block = "".join(f"        {line}" for line in lines)
    text = rendered(InstallOptions("v2.8.8"))
    parts = text.split("      annotations:\n")
    parts[where + 1] = block + parts[where + 1]
    proof = prove(parse("      annotations:\n".join(parts).encode()), REGENERATOR)
    assert proof.options is not None
    carried = carry(proof, REGENERATOR.regenerate(proof.options._replace(version="v2.9.4")))
    assert not carried.conflicts
    again = prove(parse(carried.content), REGENERATOR)
    assert sorted(e.identity for e in again.edits) == sorted(e.identity for e in proof.edits)
    assert {e.path[-1]: e.new for e in again.edits} == values


@given(st.binary(max_size=400))
def test_any_bytes_after_a_header(content: bytes) -> None:
    whole = b"---\n# Flux Version: v2.9.4\n" + content
    for each in manifests_in(MemoryTree({PATH: whole}), REGENERATOR):
        assert each.proof.verdict in (Verdict.UNREADABLE, Verdict.UNVERIFIED, Verdict.EDITED)


@given(st.text(max_size=80))
def test_any_image(reference: str) -> None:
    # Only a separator with nothing behind it is no part of any image.
    assert str(Image.parse(reference)) == reference or ":@" in reference or reference.endswith((":", "@"))


@given(
    st.builds(
        InstallOptions,
        version=st.just("v2.9.4"),
        namespace=st.text(max_size=70),
        components=st.lists(st.one_of(st.text(max_size=10), st.sampled_from(COMPONENTS)), max_size=4).map(tuple),
        registry=st.text(max_size=20),
        image_pull_secret=st.text(max_size=20),
        log_level=st.text(max_size=6),
        cluster_domain=st.text(max_size=20),
        toleration_keys=st.lists(st.text(max_size=10), max_size=3).map(tuple),
    )
)
def test_any_flags_are_refused_or_render_valid_yaml(chosen: InstallOptions) -> None:
    import yaml

    try:
        validate(chosen)
    except UsageError:
        return
    loaded = list(yaml.safe_load_all(rendered(chosen)))
    assert all(isinstance(document["metadata"]["name"], str) for document in loaded)


@given(st.randoms(use_true_random=False))
def test_mutated_manifests(dice: random.Random) -> None:
    text = rendered(InstallOptions("v2.8.8", toleration_keys=("k",)))
    for _ in range(dice.randrange(1, 4)):
        text = mutate(text, dice) or "---\n"
        survive(text, REGENERATOR)


def test_cut_anywhere() -> None:
    text = rendered(InstallOptions("v2.8.8"))
    for end in range(0, len(text), 331):
        survive(text[:end], REGENERATOR)
        with suppress(Unreadable):
            parse(text[:end].encode())
