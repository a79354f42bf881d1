"""Manual edits are carried from one release to the next, or reported as conflicts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flux_upgrade.manifests.carry import Carried, carry
from flux_upgrade.manifests.documents import parse
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.pins.gotk_components.prove import prove
from flux_upgrade.pins.regenerate import Regenerator
from memory import regenerator, rendered

EIGHT = InstallOptions("v2.8.8", namespace="x", toleration_keys=("k",))
NINE = EIGHT._replace(version="v2.9.4")
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ours\n  # kept\ndata:\n    a:   b\n"


@pytest.fixture(scope="module")
def shared() -> Regenerator:
    return regenerator()


def carried(text: str | bytes, using: Regenerator, *, take_release: bool = False) -> Carried:
    proof = prove(parse(text if isinstance(text, bytes) else text.encode()), using)
    assert proof.options is not None
    return carry(proof, using.regenerate(proof.options._replace(version="v2.9.4")), take_release=take_release)


def swap(text: str, old: str, new: str, count: int = 1) -> str:
    assert old in text
    return text.replace(old, new, count)


def test_untouched() -> None:
    result = carried(rendered(EIGHT), regenerator())
    assert result.content.decode() == rendered(NINE)
    assert not (result.kept or result.conflicts or result.absorbed)


# Each is made to the text of both releases: what is carried is what the user would have written.
EDITS: dict[str, Callable[[str], str]] = {
    "replicas": lambda text: swap(text, "  replicas: 1\n", "  replicas: 2\n"),
    "memory with comments": lambda text: swap(
        text, "            memory: 1Gi\n", "            # OOM\n            memory: 2Gi # was 1Gi\n"
    ),
    "argument": lambda text: swap(
        text, "        - --log-encoding=json\n", "        - --log-encoding=json\n        - --concurrent=4\n"
    ),
    "annotation": lambda text: swap(
        text, '        prometheus.io/port: "8080"\n', '        a/b: c\n        prometheus.io/port: "8080"\n'
    ),
    "second toleration": lambda text: swap(
        text,
        "      - key: k\n        operator: Exists\n",
        "      - key: k\n        operator: Exists\n      - key: l\n        operator: Exists\n",
    ),
    "rule": lambda text: swap(text, "rules:\n", "rules:\n- nonResourceURLs:\n  - /x\n  verbs:\n  - get\n"),
    "removed key": lambda text: swap(text, "      terminationGracePeriodSeconds: 10\n", ""),
    "object behind the first": lambda text: swap(text, "---\napiVersion: net", f"---\n{CONFIG_MAP}---\napiVersion: net"),
    "object at the head": lambda text: swap(text, "apiVersion: v1\nkind: Namespace", f"{CONFIG_MAP}---\napiVersion: v1\nkind: Namespace"),
    "object at the end": lambda text: f"{text}---\n{CONFIG_MAP}",
    "comments around the header": lambda text: f"# yamllint disable\n{text}".replace("apiVersion", "# ours\napiVersion", 1),
    "comment at the end": lambda text: f"{text}# the end\n",
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "no final newline": lambda text: text.removesuffix("\n"),
    "byte order mark": lambda text: "\ufeff" + text,
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_what_the_user_would_have_written(name: str, shared: Regenerator) -> None:
    edit = EDITS[name]
    result = carried(edit(rendered(EIGHT)), shared)
    assert not result.conflicts
    assert result.content.decode() == edit(rendered(NINE))
    again = carried(result.content, shared)
    assert again.content == result.content
    assert [edit.identity for edit in again.kept] == [edit.identity for edit in result.kept]


def test_a_removed_object_stays_out(shared: Regenerator) -> None:
    """Though the release changed it: who takes an object out does not mind its content."""
    documents = rendered(EIGHT).split("---\n")
    kept = "---\n".join(d for d in documents if "name: allow-webhooks\n" not in d)
    result = carried(kept, shared)
    assert [f"{edit.op} {edit.object}" for edit in result.kept] == ["remove NetworkPolicy/allow-webhooks"]
    assert b"allow-webhooks" not in result.content
    assert not result.conflicts


def test_already_in_the_release(shared: Regenerator) -> None:
    text = swap(rendered(EIGHT), "        - --enable-leader-election\n", "        - --enable-leader-election\n        - --requeue-dependency=5s\n")  # fmt: skip
    result = carried(text, shared)
    assert [edit.where for edit in result.absorbed]
    assert not result.kept
    assert not result.conflicts


def conflicting() -> str:
    documents = rendered(EIGHT).split("---\n")
    return "---\n".join(
        document.replace("cpu: 1000m", "cpu: 500m").replace("replicas: 1", "replicas: 3")
        if "kind: Deployment" in document and "name: helm-controller\n" in document
        else document
        for document in documents
    )


def test_a_conflict_names_the_path_and_three_values(shared: Regenerator) -> None:
    (conflict,) = carried(conflicting(), shared).conflicts
    assert str(conflict.object) == "Deployment/helm-controller"
    assert conflict.where == "spec.template.spec.containers[name=manager].resources.limits.cpu"
    assert (conflict.base, conflict.mine, conflict.target) == ("1000m", "500m", "2000m")


def test_take_release_gives_up_that_edit_alone(shared: Regenerator) -> None:
    result = carried(conflicting(), shared, take_release=True)
    assert not result.conflicts
    assert [edit.where.rpartition(".")[2] for edit in result.dropped] == ["cpu"]
    assert [edit.where for edit in result.kept] == ["spec.replicas"]
    assert b"replicas: 3" in result.content
    assert b"500m" not in result.content


def test_an_edit_of_an_api_version_that_is_gone_conflicts(shared: Regenerator) -> None:
    """The written v2.9 serves no v1beta2 any more."""
    text = rendered(EIGHT)
    place = text.index("  - name: v1beta2")
    text = text[:place] + swap(text[place:], "    served: true", "    served: false")
    (conflict,) = carried(text, shared).conflicts
    assert conflict.where == "spec.versions[name=v1beta2]"


def test_a_comment_whose_place_is_gone_conflicts(shared: Regenerator) -> None:
    text = rendered(EIGHT)
    place = text.index("  - name: v1beta2")
    text = text[:place] + swap(text[place:], "    served: true", "    served: true # still needed")
    result = carried(text, shared)
    assert [conflict.mine for conflict in result.conflicts] == ["# still needed"]
    assert carried(text, shared, take_release=True).dropped


def test_formatted_and_edited(shared: Regenerator) -> None:
    text = swap(rendered(EIGHT), "  replicas: 1\n", '  "replicas": 2\n').replace('"1000"', "'1000'")
    result = carried(text, shared)
    assert result.content.decode() == rendered(NINE).replace("  replicas: 1\n", "  replicas: 2\n", 1)


def test_an_object_of_the_users_that_the_release_brings_too(shared: Regenerator) -> None:
    watcher = "source-watcher"
    added = rendered(NINE._replace(components=(watcher,))).split("---\n")
    account = next(d for d in added if "\nkind: ServiceAccount\n" in d)
    proof = prove(parse((rendered(EIGHT) + "---\n" + account).encode()), shared)
    assert proof.options is not None
    target = shared.regenerate(NINE._replace(components=(*NINE.components, watcher)))
    result = carry(proof, target)
    assert result.content.decode() == target.text
    assert [str(edit.object) for edit in result.absorbed] == ["ServiceAccount/source-watcher"]
    other = prove(parse((rendered(EIGHT) + "---\n" + account + "imagePullSecrets:\n- name: s\n").encode()), shared)
    assert [str(each.object) for each in carry(other, target).conflicts] == ["ServiceAccount/source-watcher"]
