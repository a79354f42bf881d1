"""A structural schema finds the faults that another validator finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.impact.migrate.schema import What, dotted, faults, undeclared_default, unknown
from structural import is_valid

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["name", "mode"],
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"},
                "mode": {"type": "string", "enum": ["on", "off"], "default": "on"},
                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                "share": {"type": "number"},
                "is": {"type": "boolean"},
                "port": {"x-kubernetes-int-or-string": True},
                "maybe": {"type": "string", "nullable": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "closed": {"type": "object"},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "any": {"x-kubernetes-preserve-unknown-fields": True},
                "items": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 2,
                    "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
                },
                "object": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object"}},
                },
                "maybes": {"type": "array", "items": {"type": "string", "nullable": True}},
                "odd": {"type": "string", "pattern": r"\p{Greek}(?"},
            },
        },
    },
}


def faults_of(spec: Any) -> list[tuple[str, str]]:
    return [(dotted(each.path), str(each.what)) for each in faults({"spec": spec}, SCHEMA)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [("spec.name", "missing")], id="a required field; one with a default is put in"),
        pytest.param({"name": None}, [("spec.name", "missing")], id="a null is dropped"),
        pytest.param({"name": "a", "maybe": None}, [], id="where it may be null"),
        pytest.param({"name": "abcdef"}, [("spec.name", "value")], id="too long"),
        pytest.param({"name": ""}, [("spec.name", "value"), ("spec.name", "value")], id="two faults"),
        pytest.param({"name": "a\n"}, [("spec.name", "value")], id="Go takes no newline for the end"),
        pytest.param({"name": "a", "maybes": [None, "a"]}, [], id="a null in a list that may have some"),
        pytest.param({"name": 5}, [("spec.name", "type")], id="a number is no text"),
        pytest.param({"name": "${NAME}"}, [], id="a variable may be anything"),
        pytest.param({"name": "a", "mode": True}, [("spec.mode", "type")], id="YAML's on"),
        pytest.param({"name": "a", "mode": "auto"}, [("spec.mode", "value")], id="an enumeration"),
        pytest.param({"name": "a", "count": 0}, [("spec.count", "value")], id="too few"),
        pytest.param({"name": "a", "count": 10}, [("spec.count", "value")], id="too many"),
        pytest.param({"name": "a", "count": 1.0}, [], id="a whole number"),
        pytest.param({"name": "a", "count": 1.5}, [("spec.count", "type")], id="none"),
        pytest.param({"name": "a", "count": True}, [("spec.count", "type")], id="a truth is no number"),
        pytest.param({"name": "a", "share": 1.5}, [], id="a number"),
        pytest.param({"name": "a", "is": "yes"}, [("spec.is", "type")], id="a text is no truth"),
        pytest.param({"name": "a", "port": "http"}, [], id="a name for a number"),
        pytest.param({"name": "a", "port": 80}, [], id="a number for a name"),
        pytest.param({"name": "a", "port": []}, [("spec.port", "type")], id="neither"),
        pytest.param({"name": "a", "labels": {"x": "y"}}, [], id="any key"),
        pytest.param({"name": "a", "labels": {"x": 1}}, [("spec.labels.x", "type")], id="not any value"),
        pytest.param({"name": "a", "closed": {"x": 1}}, [("spec.closed.x", "unknown")], id="closed"),
        pytest.param({"name": "a", "open": {"x": 1}, "any": [1]}, [], id="open"),
        pytest.param({"name": "a", "items": []}, [("spec.items", "value")], id="too few items"),
        pytest.param({"name": "a", "items": {}}, [("spec.items", "type")], id="a mapping is no list"),
        pytest.param(
            {"name": "a", "items": [{"a": 1}, {"b": 1}]},
            [("spec.items[1].b", "unknown"), ("spec.items[1].a", "missing")],
            id="items",
        ),
        pytest.param({"name": "a", "items": [None]}, [("spec.items[0]", "type")], id="a null in a list"),
        pytest.param(
            {"name": "a", "object": {"kind": "X", "metadata": {"name": "x"}, "spec": {}, "data": {}}},
            [("spec.object.data", "unknown")],
            id="an object in an object",
        ),
        pytest.param({"name": "a", "odd": "x"}, [], id="a pattern that only Go can read"),
        pytest.param({"name": "a", "nope": None}, [("spec.nope", "unknown")], id="unknown, and null"),
        pytest.param([], [("spec", "type")], id="no mapping"),
        pytest.param("", [("spec", "type")], id="a text"),
    ],
)
def test_faults(spec: Any, expected: list[tuple[str, str]]) -> None:
    assert faults_of(spec) == expected


def test_what_every_object_has_is_the_api_servers() -> None:
    assert not faults({"apiVersion": 1, "kind": [], "metadata": {"x": 1}, "spec": {"name": "a"}}, SCHEMA)


def test_of_a_patch_only_unknown_fields_are_reported() -> None:
    data: dict[str, Any] = {
        "spec": {
            "count": 100,
            "gone": None,
            "$retainKeys": ["count"],
            "items": [{"$patch": "replace"}, {"c": 1}],
            "else": {},
        }
    }
    assert [dotted(each.path) for each in unknown(data, SCHEMA)] == ["spec.items[1].c", "spec.else"]


def test_no_schema_takes_anything_away() -> None:
    assert [each.what for each in faults({"spec": {}}, {})] == [What.UNKNOWN]
    assert not faults({"spec": {}}, {"x-kubernetes-preserve-unknown-fields": True})


values = st.recursive(
    st.one_of(
        st.integers(-2, 12),
        st.sampled_from([0.5, -1.5]),
        st.booleans(),
        st.sampled_from(["", "a", "on", "abcdef", "a b"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "x", "spec", "kind"]), inner, max_size=3)
    ),
    max_leaves=6,
)
specs = st.one_of(
    values,
    st.fixed_dictionaries(
        {}, optional={key: values for key in [*SCHEMA["properties"]["spec"]["properties"], "nope"] if key != "odd"}
    ),
    st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "abc"])},
        optional={"items": st.lists(st.fixed_dictionaries({"a": values}), max_size=3)},
    ),
)


@given(spec=specs)
def test_agrees_with_another_validator(spec: Any) -> None:
    data = {"spec": spec}
    assert (not faults(data, SCHEMA)) == is_valid(data, SCHEMA)


def of_spec(**properties: Any) -> dict[str, Any]:
    return {"properties": {"spec": {"properties": properties}, "status": {"properties": {}}}}


GENERIC = {"type": "string", "default": "generic"}


@pytest.mark.parametrize(
    ("spec", "old", "new", "field"),
    [
        pytest.param({}, of_spec(), of_spec(provider=GENERIC), "spec.provider", id="the-old-version-lacks-it"),
        pytest.param({}, of_spec(provider=GENERIC), of_spec(provider=GENERIC), "", id="both-have-it"),
        pytest.param({}, of_spec(provider={}), of_spec(provider=GENERIC), "", id="a-default-alone-is-new"),
        pytest.param({}, of_spec(), of_spec(provider={"type": "string"}), "", id="without-a-default"),
        pytest.param({}, of_spec(verify={"properties": {}}), of_spec(verify={"properties": {"provider": GENERIC}}), "", id="in-what-is-not-there"),
        pytest.param({"verify": {}}, of_spec(verify={"properties": {}}), of_spec(verify={"properties": {"provider": GENERIC}}), "spec.verify.provider", id="in-what-is-there"),
        pytest.param({"refs": [{}]}, of_spec(refs={"items": {"properties": {}}}), of_spec(refs={"items": {"properties": {"kind": GENERIC}}}), "spec.refs.kind", id="in-an-item-of-a-list"),
        pytest.param({"any": {}}, of_spec(any={"x-kubernetes-preserve-unknown-fields": True}), of_spec(any={"properties": {"kind": GENERIC}}), "", id="any-field"),
    ],
)  # fmt: skip
def test_a_field_with_a_default_that_the_old_version_lacks(
    spec: dict[str, Any], old: dict[str, Any], new: dict[str, Any], field: str
) -> None:
    found = undeclared_default({"kind": "Bucket", "metadata": {}, "spec": spec}, old, new)
    assert (dotted(found) if found is not None else "") == field
