"""Whatever an editor, a merge or another tool made of a manifest: it is migrated or not, and nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.impact.api_uses.scan import find
from flux_upgrade.impact.migrate.apis import Apis
from flux_upgrade.impact.migrate.migrate import migrate
from flux_upgrade.impact.migrate.result import Migrated
from migration_cases import CASES, case_of
from spans import assert_kept_outside
from unit.test_pin_properties import mutated, mutations
from written_apis import schema, served

TARGET = Apis(None, served("v2.9.4"), (), schema)


@given(data=st.data())
def test_whatever_became_of_a_file(data: st.DataObject) -> None:
    case = case_of(data.draw(st.sampled_from(CASES)))
    before = mutated(case.before, data.draw(mutations))
    apis = case.apis(served, schema)

    found = case.migrate(before, apis)

    if found is not None:
        assert_kept_outside(before, found.new, [each for move in found.moves for each in move.edits])
        again = case.migrate(found.new, apis)
        assert again is None or not again.moves


names = st.sampled_from(["podinfo", "values.yaml", "a b", "#1", "${FILE}", "2024", "yes", "x: y", "[a]", "ä\u2028"])
values = st.recursive(
    st.one_of(names, st.integers(0, 9), st.none(), st.sampled_from(["one\ntwo\n", " lead", "trail \n\n", "---\n"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["a", "b", "spec"]), inner, max_size=2)
    ),
    max_leaves=5,
)
patches = st.fixed_dictionaries(
    {"apiVersion": st.just("v1"), "kind": st.just("Service"), "metadata": st.fixed_dictionaries({"name": names})},
    optional={"spec": values},
)
operations = st.fixed_dictionaries(
    {
        "target": st.fixed_dictionaries({"kind": st.just("Service")}, optional={"name": names}),
        "patch": st.lists(
            st.fixed_dictionaries({"op": st.just("add"), "path": st.just("/spec/x"), "value": values}),
            min_size=1,
            max_size=2,
        ),
    }
)
kustomizes = st.fixed_dictionaries(
    {},
    optional={
        "patchesStrategicMerge": st.lists(patches, min_size=1, max_size=3),
        "patches": st.lists(st.fixed_dictionaries({"patch": st.just("kind: Service\n")}), min_size=1, max_size=2),
        "patchesJson6902": st.lists(operations, min_size=1, max_size=2),
    },
)
releases = st.fixed_dictionaries(
    {
        "apiVersion": st.just("helm.toolkit.fluxcd.io/v2beta2"),
        "kind": st.just("HelmRelease"),
        "metadata": st.fixed_dictionaries({"name": st.just("podinfo")}),
        "spec": st.fixed_dictionaries(
            {
                "interval": st.just("1m"),
                "chart": st.fixed_dictionaries(
                    {
                        "spec": st.fixed_dictionaries(
                            {"chart": names, "sourceRef": st.just({"name": "podinfo"})},
                            optional={"valuesFile": names, "valuesFiles": st.lists(names, max_size=2)},
                        )
                    }
                ),
            },
            optional={
                "postRenderers": st.lists(st.fixed_dictionaries({"kustomize": kustomizes}), max_size=2),
                "values": values,
            },
        ),
    }
)


class Indented(yaml.SafeDumper):
    """Items of lists stand further in than their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT001, FBT002
        del indentless
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


class Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def in_block(data: Any) -> str:
    return yaml.dump(data, Dumper=Plain, sort_keys=False)


def indented(data: Any) -> str:
    return yaml.dump(data, Dumper=Indented, sort_keys=False, width=40, allow_unicode=True)


def in_flow(data: Any) -> str:
    return yaml.dump(data, Dumper=Plain, default_flow_style=True, width=60)


def as_json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def windows(data: Any) -> str:
    return in_block(data).replace("\n", "\r\n")


@pytest.mark.parametrize("written", [in_block, indented, in_flow, as_json, windows])
@given(data=releases)
def test_fields_mean_what_they_meant(written: Any, data: dict[str, Any]) -> None:
    """Whatever is in them, and however it was written: moved, or left for a person."""
    before = written(data).encode()
    file = find("release.yaml", before, TARGET.target.groups)
    assert file is not None
    found = migrate(file, TARGET)
    assert found is not None

    if found.moves:
        assert read(found) == expected(data)
    else:
        assert "It is not changed" in found.lefts[0].detail


def read(found: Migrated) -> Any:
    """With the texts of patches read."""
    data = yaml.safe_load(found.new)
    for each in data["spec"].get("postRenderers") or ():
        for patch in each["kustomize"].get("patches") or ():
            patch["patch"] = yaml.safe_load(patch["patch"])
    return data


def expected(data: dict[str, Any]) -> dict[str, Any]:
    data = yaml.safe_load(as_json(data)) | {"apiVersion": "helm.toolkit.fluxcd.io/v2"}
    chart = data["spec"]["chart"]["spec"]
    if "valuesFile" in chart:
        chart["valuesFiles"] = [chart.pop("valuesFile"), *chart.get("valuesFiles", ())]
    for each in data["spec"].get("postRenderers") or ():
        lists = each["kustomize"]
        strategic = [{"patch": patch} for patch in lists.pop("patchesStrategicMerge", ())]
        old = [{"patch": yaml.safe_load(patch["patch"])} for patch in lists.pop("patches", ())]
        of_json = lists.pop("patchesJson6902", ())
        if strategic or old or of_json:
            lists["patches"] = [*strategic, *old, *of_json]
    return data
