"""Less knowledge from a registry or from commit statuses never leads to less care."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from copy import deepcopy

import pytest

from flux_upgrade.model.errors import RegistryUnavailable
from flux_upgrade.policy.decision import HealthStatus, Ring
from promotion.channel import ALL, AS_FLUX, LOSING_TWICE, NEVER_STORED, TAG, Channel, Versions
from rings import FLUX, RingRepository, group

APPROVALS = ((), ("2.9",), ("2.9+migrated",))
CONTEXTS = ("kustomization/flux-system/eu", "kustomization/flux-system/us")
STATES = ("success", "pending", "failure")
PRODUCTION = "production/minor"


def before_the_newest(begin: str, versions: Versions) -> Channel:
    """Return a tag that went from a release to the newest patch of the minor before the newest."""
    channel = Channel(begin, versions)
    while channel.run("2.8+migrated", tags=ALL[:4]).promoted:
        pass
    assert channel.version == "v2.8.8"
    return channel


def lacking(channel: Channel) -> Iterator[Channel]:
    """Yield a tag without one earlier artifact, without one note about it, and with a registry that leaves it out."""
    registry = channel.registry
    for digest in registry.manifests.keys() - {registry.named[TAG]}:
        without = deepcopy(channel)
        del without.registry.manifests[digest]
        without.registry.named = {tag: other for tag, other in registry.named.items() if other != digest}
        yield without
        silent = deepcopy(channel)
        silent.registry.before = _silent_about(
            digest, *(tag for tag, other in registry.named.items() if other == digest)
        )
        yield silent
    for tag in registry.named:
        if tag.startswith((f"{TAG}.before-", f"{TAG}.migrated-")):
            without = deepcopy(channel)
            del without.registry.named[tag]
            yield without


def _silent_about(*references: str) -> Callable[[str], object]:
    def refuse(words: str) -> None:
        if words.startswith("manifest ") and words.partition(" ")[2] in references:
            raise RegistryUnavailable("registry.example.com does not answer", hint="run again later")

    return refuse


@pytest.mark.parametrize("approvals", APPROVALS)
@pytest.mark.parametrize("begin", ["v2.6.4", "v2.7.1"])
@pytest.mark.parametrize("versions", [AS_FLUX, NEVER_STORED, LOSING_TWICE])
def test_a_tag_moves_no_further_with_less_of_its_history(
    versions: Versions, begin: str, approvals: tuple[str, ...]
) -> None:
    channel = before_the_newest(begin, versions)
    now = channel.version
    known = deepcopy(channel)
    known.run(*approvals)
    count = 0
    for less in lacking(channel):
        less.run(*approvals)
        assert less.version in (now, known.version)
        if approvals == ("2.9+migrated",):
            assert less.version == known.version, "costs no more than that approval"
        count += 1
    assert count


def test_less_history_costs_an_approval() -> None:
    channel = before_the_newest("v2.6.4", NEVER_STORED)
    moves = [less.version for less in lacking(channel) if less.run().promoted]
    assert len(moves) < len([*lacking(channel)])
    assert deepcopy(channel).run().promoted


@pytest.mark.parametrize("states", [*itertools.product(STATES, repeat=len(CONTEXTS))])
def test_an_upgrade_waits_no_less_without_the_statuses_of_a_cluster(states: tuple[str, ...]) -> None:
    drafts = {taken: _is_draft(states, taken) for taken in ("", *CONTEXTS)}
    assert drafts[""] is (set(states) != {"success"})
    assert all(drafts[context] for context in CONTEXTS)


def _is_draft(states: tuple[str, ...], taken: str) -> bool:
    """Return whether the upgrade of production waits if the statuses of a context are taken away."""
    before = group("staging", ring=Ring(healthy=HealthStatus(CONTEXTS, FLUX)))
    after = group("production", ring=Ring(("staging",)))
    repository = RingRepository((before, after), {"staging": "v2.9.4", "production": "v2.8.8"})
    for context, state in zip(CONTEXTS, states, strict=True):
        if context != taken:
            repository.forge.post(context, state, FLUX)
    repository.later(days=3)
    return repository.pull(PRODUCTION).is_draft
