"""One-line edits on real manifests, each carried to v2.9.4 and compared as data.

An edit is written twice: as a change of the text, which the tool sees, and as a
change of the data, which is made to the new release's own objects. Both must
meet.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.real_files import PATH, TARGET, regenerator_of, tell
from discovered import manifests_in
from flux_upgrade.manifests.options import COMPONENTS, InstallOptions
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.plan import Upgrade
from memory import EveryImage, MemoryTree
from planned import change_of, decision_of, plans_of

pytestmark = pytest.mark.real_part("shared data")

VERSIONS = ("v2.2.3", "v2.3.0", "v2.5.1", "v2.6.4", "v2.7.5", "v2.8.8")
SIX = tuple(name for name in COMPONENTS if name != "source-watcher")

Objects = dict[tuple[str, str], Any]


@dataclass(frozen=True)
class Edit:
    name: str
    text: Callable[[str], str]
    """The whole file → the file with the edit."""
    data: Callable[[Objects], None]
    """The same, on objects by kind and name."""


def container(objects: Objects, name: str) -> Any:
    return objects["Deployment", name]["spec"]["template"]["spec"]["containers"][0]


def within(name: str, old: str, new: str) -> Callable[[str], str]:
    """Replace once inside the Deployment ``name`` and nowhere else."""

    def edit(text: str) -> str:
        documents = text.split("---\n")
        (index,) = [
            number
            for number, document in enumerate(documents)
            if "\nkind: Deployment\n" in document and f"\n  name: {name}\n" in document
        ]
        assert old in documents[index], (name, old)
        documents[index] = documents[index].replace(old, new, 1)
        return "---\n".join(documents)

    return edit


def without(kind: str, name: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        kept = [
            document
            for document in text.split("---\n")
            if not (f"kind: {kind}\n" in document and f"\n  name: {name}\n" in document)
        ]
        assert len(kept) == text.count("---\n")
        return "---\n".join(kept)

    return edit


def edits_of_controller(name: str) -> Iterator[Edit]:
    def replicas(objects: Objects) -> None:
        objects["Deployment", name]["spec"]["replicas"] = 2

    yield Edit(f"{name} replicas", within(name, "  replicas: 1\n", "  replicas: 2\n"), replicas)

    def memory(objects: Objects) -> None:
        container(objects, name)["resources"]["limits"]["memory"] = "3Gi"

    yield Edit(f"{name} memory", within(name, "            memory: 1Gi\n", "            memory: 3Gi\n"), memory)

    def argument(objects: Objects) -> None:
        arguments = container(objects, name)["args"]
        arguments.insert(arguments.index("--log-encoding=json") + 1, "--concurrent=20")

    line = "        - --log-encoding=json\n"
    yield Edit(f"{name} argument", within(name, line, f"{line}        - --concurrent=20\n"), argument)

    def encoding(objects: Objects) -> None:
        arguments = container(objects, name)["args"]
        arguments[arguments.index("--log-encoding=json")] = "--log-encoding=console"

    yield Edit(f"{name} encoding", within(name, "--log-encoding=json", "--log-encoding=console"), encoding)

    def toleration(objects: Objects) -> None:
        pod = objects["Deployment", name]["spec"]["template"]["spec"]
        pod["tolerations"] = [{"key": "arch", "operator": "Equal", "value": "arm64"}]

    grace = "      terminationGracePeriodSeconds: "
    block = "      tolerations:\n      - key: arch\n        operator: Equal\n        value: arm64\n"
    yield Edit(f"{name} toleration", within(name, grace, f"{block}{grace}"), toleration)

    def annotation(objects: Objects) -> None:
        metadata = objects["Deployment", name]["spec"]["template"]["metadata"]
        metadata["annotations"]["example.com/team"] = "platform"

    scrape = '        prometheus.io/scrape: "true"\n'
    yield Edit(
        f"{name} annotation", within(name, scrape, f"{scrape}        example.com/team: platform # ours\n"), annotation
    )


def edits_of_objects() -> Iterator[Edit]:
    def quota(objects: Objects) -> None:
        objects["ResourceQuota", "critical-pods-flux-system"]["spec"]["hard"]["pods"] = "50"

    yield Edit("quota", lambda text: text.replace('    pods: "1000"\n', '    pods: "50"\n'), quota)

    def no_scraping(objects: Objects) -> None:
        del objects["NetworkPolicy", "allow-scraping"]

    yield Edit("no scraping policy", without("NetworkPolicy", "allow-scraping"), no_scraping)

    def no_view(objects: Objects) -> None:
        del objects["ClusterRole", "flux-view-flux-system"]

    yield Edit("no view role", without("ClusterRole", "flux-view-flux-system"), no_view)

    added = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ours # ours\n  namespace: flux-system\ndata:\n  a: b\n"

    def config_map(objects: Objects) -> None:
        objects["ConfigMap", "ours"] = yaml.safe_load(added)

    yield Edit("config map", lambda text: f"{text}---\n{added}", config_map)

    def exposed(objects: Objects) -> None:
        labels = objects["Service", "webhook-receiver"]["metadata"]["labels"]
        labels["example.com/exposed"] = "true"

    def label(text: str) -> str:
        first, rest = "    control-plane: controller\n", "  name: webhook-receiver\n"
        old = first + rest
        assert text.count(old) == 1
        return text.replace(old, f'{first}    example.com/exposed: "true"\n{rest}')

    yield Edit("service label", label, exposed)


EDITS = [*(edit for name in SIX for edit in edits_of_controller(name)), *edits_of_objects()]


def objects_of(text: str) -> Objects:
    """Read by PyYAML as a cluster would; CRDs stay text: no edit here touches one."""
    return dict(map(object_of, text.removeprefix("---\n").split("\n---\n")))


@cache
def object_of(document: str) -> tuple[tuple[str, str], Any]:
    if "kind: CustomResourceDefinition" in document:
        name = document.partition("\n  name: ")[2].partition("\n")[0]
        return ("CustomResourceDefinition", name), document.strip("\n")
    data = yaml.load(document, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 safe
    return (data["kind"], data["metadata"]["name"]), data


@pytest.fixture(scope="module")
def regenerator(releases: Path) -> Regenerator:
    return regenerator_of(releases)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_every_edit_finds_its_own_object(edit: Edit, version: str, regenerator: Regenerator) -> None:
    base = regenerator.regenerate(InstallOptions(version, components=SIX)).text
    target = regenerator.regenerate(InstallOptions(TARGET, components=SIX)).text
    edited = edit.text(base)
    assert edited != base
    (installation,) = manifests_in(MemoryTree({PATH: edited.encode()}), regenerator)
    (plan,) = plans_of([installation], regenerator, to=TARGET, artifacts=EveryImage())
    decision = decision_of(plan)
    # No release since changed any of these paths, so that none of them may be held.
    assert isinstance(decision, Upgrade), decision
    expected = copy.deepcopy(objects_of(target))
    edit.data(expected)
    assert objects_of(change_of(decision).new.decode()) == expected
    assert edited.count(" # ours") == change_of(decision).new.decode().count(" # ours")


def test_enough_edits() -> None:
    count = len(EDITS) * len(VERSIONS)
    tell(f"edits: {count} one-line edits, each carried to the right object")
    assert count >= 150
