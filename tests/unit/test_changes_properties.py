"""The reported changes agree with an API server's rules for roles, policies and schemas, evaluated by brute force."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import jsonschema
import written_release
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.impact.diff.changes import TIGHTENED, Changes
from flux_upgrade.impact.diff.compare import manifest_changes
from flux_upgrade.impact.diff.crds import field_changes
from flux_upgrade.impact.diff.sentences import lines
from flux_upgrade.manifests.documents import Document, parse
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import Unreadable
from memory import rendered
from mutation import mutate

OTHER = "other"
"""Stands for any name that no rule mentions."""


def document(**fields: Any) -> list[Document]:
    return [Document(yaml.safe_dump({"metadata": {"name": "x"}, **fields}), 1)]


# Roles ------------------------------------------------------------------------------------------

GROUPS, RESOURCES, NAMES, VERBS = ("", "apps"), ("pods", "pods/scale", "*/scale"), ("a", "b"), ("get", "list")
URLS = ("/api", "/api/v1", "/api*", "/a*", "*")


def some(*values: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=3)


resource_rule = st.fixed_dictionaries(
    {"apiGroups": some(*GROUPS, "*"), "resources": some(*RESOURCES, "*"), "verbs": some(*VERBS, "*")},
    optional={"resourceNames": some(*NAMES)},
)
url_rule = st.fixed_dictionaries({"nonResourceURLs": some(*URLS), "verbs": some(*VERBS, "*")})
rules = st.lists(st.one_of(resource_rule, resource_rule, url_rule), max_size=4)

Request = tuple[str, ...]
RESOURCE_REQUESTS = list(
    product((*VERBS, OTHER), (*GROUPS, OTHER), ("pods", "pods/scale", OTHER, f"{OTHER}/scale"), (*NAMES, OTHER))
)
URL_REQUESTS = list(product((*VERBS, OTHER), ("/", "/a", "/api", "/api/v1", "/api/v2", "/axe", "/other")))


def allows(rule: Mapping[str, list[str]], request: Request) -> bool:
    """As k8s.io/component-helpers/auth/rbac does."""
    if not {request[0], "*"} & set(rule["verbs"]):
        return False
    if len(request) == 2:
        return any(
            url == request[1] or (url.endswith("*") and request[1].startswith(url.rstrip("*")))
            for url in rule.get("nonResourceURLs", ())
        )
    _, group, resource, name = request
    subresource = f"*/{resource.partition('/')[2]}" if "/" in resource else resource
    return (
        bool({group, "*"} & set(rule.get("apiGroups", ())))
        and bool({resource, "*", subresource} & set(rule.get("resources", ())))
        and ("resourceNames" not in rule or name in rule["resourceNames"])
    )


def allowed(rules: Sequence[Mapping[str, list[str]]]) -> set[Request]:
    return {request for request in [*RESOURCE_REQUESTS, *URL_REQUESTS] if any(allows(rule, request) for rule in rules)}


@given(rules, rules)
def test_a_role_is_widened_if_and_only_if_a_request_is_let_through_that_was_not(
    before: list[dict[str, list[str]]], after: list[dict[str, list[str]]]
) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    found = manifest_changes(document(**role, rules=before), document(**role, rules=after))
    assert not found.others
    widened = any(each.widened for each in found.rules)
    narrowed = any(each.narrowed for each in found.rules)
    assert widened == bool(allowed(after) - allowed(before))
    assert narrowed == bool(allowed(before) - allowed(after))


# Policies ---------------------------------------------------------------------------------------

PODS: tuple[dict[str, str], ...] = ({}, {"app": "x"}, {"app": "y"})
PEERS: tuple[dict[str, Any], ...] = (
    {"podSelector": {}},
    {"podSelector": {"matchLabels": {"app": "x"}}},
    {"namespaceSelector": {}},
    {"namespaceSelector": {"matchLabels": {"team": "a"}}, "podSelector": {"matchLabels": {"app": "y"}}},
    {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]}},
)
PORTS: tuple[dict[str, Any], ...] = (
    {"port": 80},
    {"port": 80, "protocol": "TCP"},
    {"port": 80, "endPort": 90},
    {"port": 53, "protocol": "UDP"},
    {"protocol": "UDP"},
)
rule = st.fixed_dictionaries(
    {},
    optional={
        "from": st.lists(st.sampled_from(PEERS), max_size=3),
        "ports": st.lists(st.sampled_from(PORTS), max_size=3),
    },
)
policies = st.fixed_dictionaries(
    {"podSelector": st.sampled_from([{}, {"matchLabels": {"app": "x"}}])},
    optional={"ingress": st.lists(rule, max_size=3), "policyTypes": st.sampled_from([["Ingress"], ["Egress"]])},
)
# Of the policy's own namespace, of one with a label, of one without.
SOURCES = list(product(PODS, ("own", "labelled", "plain")))
TARGETS = list(product(("TCP", "UDP"), (53, 80, 85, 90, 443)))


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
        each["key"] in labels for each in selector.get("matchExpressions", ())
    )


def lets_in(peer: Mapping[str, Any], pod: Mapping[str, str], namespace: str) -> bool:
    labels = {"team": "a"} if namespace == "labelled" else {}
    is_there = selects(peer["namespaceSelector"], labels) if "namespaceSelector" in peer else namespace == "own"
    return is_there and selects(peer.get("podSelector", {}), pod)


def opens(port: Mapping[str, Any], protocol: str, number: int) -> bool:
    first = port.get("port")
    return port.get("protocol", "TCP") == protocol and (first is None or first <= number <= port.get("endPort", first))


def connections(spec: Mapping[str, Any]) -> Iterator[tuple[object, ...]]:
    """Into a pod that the policy may select or not: every one that it lets through."""
    restricts = "Ingress" in spec.get("policyTypes", ["Ingress"])
    for into, (pod, namespace), (protocol, number) in product(PODS, SOURCES, TARGETS):
        is_free = not restricts or not selects(spec["podSelector"], into)
        if is_free or any(
            (not each.get("from") or any(lets_in(peer, pod, namespace) for peer in each["from"]))
            and (not each.get("ports") or any(opens(port, protocol, number) for port in each["ports"]))
            for each in spec.get("ingress", ())
        ):
            yield str(into), str(pod), namespace, protocol, number


@given(policies, policies)
def test_a_policy_that_lets_through_others_is_said(before: dict[str, Any], after: dict[str, Any]) -> None:
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
    found = manifest_changes(document(**policy, spec=before), document(**policy, spec=after))
    if set(connections(before)) != set(connections(after)):
        assert found.others
    assert all(each.content == "network-policy" for each in found.others)


# Schemas ----------------------------------------------------------------------------------------

texts = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "enum": st.lists(st.sampled_from(["a", "b", "abc"]), min_size=1, unique=True),
        "maxLength": st.integers(0, 3),
        "minLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "c$"]),
        "description": st.sampled_from(["One", "Another"]),
    },
)
numbers = st.fixed_dictionaries(
    {"type": st.just("integer")}, optional={"minimum": st.integers(0, 3), "maximum": st.integers(0, 3)}
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("pqr"), inner, max_size=3)},
        optional={"required": st.lists(st.sampled_from("pqr"), unique=True)},
    )


def lists(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={"maxItems": st.integers(0, 2)})


def maps(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner})


leaves = st.one_of(texts, numbers)
schemas = objects(st.one_of(leaves, objects(leaves), lists(leaves), maps(leaves)))


def values(schema: Mapping[str, Any], dice: random.Random) -> Any:
    """Any value of the right shape; the API server has pruned what the schema does not know."""
    match schema:
        case {"type": "string"}:
            return dice.choice(["", "a", "b", "abc", "cc"])
        case {"type": "integer"}:
            return dice.randrange(5)
        case {"type": "array", "items": items}:
            return [values(items, dice) for _ in range(dice.randrange(3))]
        case {"additionalProperties": inner}:
            return {key: values(inner, dice) for key in "xy"[: dice.randrange(3)]}
    return {key: values(inner, dice) for key, inner in schema["properties"].items() if dice.random() < 0.7}


@given(schemas, schemas, st.randoms(use_true_random=False))
def test_what_was_valid_stays_so_unless_something_was_tightened(
    before: dict[str, Any], after: dict[str, Any], dice: random.Random
) -> None:
    found, _ = field_changes(before, after)
    is_tightened = any(each.what in TIGHTENED for each in found)
    assert len({(each.path, each.what) for each in found}) == len(found)
    old, new = jsonschema.Draft202012Validator(before), jsonschema.Draft202012Validator(after)
    for _ in range(30):
        value = values(before, dice)
        was_valid, is_valid = old.is_valid(value), new.is_valid(value)
        assert is_valid or not was_valid or is_tightened
        assert is_valid == was_valid or found


@given(schemas)
def test_a_schema_is_as_it_was(schema: dict[str, Any]) -> None:
    assert field_changes(schema, schema) == ([], {})


# Whole manifests --------------------------------------------------------------------------------


def test_whatever_an_editor_leaves_behind_is_reported_or_counted() -> None:
    text = rendered(InstallOptions("v2.8.8", components=written_release.components("v2.8.8")))
    whole = parse(text.encode()).documents
    for seed in range(150):
        dice = random.Random(seed)  # noqa: S311 no secret
        with suppress(Unreadable):
            mutated = parse(mutate(text, dice).encode("utf-8", "surrogatepass")).documents
            same = {each.key: each.text for each in whole} == {each.key: each.text for each in mutated}
            found = manifest_changes(whole, mutated)
            assert (found == Changes()) == same, f"seed {seed}"
            for line in lines(found):
                assert line.isprintable(), f"seed {seed}"
