"""A kustomization with the old and with the new manifest, step by step.

What is not in the repository is left out, and what may depend on it is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flux_upgrade.impact.overlay.built_crds import CrdSide, Served, lacking, served_by
from flux_upgrade.impact.overlay.judging import at, faulty, judge
from flux_upgrade.impact.overlay.result import LeftOut, OverlayFinding, TurnedOff
from flux_upgrade.kustomize import kustomization, steps
from flux_upgrade.kustomize.errors import CannotBuild, CannotTell
from flux_upgrade.kustomize.items import Id, Item, Items, Step, StepResult, held, id_of, items_of
from flux_upgrade.kustomize.kustomization import Kustomization, Location
from flux_upgrade.kustomize.steps import FaultyEntry
from flux_upgrade.model.errors import Unreadable
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.snapshot import Snapshot

_DEEPEST = 20  # Kustomizations below each other
_MOST = 1_000  # Evaluations of kustomizations; one of a component counts for each state of the objects that it gets
_NONE: Mapping[str, tuple[bytes, bytes]] = {}
_MAKE_MORE = ("generators", "helmCharts", "helmChartInflationGenerator")


class Sides(NamedTuple):
    """The objects with the old manifest and with the new one; one tuple where it makes no difference."""

    old: Items = ()
    new: Items = ()

    @property
    def is_one(self) -> bool:
        return self.old is self.new

    def without(self, known: Sides) -> Sides:
        """The objects that are not among those of ``known``, each once."""
        old = _others(known.old, self.old)
        return _both(old) if self.is_one and known.is_one else Sides(old, _others(known.new, self.new))

    def plus(self, more: Sides) -> Sides:
        if not (self.is_one and more.is_one):
            return Sides(self.old + more.old, self.new + more.new)
        both = self.old + more.old
        return Sides(both, both)


def evaluated(  # noqa: PLR0913 the files of an installation, and what builds them
    tree: Snapshot,
    entry: str | Location,
    old: bytes,
    new: bytes,
    kustomizations: Sequence[Kustomization],
    *,
    others: Mapping[str, tuple[bytes, bytes]] = _NONE,
) -> tuple[Kustomization, Evaluation] | None:
    """The evaluation of the first of them that works today; else of the last. None: one cannot be read.

    ``entry``: as ``Evaluation`` takes it. ``others``: path → old and new content of the installation's other files.
    """
    found = None
    try:
        manifests = items_of(old, is_release=True), items_of(new, is_release=True)
        for of in kustomizations:
            evaluation = Evaluation(tree, entry, *manifests)
            evaluation.others = {
                path: Sides(*(items_of(side, is_release=True) for side in both)) for path, both in others.items()
            }
            evaluation.sides = evaluation.run(of, Sides(*manifests) if of.at else None)
            evaluation.check_crds()
            found = of, evaluation
            if not any(each.fails and each.already for each in evaluation.findings):
                break
    except (Unreadable, CannotTell):
        return None
    return found


class Evaluation:
    """Kustomizations evaluated with the old and the new manifest of one installation.

    ``entry``: the path of the manifest, or where a kustomization names it as a remote base.
    """

    def __init__(self, tree: Snapshot, entry: str | Location, old: Items, new: Items) -> None:
        self._tree, self._entry = tree, entry
        self._manifest = Sides(old, new)
        self.others: Mapping[str, Sides] = {}  # The other files of the installation
        self._above: list[str] = []
        self._results: dict[tuple[str, int, int], tuple[Sides, Sides]] = {}
        """Path of a kustomization and identity of the objects that it gets → those objects, and what came of them."""
        self._evaluated: set[str] = set()
        self._circular: set[Location] = set()
        """Entries by which a kustomization includes itself. With one of these, kustomize builds nothing."""
        self.findings: list[OverlayFinding] = []
        self.is_open = False
        """Whether some of the objects are not known."""
        self.sides = Sides()
        """What came of the kustomization."""
        self.left_out: tuple[LeftOut, ...] = ()
        """CRDs of the new manifest that are not built."""
        self._taken_away: dict[Served, Step] = {}
        """A version that the new manifest serves → the step that ends that."""

    def run(self, of: Kustomization, given: Sides | None = None) -> Sides:
        """What comes of a kustomization; ``given``: what a component, or the patches of an object of Flux, are for."""
        begun = given or _both(())
        key = of.path, id(begun.old), id(begun.new)
        if key in self._results:
            return self._results[key][1]
        self._above.append(of.folder)
        self._evaluated.add(of.path)
        sides = self._taken_in(of, begun)
        for step in (*steps.steps(of), *steps.variables(of)):
            sides = self._stepped(step, sides)
        self._above.pop()
        self._results[key] = begun, sides
        return sides

    def _taken_in(self, of: Kustomization, sides: Sides) -> Sides:
        try:
            taken = list(of.takes_in())
        except CannotBuild as error:
            self._fault(of.location(), "kustomization", error, already=True)
            return sides
        for location, field, text in taken:
            if field != "components":
                sides = self._joined(location, text, sides, self._taken(of, location, text))
        sides = sides.plus(_both(tuple(self._generated(of))))
        for location, field, text in taken:
            if field == "components":
                below = self._below(of, location, text)
                # Each state of the objects is another evaluation: of what kustomize does not build, one is enough.
                is_done = bool(self._circular) and below is not None and below.path in self._evaluated
                sides = self.run(below, sides) if below is not None and not is_done else sides
        return sides

    def _joined(self, location: Location, text: str, sides: Sides, more: Sides) -> Sides:
        was, now = _twice(sides.old, more.old), _twice(sides.new, more.new)
        if now is not None:
            fault = CannotBuild(f"{now} is there already", hint="remove one of the two")
            self._fault(location, f"resource {text}", fault, already=was is not None)
        if was is not None or now is not None:
            more = more.without(sides)
        return sides.plus(more)

    def _taken(self, of: Kustomization, location: Location, text: str) -> Sides:
        try:
            path = of.joined(text) if location != self._entry else ""
            if self._entry in (location, path):
                return self._manifest
            if path in self.others:
                return self.others[path]
        except CannotTell:
            self.is_open = True
            return _both(())
        content = self._tree.content(path)
        if content is None:
            below = self._below(of, location, text)
            return self.run(below) if below is not None else _both(())
        try:
            return _both(items_of(content))
        except Unreadable as error:
            self.is_open = True
            self._fault(location, f"resource {text}", CannotTell(error.message), already=True)
            return _both(())

    def _below(self, of: Kustomization, location: Location, text: str) -> Kustomization | None:
        """The kustomization in a folder that another one names."""
        try:
            folder = of.joined(text)
        except CannotTell:
            self.is_open = True
            return None
        below = kustomization.read(self._tree, folder)
        if below is None or folder in self._above or len(self._above) > _DEEPEST:
            self.is_open = True
            if location not in self._circular:
                missing = CannotBuild(f"there is no {text}", hint="remove the entry, or add what it names")
                self._fault(location, f"resource {text}", missing, already=True)
            if folder in self._above:
                self._circular.add(location)
            return None
        if len(self._results) + len(self._above) < _MOST:
            return below
        self.is_open = True
        self._fault(location, f"resource {text}", CannotTell("it includes too many kustomizations"), already=True)
        return None

    def _generated(self, of: Kustomization) -> Iterator[Item]:
        """Only their names are known; kustomize adds a hash when all is done."""
        for field, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
            items = of.data.get(field)
            for each in items if isinstance(items, list) else ():
                if isinstance(each, dict) and each.get("name") and each.get("behavior") != "merge":
                    names = {"name": str(each["name"]), "namespace": str(each.get("namespace") or "")}
                    data = {"apiVersion": "v1", "kind": kind, "metadata": names}
                    yield Item((id_of(data),), held(data), is_opaque=True)
        self.is_open = self.is_open or any(of.data.get(name) for name in _MAKE_MORE)

    def _stepped(self, step: Step | FaultyEntry, sides: Sides) -> Sides:
        if isinstance(step, FaultyEntry):
            if not sides.is_one or isinstance(step.fault, CannotBuild):
                self._fault(step.location, step.what, step.fault, already=True)
            return sides
        was = _applied(step, sides.old)
        now = was if sides.is_one else _applied(step, sides.new)
        if not sides.is_one:
            after = served_by(touch.after for touch in now.touched if touch.after is not None)
            for gone in served_by(touch.before for touch in now.touched) - after:
                self._taken_away[gone] = step
        found = judge(step, was, now, is_open=self.is_open)
        if found.fails or (step.is_reported and not sides.is_one):
            self.findings.append(found)
        return _both(was.items) if was is now else Sides(was.items, now.items)

    def turned_off(self) -> Iterator[TurnedOff]:
        """Versions that the cluster serves today, and that the release would serve but for a patch."""
        gone = self._taken_away.keys() & served_by(self.sides.old) - served_by(self.sides.new)
        for group, kind, version in sorted(gone):
            location = self._taken_away[group, kind, version].location
            yield TurnedOff(group, kind, version, location.path, location.line)

    def check_crds(self) -> None:
        """Compare the CRDs that are built with those of the manifests."""
        manifest = self._manifest
        for other in self.others.values():
            manifest = manifest.plus(other)
        old, new = (CrdSide(*pair) for pair in zip(manifest, self.sides, strict=True))
        lost, self.left_out = lacking(old, new, self._taken_away)
        known = {(each.path, each.what) for each in self.findings if each.holds}
        lost = [each for each in lost if (each.path, each.what) not in known]
        places = {(each.path, each.what) for each in lost}
        others = (each for each in self.findings if (each.path, each.what) not in places)
        self.findings = [*others, *lost]

    def _fault(self, location: Location, what: str, fault: CannotBuild | CannotTell, *, already: bool) -> None:
        self.findings.append(faulty(at(location, what), fault, already=already))


def _applied(step: Step, items: Items) -> StepResult:
    try:
        return step.apply(items)
    except (CannotBuild, CannotTell) as error:
        return StepResult(items, fault=error)
    except Unreadable as error:
        return StepResult(items, fault=CannotTell(error.message))


def _both(items: Items) -> Sides:
    return Sides(items, items)


def _others(known: Items, items: Items) -> Items:
    identities = {item.current.identity for item in known}
    others = {item.current.identity: item for item in items if item.current.identity not in identities}
    return tuple(others.values())


def _twice(items: Items, more: Items) -> Id | None:
    known = {item.current.identity for item in items}
    for item in more:
        if item.current.identity in known:
            return item.current
        known.add(item.current.identity)
    return None
