"""Digests and registries of images are kept at the new release, and an image that does not exist is never pinned."""

from __future__ import annotations

from typing import Any

import pytest

from discovered import manifests_in
from flux_upgrade.manifests.options import COMPONENTS, DEFAULT_COMPONENTS, InstallOptions
from flux_upgrade.model.errors import SourceUnavailable, UntrustedArchive
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.planning.write_tree import WriteResult
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from flux_upgrade.report.outcomes import upgrade_text
from memory import EveryImage, MemoryArtifacts, MemoryTree, digest_of, regenerator, rendered
from planned import change_of, plans_of

PATH = "clusters/a/flux-system/gotk-components.yaml"
PUBLISHED = "ghcr.io/fluxcd"
MIRROR = "registry.example.com/mirror"
ONE, TWO = (f"sha256:{each * 64}" for each in "12")
USING = regenerator()


def manifest(registry: str = PUBLISHED, version: str = "v2.8.8", **images: str) -> str:
    """With the images of these controllers as they are given: ``source_controller="r/x:v1"``."""
    text = rendered(InstallOptions(version, registry=registry))
    tag = version.replace("v2.", "v1.")
    for name, image in images.items():
        own = f"image: {registry}/{name.replace('_', '-')}:{tag}\n"
        assert own in text
        text = text.replace(own, f"image: {image}\n")
    return text


def planned(content: str, artifacts: MemoryArtifacts, *, to: str = "v2.9.4", **asked: Any) -> Plan:
    found = manifests_in(MemoryTree({PATH: content.encode()}), USING)
    (plan,) = plans_of(found, USING, artifacts=artifacts, to=to, **asked)
    return plan


def upgraded(plan: Plan) -> str:
    (decision,) = plan.decisions
    assert isinstance(decision, Upgrade), decision
    return change_of(decision).new.decode()


def held(plan: Plan) -> Hold:
    (decision,) = plan.decisions
    assert isinstance(decision, Hold)
    return decision


def registry_with(*images: str) -> MemoryArtifacts:
    """A registry with these images alone."""
    return MemoryArtifacts({image: {"digest": digest_of(image)} for image in images})


# Digest pins


def test_a_pin_becomes_the_digest_of_the_new_tag() -> None:
    tag, new = f"{PUBLISHED}/source-controller:v1.8.8", f"{PUBLISHED}/source-controller:v1.9.4"
    artifacts = registry_with(new)
    done = upgraded(planned(manifest(source_controller=f"{tag}@{ONE}"), artifacts))
    assert done == manifest(version="v2.9.4", source_controller=f"{new}@{digest_of(new)}")
    assert artifacts.asked == [new], "of what Flux publishes itself, the pinned image alone is asked for"


def test_a_digest_without_a_tag_stays_one() -> None:
    repository = f"{MIRROR}/helm-controller"
    done = upgraded(planned(manifest(MIRROR, helm_controller=f"{repository}@{ONE}"), EveryImage()))
    new = f"{repository}@{digest_of(f'{repository}:v1.9.4')}"
    assert done == manifest(MIRROR, "v2.9.4", helm_controller=new)


@pytest.mark.parametrize("tag", ["v1.8.7", "v1.8.8", "v1.9.2"])
def test_a_bumped_pin_becomes_that_of_the_release(tag: str) -> None:
    image = f"{PUBLISHED}/helm-controller"
    done = upgraded(planned(manifest(helm_controller=f"{image}:{tag}@{ONE}"), EveryImage()))
    assert f"image: {image}:v1.9.4@{digest_of(f'{image}:v1.9.4')}\n" in done
    assert ONE not in done


@pytest.mark.parametrize(
    "image",
    [
        f"{PUBLISHED}/helm-controller:v1.9.4@{ONE}",
        f"{PUBLISHED}/helm-controller:with-plugins@{ONE}",
        f"registry.example.com/own/helm-controller:v1.8.8-3@{ONE}",
        f"registry.example.com/own/helm-controller@{ONE}",
    ],
    ids=["there already", "own tag", "own build", "own digest"],
)
def test_the_pin_of_an_image_that_stays_stays(image: str) -> None:
    done = upgraded(planned(manifest(helm_controller=image), EveryImage()))
    assert done == manifest(version="v2.9.4", helm_controller=image)


def test_an_image_that_stays_is_not_asked_for() -> None:
    artifacts = EveryImage()
    image = f"registry.example.com/own/helm-controller:v1.8.8-3@{ONE}"
    pinned = f"{PUBLISHED}/source-controller:v1.8.8@{TWO}"
    text = manifest(helm_controller=image, source_controller=pinned)
    done = upgraded(planned(text, artifacts, to="v2.8.8", flags={"log-level": "debug"}))
    assert image in done
    assert pinned in done
    assert artifacts.asked == []


def test_a_digest_in_a_registry_of_its_own_follows_where_it_is_that_of_the_release() -> None:
    repository = "registry.example.com/own/helm-controller"
    old, new = f"{repository}:v1.8.8", f"{repository}:v1.9.4"
    artifacts = registry_with(old, new)
    done = upgraded(planned(manifest(helm_controller=f"{repository}@{digest_of(old)}"), artifacts))
    assert done == manifest(version="v2.9.4", helm_controller=f"{repository}@{digest_of(new)}")
    assert sorted(artifacts.asked) == [old, new]

    kept = upgraded(planned(manifest(helm_controller=f"{repository}@{ONE}"), registry_with(old)))
    assert f"image: {repository}@{ONE}\n" in kept
    missing = held(planned(manifest(helm_controller=f"{repository}@{digest_of(old)}"), registry_with(old)))
    assert (missing.reason, missing.target) == (HoldReason.IMAGES_MISSING, "v2.9.4")


def test_another_registry_is_asked_for_its_own_digest() -> None:
    text = manifest(source_controller=f"{PUBLISHED}/source-controller:v1.8.8@{ONE}")
    done = upgraded(planned(text, EveryImage(), to="v2.8.8", flags={"registry": MIRROR}))
    new = f"{MIRROR}/source-controller:v1.8.8"
    assert done == manifest(MIRROR, source_controller=f"{new}@{digest_of(new)}")


def test_edits_comments_and_pins_are_all_carried() -> None:
    image = f"{PUBLISHED}/source-controller:v1.8.8"
    text = manifest(source_controller=f"{image}@{ONE} # pinned").replace("replicas: 1", "replicas: 2")
    done = upgraded(planned(text, EveryImage()))
    new = f"{PUBLISHED}/source-controller:v1.9.4"
    assert f"image: {new}@{digest_of(new)} # pinned\n" in done
    assert done.count("replicas: 2") == text.count("replicas: 2")


def test_a_container_of_the_users_own_keeps_its_digest() -> None:
    aside = f"      - image: example.com/aside:v1@{TWO}\n        name: aside\n"
    text = manifest(source_controller=f"{PUBLISHED}/source-controller:v1.8.8@{ONE}")
    text = text.replace("      containers:\n", f"      containers:\n{aside}")
    done = upgraded(planned(text, EveryImage()))
    assert done.count(aside.strip()) == text.count(aside.strip()) == len(DEFAULT_COMPONENTS)
    assert ONE not in done


def test_a_pinned_file_is_up_to_date_afterwards() -> None:
    text = manifest(MIRROR, source_controller=f"{MIRROR}/source-controller@{ONE}")
    artifacts = EveryImage()
    done = upgraded(planned(text, artifacts))
    asked = len(artifacts.asked)
    assert held(planned(done, artifacts)).reason is HoldReason.UP_TO_DATE
    assert len(artifacts.asked) == asked


def test_the_images_of_a_change_are_the_pinned_ones() -> None:
    old, new = (f"{PUBLISHED}/source-controller:{tag}" for tag in ("v1.8.8", "v1.9.4"))
    plan = planned(manifest(source_controller=f"{old}@{ONE}"), EveryImage())
    change = change_of(plan.upgrades[0])
    assert change.images[0] == ("source-controller", f"{old}@{ONE}", f"{new}@{digest_of(new)}")
    assert change.carried.content == change.new
    assert {str(each.image) for each in change.carried.controllers} == {new for _, _, new in change.images}
    assert change.seen == ("source-controller",)


# Images that are not there


def test_a_tag_that_is_not_there_is_never_pinned() -> None:
    pinned = manifest(source_controller=f"{PUBLISHED}/source-controller:v1.8.8@{ONE}")
    for check_images in (True, False):
        hold = held(planned(pinned, registry_with(), check_images=check_images))
        assert (hold.reason, hold.error) == (HoldReason.IMAGES_MISSING, None)
        assert f"{PUBLISHED}/source-controller:v1.9.4" in hold.detail


@pytest.mark.parametrize("registry", [MIRROR, "docker.io/fluxcd", "fluxcd", "ghcr.io/fluxcd-mirror"])
def test_the_images_on_a_mirror_have_to_be_there(registry: str) -> None:
    images = [f"{registry}/{name}:v1.9.4" for name in DEFAULT_COMPONENTS]
    artifacts = registry_with(*images)
    assert upgraded(planned(manifest(registry), artifacts)) == manifest(registry, "v2.9.4")
    assert artifacts.asked == images

    hold = held(planned(manifest(registry), registry_with(*images[:2])))
    assert (hold.reason, hold.error, hold.target) == (HoldReason.IMAGES_MISSING, None, "v2.9.4")
    assert hold.detail == f"2 images of v2.9.4 are not in the registry: {images[2]}, {images[3]}"
    assert "mirror the images" in hold.hint


def test_one_image_in_a_registry_of_its_own_has_to_be_there() -> None:
    text = manifest(helm_controller=f"{MIRROR}/helm-controller:v1.8.8")
    artifacts = registry_with()
    hold = held(planned(text, artifacts))
    assert hold.detail == f"1 image of v2.9.4 is not in the registry: {MIRROR}/helm-controller:v1.9.4"
    assert artifacts.asked == [f"{MIRROR}/helm-controller:v1.9.4"]


@pytest.mark.parametrize("tag", ["with-plugins", "v1.7.0-own"])
def test_an_image_with_a_tag_of_its_own_is_not_asked_for(tag: str) -> None:
    artifacts = registry_with()
    upgraded(planned(manifest(helm_controller=f"{MIRROR}/helm-controller:{tag}"), artifacts))
    assert artifacts.asked == []


def test_what_flux_publishes_is_not_asked_for() -> None:
    artifacts = registry_with()
    upgraded(planned(manifest(), artifacts))
    assert artifacts.asked == []


def test_where_a_template_leads_is_not_asked() -> None:
    artifacts = registry_with()
    plan = planned(manifest("${REGISTRY}/flux"), artifacts)
    assert upgraded(plan) == manifest("${REGISTRY}/flux", "v2.9.4")
    assert artifacts.asked == []
    text = upgrade_text([WriteResult(plan, written=True)], ".", written=True)
    assert text.count("check that the image exists") == len(DEFAULT_COMPONENTS)

    unknown = MemoryArtifacts(unreachable=["${REGISTRY}"])
    pinned = manifest(source_controller=f"${{REGISTRY}}/source-controller:v1.8.8@{ONE}")
    assert held(planned(pinned, unknown)).reason is HoldReason.SOURCE_UNAVAILABLE


def test_a_controller_that_is_added_has_to_be_there() -> None:
    components = ",".join((*DEFAULT_COMPONENTS, "image-reflector-controller"))
    artifacts = registry_with()
    flags = {"components": components}
    hold = held(planned(manifest(MIRROR), artifacts, to="v2.8.8", flags=flags))
    assert artifacts.asked == [f"{MIRROR}/image-reflector-controller:v1.8.8"]
    assert "1 image of v2.8.8 is not in the registry" in hold.detail
    assert set(components.split(",")) < set(COMPONENTS)


def test_the_check_can_be_turned_off() -> None:
    artifacts = MemoryArtifacts(unreachable=[MIRROR])
    done = upgraded(planned(manifest(MIRROR), artifacts, check_images=False))
    assert done == manifest(MIRROR, "v2.9.4")
    assert artifacts.asked == []


def test_what_is_held_for_a_conflict_asks_nothing() -> None:
    artifacts = registry_with()
    text = manifest(MIRROR).replace("cpu: 1000m", "cpu: 5")
    assert held(planned(text, artifacts)).reason is HoldReason.EDIT_CONFLICT
    assert artifacts.asked == []
    assert held(planned(text, artifacts, take_release=True)).reason is HoldReason.IMAGES_MISSING


def test_what_is_up_to_date_asks_nothing() -> None:
    artifacts = registry_with()
    assert held(planned(manifest(MIRROR, "v2.9.4"), artifacts)).reason is HoldReason.UP_TO_DATE
    assert artifacts.asked == []


# Registries that cannot be asked


def test_a_mirror_that_cannot_be_asked_holds() -> None:
    hold = held(planned(manifest(MIRROR), MemoryArtifacts(unreachable=[MIRROR])))
    assert (hold.reason, hold.error) == (HoldReason.SOURCE_UNAVAILABLE, SourceUnavailable)
    assert "is unreachable (and 3 more)" in hold.detail
    for remedy in ("--docker-config", "check-images: false"):
        assert remedy in hold.hint


@pytest.mark.parametrize("check_images", [True, False])
@pytest.mark.parametrize("repository", [f"{PUBLISHED}/source-controller", "own.example.com/source-controller"])
def test_a_digest_that_cannot_be_asked_for_holds(repository: str, *, check_images: bool) -> None:
    artifacts = MemoryArtifacts(unreachable=[repository])
    for image in (f"{repository}:v1.8.8@{ONE}", f"{repository}@{ONE}"):
        hold = held(planned(manifest(source_controller=image), artifacts, check_images=check_images))
        assert hold.reason is HoldReason.SOURCE_UNAVAILABLE
        assert "--docker-config" in hold.hint
        assert "check-images" not in hold.hint, "that would not help"


def test_a_failure_is_reported_before_a_missing_image() -> None:
    down = f"{MIRROR}/helm-controller"
    hold = held(planned(manifest(MIRROR), MemoryArtifacts(unreachable=[down])))
    assert hold.reason is HoldReason.SOURCE_UNAVAILABLE
    assert hold.detail.endswith(f"{down}:v1.9.4 is unreachable")


def test_a_registry_that_is_not_to_be_trusted_holds() -> None:
    class Odd(MemoryArtifacts):
        def digest(self, repository: str, reference: str) -> str | None:
            if repository.endswith("/helm-controller"):
                raise UntrustedArchive(f"{repository}:{reference} has another digest", hint="find out why")
            return super().digest(repository, reference)

    odd = Odd(unreachable=[f"{MIRROR}/source-controller"])
    hold = held(planned(manifest(MIRROR), odd))
    assert (hold.reason, hold.error) == (HoldReason.UNTRUSTED_ARTIFACT, UntrustedArchive)
    assert hold.hint == "find out why"
