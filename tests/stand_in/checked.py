"""Holds every exchange with the stand-in against what GitHub publishes about its APIs.

hub.observers.append(checks.observe)
...
assert not checks.violations
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from github_stand_in import Clock, Request, Response, StandIn
from graphql import GraphQLSchema, OperationDefinitionNode, build_schema, parse, validate
from graphql.execution.values import get_variable_values
from openapi_schema_validator import OAS30Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

from real_parts import missing
from stand_in.fetch_schemas import GRAPHQL, OPENAPI, Source

Json = dict[str, Any]
_NAME = "urn:github"

NOT_MODIFIED = 304
"""Every GET may be conditional, whatever its description says:
https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api"""
UNDESCRIBED = frozenset({301, 307, 400, 401, 403, 404, 409, 410, 422})
"""Statuses that GitHub answers with everywhere, whether or not its description says so for the path."""


def _text(source: Source) -> str:
    if not source.path.exists():
        missing(f"{source.package} was not fetched: run tests/stand_in/fetch_schemas.py (needs npm)")
    return source.path.read_text(encoding="utf-8")


@cache
def published_schema() -> GraphQLSchema:
    """GitHub's GraphQL schema."""
    return build_schema(_text(GRAPHQL), assume_valid=True, no_location=True)


@dataclass(frozen=True)
class Operation:
    """A method of a path in the description, with JSON pointers to its parts."""

    template: str
    pointer: str
    described: Json


class Description:
    """GitHub's OpenAPI description of its REST API."""

    def __init__(self) -> None:
        self._document: Json = json.loads(_text(OPENAPI), object_hook=_told_apart)
        self._registry: Registry[Any] = Registry().with_resource(
            _NAME, Resource.from_contents(self._document, default_specification=DRAFT4)
        )
        self._validators: dict[str, OAS30Validator] = {}
        self._paths = sorted(
            ((_pattern(template), template) for template in self._document["paths"]),
            key=lambda pair: pair[1].count("{"),
        )

    def resolved(self, node: Json) -> Json:
        """What a ``$ref`` points to."""
        while "$ref" in node:
            found: Any = self._document
            for part in node["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            node = found
        return node

    def operation(self, method: str, path: str) -> Operation | None:
        """Paths with fewer parameters first: ``/rate_limit`` before ``/{x}``."""
        for pattern, template in self._paths:
            described = self._document["paths"][template].get(method.lower())
            if described is not None and pattern.fullmatch(path):
                pointer = f"paths/{template.replace('~', '~0').replace('/', '~1')}/{method.lower()}"
                return Operation(template, pointer, described)
        return None

    def problems(self, pointer: str, value: object) -> Iterator[str]:
        """Where a value does not fit the schema that the pointer names."""
        if pointer not in self._validators:
            schema = {"$ref": f"{_NAME}#/{pointer}"}
            self._validators[pointer] = OAS30Validator(schema, registry=self._registry)
        for error in self._validators[pointer].iter_errors(value):
            deepest = min([error, *(error.context or ())], key=lambda each: -len(each.absolute_path))
            yield f"{'/'.join(map(str, deepest.absolute_path)) or 'body'}: {deepest.message[:200]}"


def _told_apart(node: Json) -> Json:
    """A list has no property to tell it by, though the description of a directory's content names one."""
    if "array" in node.get("discriminator", {}).get("mapping", {}):
        del node["discriminator"]
    return node


def _pattern(template: str) -> re.Pattern[str]:
    """A parameter is one segment, but for those that GitHub's description marks ``x-multi-segment``."""
    parts = re.split(r"(\{[^}]+\})", template)
    several = {"{ref}", "{path}"}
    return re.compile(
        "".join((".+" if p in several else "[^/]+") if p.startswith("{") else re.escape(p) for p in parts)
    )


@cache
def description() -> Description:
    """GitHub's description, read once."""
    return Description()


@dataclass
class Checks:
    """Collects what does not fit, one line each."""

    violations: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """``POST /repos/{owner}/{repo}/git/refs 201``: what was checked."""

    def observe(self, request: Request, response: Response) -> None:
        """For ``StandIn.observers``."""
        problems = self._graphql(request) if request.path == "/graphql" else self._rest(request, response)
        what = f"{request.method} {request.path} {response.status}"
        self.violations += [f"{what}: {problem}" for problem in problems]

    def _graphql(self, request: Request) -> Iterator[str]:
        self.seen.add(f"graphql {request.operation}")
        schema, payload = published_schema(), request.json
        document = parse(payload["query"])
        yield from (error.message for error in validate(schema, document))
        for definition in document.definitions:
            if isinstance(definition, OperationDefinitionNode):
                variables = get_variable_values(
                    schema, definition.variable_definitions or (), payload.get("variables") or {}
                )
                if isinstance(variables, list):
                    yield from (error.message for error in variables)

    def _rest(self, request: Request, response: Response) -> Iterator[str]:
        operation = description().operation(request.method, request.path)
        if operation is None:
            yield "GitHub's description has no such path"
            return
        self.seen.add(f"{request.method} {operation.template} {response.status}")
        if response.status < 400:
            yield from self._request(operation, request)
        yield from self._response(operation, response)

    def _request(self, operation: Operation, request: Request) -> Iterator[str]:
        api = description()
        parameters = [api.resolved(each) for each in operation.described.get("parameters", [])]
        known = {each["name"] for each in parameters if each["in"] == "query"}
        yield from (f"unknown parameter {name}" for name in request.query.keys() - known)
        described = operation.described.get("requestBody")
        if described is None:
            yield from ["a body where none is described"] if request.body.strip() not in (b"", b"{}") else []
            return
        if request.body:
            pointer = f"{operation.pointer}/requestBody/content/application~1json/schema"
            # “You can also pass an array of labels directly”, says the description in words only.
            is_bare = operation.template.endswith("/labels") and isinstance(request.json, list)
            body = {"labels": request.json} if is_bare else request.json
            yield from (f"request {problem}" for problem in api.problems(pointer, body))
            schema = api.resolved(described["content"]["application/json"]["schema"])
            yield from (f"request {problem}" for problem in self._unknown(schema, body))

    def _unknown(self, schema: Mapping[str, Any], value: object) -> Iterator[str]:
        """Names that GitHub would ignore: surely a mistake."""
        if isinstance(value, dict) and "properties" in schema:
            yield from (f"{name} is not described" for name in value.keys() - schema["properties"].keys())
            for name, inner in schema["properties"].items():
                if name in value:
                    yield from self._unknown(description().resolved(inner), value[name])
        elif isinstance(value, list) and "items" in schema:
            for each in value:
                yield from self._unknown(description().resolved(schema["items"]), each)

    def _response(self, operation: Operation, response: Response) -> Iterator[str]:
        api, status = description(), str(response.status)
        body = json.loads(response.content() or b"null")
        described = operation.described["responses"].get(status)
        if described is None:
            if response.status == NOT_MODIFIED and body is None:
                return
            if response.status not in UNDESCRIBED:
                yield "the status is not described"
            yield from api.problems("components/schemas/basic-error", body)
            return
        pointer = f"{operation.pointer}/responses/{status}"
        if "$ref" in described:
            pointer = described["$ref"].removeprefix("#/")
        content = api.resolved(described).get("content", {}).get("application/json")
        if content is None:
            yield from (["a body where none is described"] if body is not None and response.status < 400 else [])
            return
        yield from api.problems(f"{pointer}/content/application~1json/schema", body)


@contextmanager
def checked(folder: Path, clock: Clock | None = None) -> Iterator[StandIn]:
    """A stand-in, of which every exchange over the API must fit what GitHub publishes."""
    checks = Checks()
    published_schema()
    description()
    with StandIn(folder, clock) as hub:
        hub.observers.append(checks.observe)
        yield hub
    assert not checks.violations, "\n".join(checks.violations)
