"""The artifacts that pins in Git name, where they are promoted by pull request."""

from __future__ import annotations

from flux_upgrade.artifact.address import Address
from flux_upgrade.decision import Hold
from flux_upgrade.errors import NothingFound, Overtaken, Unreadable
from flux_upgrade.fitness import unfit
from flux_upgrade.kinds.own_artifacts import Held
from flux_upgrade.kinds.own_artifacts import Successor as Named
from flux_upgrade.plan import Subjected, Terms, Upgrade
from flux_upgrade.promotion.pulled import Means, Pulled, pull
from flux_upgrade.promotion.pushing import keep, put
from flux_upgrade.promotion.successor import Made, looked_at, make, successor_of
from flux_upgrade.upgrade import ManifestPlanner
from flux_upgrade.values import NamedTuple


class _Rebased(NamedTuple):
    named: Named
    pulled: Pulled
    made: Made | None
    """None: it has been pushed before."""


class PinnedArtifacts:
    """The port OwnArtifacts over a registry, and what pushes what it named."""

    def __init__(self, address: Address, planner: ManifestPlanner, terms: Terms, means: Means) -> None:
        """``terms``: what governs the manifests in the artifacts, but for the policy."""
        self.address = address
        self._planner, self._terms, self._means = planner, terms, means
        # A planner tells terms apart by their identity, so that they have to last.
        self._terms_to: dict[str, Terms] = {}
        self._pulled: dict[str, Pulled | Held] = {}
        self._rebased: dict[tuple[str, str], _Rebased | Hold] = {}

    def at(self, reference: str) -> Held:
        """See the port."""
        found = self._at(reference)
        if isinstance(found, Held):
            return found
        hold = unfit(found.installation)
        reason, hint = (hold.detail, hold.hint) if hold is not None else ("", "")
        return Held(found.installation.version, reason, hint, found.stored.digest)

    def rebased(self, reference: str, target: str) -> Named | Hold:
        """See the port."""
        key = reference, target
        if key not in self._rebased:
            self._rebased[key] = self._rebase(reference, target)
        found = self._rebased[key]
        return found.named if isinstance(found, _Rebased) else found

    def push(self, reference: str, target: str) -> None:
        """Put what ``rebased`` named into the registry, unless it is there.

        Raises Overtaken where somebody else has put it there in the meantime, with a digest of its own:
        then ``rebased`` names that one. Raises what ``ArtifactRegistry`` raises.
        """
        found, registry = self._rebased[reference, target], self._means.registry
        if isinstance(found, Hold) or found.made is None:
            return
        if registry.digest(found.named.tag) is not None:
            del self._rebased[reference, target], self._pulled[reference]
            raise Overtaken(
                f"{self.address.repository}:{found.named.tag} was pushed by somebody else in the meantime",
                hint="run again: it is looked at anew",
            )
        keep(found.pulled, registry)
        # Another cluster may name the same one: what fails here is tried again there.
        put(found.pulled, found.named.tag, found.made, registry)
        found.made.close()
        self._rebased[reference, target] = found._replace(made=None)

    def _at(self, reference: str) -> Pulled | Held:
        if reference not in self._pulled:
            is_digest = reference.startswith("sha256:")
            address = self.address._replace(
                tag="" if is_digest else reference, digest=reference if is_digest else ""
            )
            try:
                self._pulled[reference] = pull(address, self._means)
            except (NothingFound, Unreadable) as error:
                self._pulled[reference] = Held("", error.message, error.hint)
        return self._pulled[reference]

    def _rebase(self, reference: str, target: str) -> _Rebased | Hold:
        pulled = self._at(reference)
        assert isinstance(pulled, Pulled)  # noqa: S101 no other pin can be moved
        installation = pulled.installation
        terms = self._terms_to.setdefault(target, self._terms._replace(to=target))
        subjected = Subjected(installation, installation.path, terms)
        (decided,) = self._planner.plan(subjected, installation).decisions
        if not isinstance(decided, Upgrade):
            return decided
        found = looked_at(pulled, successor_of(pulled, decided), self._means)
        if found.stored is not None:
            is_signed = self._means.registry.is_signed(found.stored.digest, pulled.tags)
            return _Rebased(Named(found.tag, found.stored.digest, is_signed=is_signed), pulled, None)
        made = make(pulled, found, self._means)
        return _Rebased(Named(found.tag, made.stored.digest), pulled, made)
