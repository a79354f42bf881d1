"""The search finds each file that a migration would change."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from flux_upgrade.assessment.search import Searched, in_use, searched, suspects
from flux_upgrade.config.config import Config, Governance, Group
from flux_upgrade.impact.api_uses.flux_file import UsePlace
from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.schema import Schema
from flux_upgrade.manifests.crds import ReleaseApis
from flux_upgrade.model.errors import Unreadable
from memory import MemoryTree
from migration_cases import CASES, MigrationCase, case_of
from written_apis import schema, served

TARGET = served("v2.9.4")


def for_all(apis: Apis) -> Callable[[str], Apis]:
    """Return the same for each file."""
    return lambda _: apis


def suspected(tree: MemoryTree, target: str = "v2.9.4") -> tuple[str, ...]:
    everything = searched(tree, "", Config())
    return suspects(tree, everything, (), served(target)).uses


def releases(case: MigrationCase) -> tuple[object, ...]:
    return case.target, case.current, tuple(case.others), tuple(case.between), case.schemas


def test_files_of_one_tree_are_found_in_any_order() -> None:
    """In one tree: all migration cases that are of the same releases."""
    cases = sorted(map(case_of, CASES), key=releases)
    for _, some in itertools.groupby(cases, releases):
        files = {f"{number}/{case.path}": case for number, case in enumerate(some)}
        tree = MemoryTree({path: case.before for path, case in files.items()})
        patches = {path for path, case in files.items() if case.patch}
        apis = next(iter(files.values())).apis(served, schema)
        expected = in_use(tree, list(files), patches, apis.target, for_all(apis))
        assert in_use(tree, ["gone.yaml", *reversed(files)], patches, apis.target, for_all(apis)) == expected


def test_what_has_to_be_fetched_is_fetched_once() -> None:
    asked = []

    def fetch(group: str, kind: str, version: str) -> Schema | None:
        asked.append((group, kind, version))
        return schema(group, kind, version)

    content = (
        b"apiVersion: source.toolkit.fluxcd.io/v1beta1\nkind: GitRepository\nmetadata: {name: a}\n"
        b"spec: {interval: 1m, url: https://example.com, gitImplementation: libgit2}\n"
    )
    tree = MemoryTree({f"{number}.yaml": content for number in range(40)})
    apis = Apis(TARGET, TARGET, (), fetch)
    files = in_use(tree, suspected(tree), (), apis.target, for_all(apis))
    assert asked == [("source.toolkit.fluxcd.io", "GitRepository", "v1beta1")]
    assert [file.path for file in files] == sorted(tree.files)
    assert {len(file.moves) for file in files} == {1}


def test_a_release_that_cannot_be_read_is_an_error() -> None:
    def fetch(group: str, kind: str, version: str) -> Schema | None:
        raise Unreadable(f"{group} {kind} {version} is damaged")

    content = b"apiVersion: source.toolkit.fluxcd.io/v1beta1\nkind: GitRepository\nspec: {gitImplementation: libgit2}\n"
    tree = MemoryTree({"a.yaml": content})
    with pytest.raises(Unreadable, match="GitRepository v1beta1 is damaged"):
        in_use(tree, suspected(tree), (), TARGET, for_all(Apis(TARGET, TARGET, (), fetch)))


def test_the_releases_in_between_are_fetched_only_where_they_are_asked_for() -> None:
    fetched = []

    def between() -> Iterator[ReleaseApis]:
        for tag in ("v2.8.8", "v2.7.5"):
            fetched.append(tag)
            yield served(tag)

    apis = Apis(served("v2.6.4"), TARGET, (), schema, between)
    plain = MemoryTree({"a.yaml": b"apiVersion: source.toolkit.fluxcd.io/v1beta2\nkind: GitRepository\n"})
    assert len(in_use(plain, suspected(plain), (), apis.target, for_all(apis))) == 1
    assert not fetched
    apart = b"apiVersion: image.toolkit.fluxcd.io/v1beta2\nkind: ImagePolicy\nmetadata: {name: a}\n"
    tree = MemoryTree({f"{number}.yaml": apart for number in range(8)})
    files = in_use(tree, suspected(tree), (), apis.target, for_all(apis))
    assert {left.hint for file in files for left in file.lefts} == {
        "Upgrade to v2.8.8 first, which serves v1beta2 and v1."
    }
    assert fetched == ["v2.8.8", "v2.7.5"]


def test_a_file_that_is_gone_by_now_is_left_out() -> None:
    tree = MemoryTree({"a.yaml": b"apiVersion: source.toolkit.fluxcd.io/v1beta2\nkind: GitRepository\n"})
    found = in_use(tree, ("a.yaml", "gone.yaml"), (), TARGET, for_all(Apis(None, TARGET)))
    assert [file.path for file in found] == ["a.yaml"]


PLAIN = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(PLAIN.replace("\n", "\r\n"), id="crlf"),
        pytest.param(f"# {'x' * 70}\n{PLAIN}metadata:\n  name: a\n---\n{PLAIN}", id="documents"),
        pytest.param("metadata:\n  labels:\n    kustomize.toolkit.fluxcd.io/prune: disabled\n", id="label"),
        pytest.param("spec:\n  ref:\n    apiVersion: source.toolkit.fluxcd.io/v1\n    kind: Bucket\n", id="inside"),
        pytest.param("image: ghcr.io/fluxcd/flux:v1\n", id="no-group"),
    ],
)
def test_most_files_are_passed_over(text: str) -> None:
    assert not suspected(MemoryTree({"a.yaml": text.encode()}))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN.replace("/v1", "/v1beta2"), id="removed"),
        pytest.param(f"{PLAIN}---\n{PLAIN.replace('/v1', '/v1beta2')}", id="removed-behind-one-that-is-served"),
        pytest.param(PLAIN.replace("/v1", '/v1beta2"').replace(" s", ' "s'), id="quoted"),
        pytest.param("kind: GitRepository\napiVersion: source.toolkit.fluxcd.io/v1beta2\n", id="kind-first"),
        pytest.param(PLAIN.replace("\n", " # a\n"), id="commented"),
        pytest.param("apiVersion: source.toolkit.fluxcd.io/v1\nkind: Alert\n", id="of-another-group"),
        pytest.param("apiVersion: source.toolkit.fluxcd.io/v1\nspec:\n  a: b\nkind: Alert\n", id="apart"),
        pytest.param("a:\n  apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n", id="of-another-object"),
        pytest.param("a: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n", id="of-another-key"),
        pytest.param("group: source.toolkit.fluxcd.io\nversion: v1beta2\nkind: Bucket\n", id="in-two-parts"),
        pytest.param("{apiVersion: source.toolkit.fluxcd.io/v1beta2, kind: Bucket}\n", id="flow"),
        pytest.param("kustomize.toolkit.fluxcd.io/${VERSION}: x\n", id="variable"),
    ],
)
def test_what_may_matter_is_looked_at_closely(text: str) -> None:
    assert suspected(MemoryTree({"a.yaml": text.encode()})) == ("a.yaml",)


def test_what_is_searched_is_what_the_config_file_says() -> None:
    tree = MemoryTree(dict.fromkeys(("a/x.yaml", "a/y.json", "b/x.yaml", "c/x.yaml", "c/x.png"), b""))
    assert searched(tree, "", Config()) == Searched(
        frozenset({"a/x.yaml", "a/y.json", "b/x.yaml", "c/x.yaml"}), frozenset({"a/x.yaml", "b/x.yaml", "c/x.yaml"})
    )
    of_a, of_b = (
        Group(governance=Governance(include=("a/",))),
        Group(name="b", paths=("b/",), governance=Governance(include=("b/",))),
    )
    narrowed = Config(default=of_a, groups=(of_b,), ignore=("**/y.json",))
    assert searched(tree, "", narrowed).paths == {"a/x.yaml", "b/x.yaml"}
    wide = narrowed._replace(groups=(of_b._replace(governance=Governance()),))
    assert searched(tree, "", wide).paths == {"a/x.yaml", "b/x.yaml", "c/x.yaml"}
    below = searched(tree, "deploy/", Config(default=Group(governance=Governance(include=("deploy/a/",)))))
    assert below.paths == {"deploy/a/x.yaml", "deploy/a/y.json"}


def test_files_that_may_pin_flux_are_returned_as_well() -> None:
    tree = MemoryTree(
        {
            "a.yaml": b"image: ghcr.io/fluxcd/flux-cli:v2.8.8\n",
            "b.yaml": b"kind: ConfigMap\n",
            "gotk-components.yaml": b"",
            "install.sh": b"flux install --version v2.8.8\n",
        }
    )
    found = suspects(tree, searched(tree, "", Config()), tuple(tree.files), TARGET)
    assert (found.uses, found.pins) == ((), ("a.yaml", "gotk-components.yaml", "install.sh"))
    assert not suspects(tree, searched(tree, "", Config()), (), TARGET).pins


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_metric_may_end_a_template(end: str) -> None:
    text = "{{ if .Values.metrics }}\ncustomResourceState:\n  groupVersionKind:\n    version: v1beta2\n    group: "
    content = f"{text}helm.toolkit.fluxcd.io{end}".encode()
    file = find("a.yaml", content, frozenset({"helm.toolkit.fluxcd.io"}), is_patch=False, leaves_out=lambda _: False)
    assert file is not None
    assert [(use.place, use.version) for use in file.uses] == [(UsePlace.METRIC, "v1beta2")]
