"""Files as people really leave them are upgraded without a loss, or held."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import written_release

from discovered import manifests_in
from error_names import require_error
from flux_upgrade import main
from flux_upgrade.adapters.local.worktree import DirectoryWorktree
from flux_upgrade.manifests.documents import Document, parse
from flux_upgrade.manifests.images import ImageState
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.manifests.proof import Proof, Verdict
from flux_upgrade.model.errors import ReleaseNotFound, UnsupportedRelease, Unverified, WriteFailed
from flux_upgrade.pins.gotk_components.prove import prove
from flux_upgrade.pins.regenerate import Regenerator
from flux_upgrade.planning.plan import Plan, Upgrade
from flux_upgrade.policy.decision import Hold
from flux_upgrade.policy.hold_reasons import HoldReason
from memory import EveryImage, MemoryTree, digest_of, regenerator, rendered
from planned import change_of, decision_of, plans_of

PATH = "clusters/a/gotk-components.yaml"
EIGHT = InstallOptions("v2.8.8", namespace="fleet")
BEFORE, AFTER = rendered(EIGHT), rendered(EIGHT._replace(version="v2.9.4"))
USING = regenerator()


def plan(text: str | bytes, *, take_release: bool = False, using: Regenerator = USING) -> Plan:
    content = text if isinstance(text, bytes) else text.encode()
    found = list(manifests_in(MemoryTree({PATH: content}), using))
    (only,) = plans_of(found, using, to="v2.9.4", take_release=take_release, artifacts=EveryImage())
    return only


def upgraded(text: str, *, take_release: bool = False) -> str:
    decision = decision_of(plan(text, take_release=take_release))
    assert isinstance(decision, Upgrade), decision
    once = change_of(decision).new.decode()
    assert isinstance(decision_of(plan(once)), Hold), "the second run changes nothing"
    return once


def held(text: str | bytes, reason: HoldReason) -> Hold:
    decision = decision_of(plan(text))
    assert isinstance(decision, Hold), "written"
    assert decision.reason is reason
    return decision


def proof(text: str) -> Proof:
    return prove(parse(text.encode()), USING)


def source_controller(edit: Callable[[str], str]) -> Callable[[str], str]:
    """An edit of one Deployment alone."""

    def change(text: str) -> str:
        documents = text.split("---\n")
        for index, document in enumerate(documents):
            if "kind: Deployment" in document and "\n  name: source-controller\n" in document:
                changed = edit(document)
                assert changed != document
                documents[index] = changed
        return "---\n".join(documents)

    return change


def namespace_first(text: str) -> str:
    return re.sub(r"  name: (\S+)\n  namespace: (\S+)\n", r"  namespace: \2\n  name: \1\n", text)


def test_the_short_way_to_a_key_agrees_with_the_data() -> None:
    for text in (BEFORE, namespace_first(BEFORE)):
        for document in parse(text.encode()).documents:
            slow = Document("# not in Flux's form\n" + document.text, 1)
            assert document.key == slow.key


def test_namespace_before_name_is_formatting() -> None:
    assert proof(namespace_first(BEFORE)).verdict is Verdict.FORMATTING
    assert upgraded(namespace_first(BEFORE)) == AFTER


# Made to the old manifest and to the new one: the upgrade of the one is the other.
COMMUTING: dict[str, Callable[[str], str]] = {
    "another namespace for one object": source_controller(
        lambda text: text.replace("  namespace: fleet\n", "  namespace: other\n", 1)
    ),
    "no namespace for one object": source_controller(lambda text: text.replace("  namespace: fleet\n", "", 1)),
    "no namespaces at all": lambda text: re.sub(r"(  name: \S+\n)  namespace: fleet\n", r"\1", text),
    "a sidecar before the manager": source_controller(
        lambda text: text.replace(
            "      containers:\n",
            "      containers:\n      - image: envoyproxy/envoy:v1.30.0@sha256:aa\n        name: proxy\n",
        )
    ),
    "the namespace for a template": lambda text: text.replace("fleet", "${NAMESPACE}"),
    "the registry for a template": lambda text: text.replace("ghcr.io/fluxcd/", "${REGISTRY}/"),
    "a log level that Flux does not take": lambda text: text.replace("--log-level=info", "--log-level=warn"),
    "an item behind the release's own": lambda text: text.replace(
        "  - from:\n    - podSelector: {}\n",
        "  - from:\n    - podSelector: {}\n  - from:\n    - ipBlock:\n        cidr: 10.0.0.0/8\n",
    ),
    "a value that keeps its last lines": source_controller(
        lambda text: text.replace(
            "        image:", "        - name: NOTE\n          value: |+\n            a\n\n        image:"
        )
    ),
    "many objects with version labels of their own": lambda text: text
    + "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n"
        f"    app.kubernetes.io/version: 1.2.3\n  name: ours-{number}\n"
        for number in range(60)
    ),
    "a comment beside the first separator": lambda text: text.replace("---\n", "# ours\n---\n", 1),
    "a line like the header's": lambda text: text.replace("apiVersion", "# Components: are listed above\napiVersion", 1),
    "an untagged image": source_controller(lambda text: re.sub(r"(image: [^:\n]+):v\S+", r"\1", text)),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMUTING)
def test_carried_to_the_byte(name: str) -> None:
    assert upgraded(COMMUTING[name](BEFORE)) == COMMUTING[name](AFTER)


SIDECAR = COMMUTING["a sidecar before the manager"]


@pytest.mark.parametrize(
    ("tag", "state"),
    [("v1.8.9", ImageState.AHEAD), ("v1.8.8@sha256:bb", ImageState.PINNED), ("v1.8.1", ImageState.BEHIND)],
)
def test_the_controller_is_found_beside_a_sidecar(tag: str, state: ImageState) -> None:
    text = SIDECAR(BEFORE).replace("source-controller:v1.8.8", f"source-controller:{tag}")
    assert {each.name: each.state for each in proof(text).controllers}["source-controller"] is state
    image = "ghcr.io/fluxcd/source-controller:v1.9.4"
    pinned = f"{image}@{digest_of(image)}" if state is ImageState.PINNED else image
    assert upgraded(text) == SIDECAR(AFTER).replace(image, pinned)


def test_a_newer_controller_is_seen_beside_a_sidecar() -> None:
    text = SIDECAR(BEFORE).replace("source-controller:v1.8.8", "source-controller:v1.99.0")
    held(text, HoldReason.CONTROLLER_NEWER)


def webhooks(rule: str) -> str:
    """The policy that v2.9.4 narrows as well."""
    head, _, tail = BEFORE.partition("name: allow-webhooks")
    assert "    - namespaceSelector: {}\n" in tail
    return head + "name: allow-webhooks" + tail.replace("    - namespaceSelector: {}\n", rule, 1)


def test_an_item_that_both_replaced_is_a_conflict_of_the_list() -> None:
    text = webhooks("    - namespaceSelector:\n        matchLabels:\n          a: b\n")
    only = plan(text)
    (change,) = only.tried.values()
    (conflict,) = change.carried.conflicts
    assert conflict.where == "spec.ingress"
    assert conflict.base
    assert conflict.mine
    assert conflict.target
    assert upgraded(text, take_release=True) == AFTER


def test_a_version_label_of_the_users_on_the_pods() -> None:
    old = rendered(InstallOptions("v2.6.4"))
    label = "        app: source-controller\n        app.kubernetes.io/version: v2.6.4\n"
    text = source_controller(
        lambda each: each.replace("      labels:\n        app: source-controller\n", "      labels:\n" + label)
    )(old)
    assert upgraded(text) == rendered(InstallOptions("v2.9.4"))


def test_comments_beside_anchors_stay_with_their_entries() -> None:
    text = source_controller(
        lambda each: each.replace(
            "          limits:\n            cpu: 1000m\n            memory: 1Gi\n          requests:\n            cpu: 100m\n            memory: 64Mi\n",
            "          limits: &lim\n            cpu: 1000m\n            memory: 1Gi # large\n          requests:\n            <<: *lim\n            cpu: 50m # fifty\n",
        )
    )(BEFORE)
    lines = [line.strip() for line in upgraded(text).splitlines() if " # " in line]
    assert lines == ["memory: 1Gi # large", "cpu: 50m # fifty"]


ADDED = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ours\ndata:\n"


@pytest.mark.parametrize(
    "data", ["  1: a\n  b: c\n", "  on: a\n  b: c\n", "  2020-01-01: a\n", "  a: .nan\n", "  a: !!binary aGk=\n"]
)
def test_odd_values_of_added_objects(data: str, tmp_path: Path) -> None:
    assert upgraded(BEFORE + ADDED + data).endswith(ADDED + data)
    (tmp_path / "gotk-components.yaml").write_text(BEFORE + ADDED + data)
    source = written_release.write_source(tmp_path / "releases", ("v2.8.8",))
    out = io.BytesIO()
    argv = ["inspect", "--json", str(tmp_path / "gotk-components.yaml"), f"--release-source={source}"]
    assert main.run(argv, {}, out, io.StringIO()) == 0
    json.loads(out.getvalue(), parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))


def test_a_value_that_cannot_be_read_has_its_line() -> None:
    text = BEFORE + ADDED + "  a: !!timestamp nope\n"
    line = len(text.splitlines())
    assert f"line {line}" in held(text, HoldReason.UNREADABLE).detail


def test_an_object_before_the_header() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n"
    written = upgraded(f"---\n{secret}{BEFORE}")
    assert written.count("# Flux Version:") == 1
    assert secret in written
    assert written.endswith(AFTER.partition("apiVersion")[2])


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"<<<<<<< a\nx: y\n=======\n>>>>>>> b\n", "markers in lines 1, 3, 4"), (b"\xff\xfea\x00", "not UTF-8")],
)
def test_a_file_of_that_name_tells_what_is_wrong_with_it(content: bytes, reason: str) -> None:
    assert reason in held(content, HoldReason.UNREADABLE).detail


def test_a_namesake_is_not_fluxs() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  labels:\n    app.kubernetes.io/part-of: podinfo\n"
        "  name: helm-controller\n  namespace: a\n"
    )
    assert list(manifests_in(MemoryTree({"x.yaml": text.encode()}), USING)) == []


def test_a_damaged_archive_of_one_installation_does_not_stop_the_others(tmp_path: Path) -> None:
    source = written_release.write_source(tmp_path / "releases", ("v2.8.7", "v2.8.8", "v2.9.4"))
    archive = source / "v2.8.7" / "manifests.tar.gz"
    archive.write_bytes(archive.read_bytes()[:100])
    for name, tag in (("a", "v2.8.7"), ("b", "v2.8.8")):
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / "gotk-components.yaml").write_text(rendered(InstallOptions(tag)))
    out, err = io.BytesIO(), io.StringIO()
    code = main.run(["upgrade", "--policy=minor", str(tmp_path / "tree"), f"--release-source={source}"], {}, out, err)
    require_error(Unverified, code, err.getvalue())
    assert "failed verification" in err.getvalue()
    assert (tmp_path / "tree/b/gotk-components.yaml").read_text() == rendered(InstallOptions("v2.9.4"))


def test_a_release_whose_manifests_are_not_there_yet(tmp_path: Path) -> None:
    source = written_release.write_source(tmp_path / "releases", ("v2.8.8", "v2.9.4"))
    (source / "v2.9.4" / "manifests.tar.gz").unlink()
    (tmp_path / "gotk-components.yaml").write_text(rendered(InstallOptions("v2.8.8")))
    out, err = io.BytesIO(), io.StringIO()
    argv = ["upgrade", str(tmp_path / "gotk-components.yaml"), f"--release-source={source}"]
    assert main.run(argv, {}, out, err) == 0
    assert "Run again later" in out.getvalue().decode()
    require_error(ReleaseNotFound, main.run([*argv, "--to=v2.9.4"], {}, out, err), err.getvalue())


def test_a_file_that_changed_while_the_run_was_going(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"newer")
    with pytest.raises(WriteFailed, match="it changed in the meantime"):
        DirectoryWorktree(str(tmp_path)).write("a.yaml", b"ours", b"as it was read")
    assert file.read_bytes() == b"newer"
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_a_path_that_is_no_text_and_one_that_steers_a_terminal(tmp_path: Path) -> None:
    source = written_release.write_source(tmp_path / "releases", ("v2.8.8", "v2.9.4"))
    tree = tmp_path / "tree"
    for name in (b"a\xff\xfe", b"e\x1b[31m\n+++ b"):
        folder = os.path.join(os.fsencode(tree), name)
        os.makedirs(folder)
        with open(os.path.join(folder, b"gotk-components.yaml"), "w") as file:
            file.write(rendered(InstallOptions("v2.8.8")))
    for argv in (["inspect"], ["inspect", "--json"], ["upgrade", "--dry-run"]):
        out, err = io.BytesIO(), io.StringIO()
        assert main.run([*argv, str(tree), f"--release-source={source}"], {}, out, err) == 0, err.getvalue()
        assert b"\x1b" not in out.getvalue()
        assert b"\n+++ b/" not in out.getvalue().replace(b"\n+++ b/" + bytes(str(tree), "utf-8").lstrip(b"/"), b"")


def test_a_deep_tree(tmp_path: Path) -> None:
    here, deep = os.getcwd(), tmp_path / "tree" / "d"
    deep.parent.mkdir()
    try:
        os.chdir(deep.parent)
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
        os.chdir(here)
        (deep.parent / "gotk-components.yaml").write_text(rendered(InstallOptions("v2.9.4")))
        source = written_release.write_source(tmp_path / "releases", ("v2.9.4",))
        out, err = io.BytesIO(), io.StringIO()
        assert main.run(["inspect", str(deep.parent), f"--release-source={source}"], {}, out, err) == 0
        assert err.getvalue() == ""
    finally:
        os.chdir(here)
        # pytest's own way to remove it is recursive.
        subprocess.run(["rm", "-rf", str(deep)], check=True)  # noqa: S603, S607 our own folder


@pytest.mark.parametrize(
    ("version", "reason"), [("v0.41.2", "older than Flux 2"), ("v2.10.0", "newer than this flux-upgrade")]
)
def test_releases_outside_the_rules(version: str, reason: str, tmp_path: Path) -> None:
    source = written_release.write_source(tmp_path / "releases", ("v2.9.4",))
    written_release.write_release(source, version, written_release.files("v2.10.0"))
    out, err = io.BytesIO(), io.StringIO()
    code = main.run(["render", f"--version={version}", f"--release-source={source}"], {}, out, err)
    require_error(UnsupportedRelease, code, err.getvalue())
    assert reason in err.getvalue()


def test_render_tells_what_its_evidence_does_not_cover(tmp_path: Path) -> None:
    source = written_release.write_source(tmp_path / "releases", ("v2.9.4",))
    written_release.write_release(source, "v2.9.5", written_release.files("v2.9.4"))
    published = rendered(InstallOptions("v2.9.4")).replace("v2.9.4", "v2.9.5")
    (source / "v2.9.5" / "gotk-components.yaml").write_text(published)
    out, err = io.BytesIO(), io.StringIO()
    argv = ["render", "--version=v2.9.5", f"--release-source={source}", "--log-level=debug"]
    assert main.run(argv, {}, out, err) == 0
    assert "not covered: log-level" in err.getvalue()
