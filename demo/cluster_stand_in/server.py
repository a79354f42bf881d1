"""The stand-in's HTTP side: as much of the Kubernetes API as a client of Flux's needs.

Source: kubernetes.io, "Kubernetes API Concepts" and "Server-Side Apply".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml
from loopback_server import LoopbackServer

from cluster_stand_in.kinds import Kind
from cluster_stand_in.store import Event, Key, Object, Refusal, Store

TOKEN = "cluster-token-5d2e"  # noqa: S105  (of nothing but this server)
Fault = Callable[[str, str], int | None]
"""Method and path with query → the status to answer with instead; None: as usual. May sleep, or raise."""


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    query: dict[str, str]
    user_agent: str

    @property
    def is_write(self) -> bool:
        """Whether it may change anything."""
        return self.method != "GET"


@dataclass
class ApiServer:
    """A cluster; ``url`` is where it listens."""

    version: str = "v1.34.1"
    store: Store = field(default_factory=Store)
    faults: list[Fault] = field(default_factory=list)
    log: list[Asked] = field(default_factory=list)
    url: str = ""

    def writes(self, user_agent: str = "") -> list[Asked]:
        """Those of a client, told by what its name begins with."""
        return [each for each in self.log if each.is_write and each.user_agent.startswith(user_agent)]

    @contextmanager
    def running(self) -> Iterator[ApiServer]:
        """Listen on loopback."""
        with _Server(self) as server:
            self.url = server.url
            try:
                yield self
            finally:
                self.store.close()


def write_kubeconfig(
    path: Path, server: str, *, context: str = "stand-in", token: str = TOKEN, authority: str = ""
) -> Path:
    """A kubeconfig with one context. ``authority``: the file of the server's certificate authority."""
    cluster = {"server": server, **({"certificate-authority": authority} if authority else {})}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": context, "context": {"cluster": "here", "user": "admin"}}],
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))
    return path


class _Server(LoopbackServer):
    def __init__(self, cluster: ApiServer) -> None:
        super().__init__(_Handler)
        self.cluster = cluster


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is http.server's)
        del format, args

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        try:
            status, answer = 200, self._answer(yaml.safe_load(body) if body else {})
        except Refusal as refusal:
            status, answer = refusal.status, _status(refusal)
        if answer is not None:
            self._send(status, answer)

    do_GET = do_PATCH = do_POST = do_DELETE = _handle  # noqa: N815  (the names are http.server's)

    def _send(self, status: int, answer: Any) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self, body: Object) -> Any:
        """The answer's JSON; None where it was sent already."""
        cluster, parts = self.server.cluster, urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        cluster.log.append(Asked(self.command, parts.path, query, self.headers.get("User-Agent", "")))
        for fault in tuple(cluster.faults):
            if status := fault(self.command, self.path):
                raise Refusal(status, "Fault", "as the test wants it")
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refusal(401, "Unauthorized", "Unauthorized")
        path = [unquote(each) for each in parts.path.strip("/").split("/")]
        if path == ["version"]:
            return {"gitVersion": cluster.version, "major": "1", "minor": "34"}
        found = self._discovery(path)
        return found if found is not None else self._object(path, query, body)

    def _discovery(self, path: list[str]) -> Any:
        every = self.server.cluster.store.kinds()
        match path:
            case ["api"]:
                return {"kind": "APIVersions", "versions": ["v1"]}
            case ["apis"]:
                groups = dict.fromkeys(each.group for each in every if each.group)
                return {"kind": "APIGroupList", "groups": [_group(each, every) for each in groups]}
            case ["apis", group]:
                return _group(group, every)
            case ["api", version]:
                return _resources(version, every)
            case ["apis", group, version]:
                return _resources(f"{group}/{version}", every)
        return None

    def _object(self, path: list[str], query: dict[str, str], body: Object) -> Any:
        kind, version, key, sub = self._meant(path, body)
        store = self.server.cluster.store
        if self.command != "GET":
            return self._write(key, sub, query, body)
        if key.name:
            found = store.get(key)
            if found is None:
                raise Refusal(404, "NotFound", f'{kind.plural} "{key.name}" not found')
            return found
        if query.get("watch") in ("true", "1"):
            return self._watch(key, query)
        metadata = {"resourceVersion": str(store.version)}
        items = store.list(kind, key.namespace)
        return {"kind": f"{kind.name}List", "apiVersion": version, "metadata": metadata, "items": items}

    def _write(self, key: Key, sub: str, query: dict[str, str], body: Object) -> Object:
        store = self.server.cluster.store
        match self.command:
            case "PATCH" if "apply" in self.headers["Content-Type"]:
                return store.apply(key, body, query["fieldManager"])
            case "PATCH":
                is_status = sub == "status"
                return store.patch(key, {n: v for n, v in body.items() if (n == "status") == is_status})
            case "POST":
                return store.create(key, body)
        return store.delete(key)

    def _meant(self, path: list[str], body: Object) -> tuple[Kind, str, Key, str]:
        """Kind, version, key and subresource of an address."""
        version, rest = (path[1], path[2:]) if path[0] == "api" else ("/".join(path[1:3]), path[3:])
        namespace = ""
        if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] != "status":
            namespace, rest = rest[1], rest[2:]
        plural, name, sub = (*rest, "", "", "")[:3]
        kinds = self.server.cluster.store.kinds()
        kind = next((each for each in kinds if version in each.api_versions and each.plural == plural), None)
        if kind is None:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        self.server.cluster.store.refuse_young(kind)
        return kind, version, Key(kind, namespace, name or body.get("metadata", {}).get("name", "")), sub

    def _watch(self, key: Key, query: dict[str, str]) -> None:
        """Events as they come, a chunk for each."""
        name = query.get("fieldSelector", "").removeprefix("metadata.name=")

        def is_wanted(event: Event) -> bool:
            return name in ("", event.key.name) and key.namespace in ("", event.key.namespace)

        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        since, seconds = int(query.get("resourceVersion") or 0), float(query.get("timeoutSeconds", 30))
        try:
            for event in self.server.cluster.store.events(key.kind, since, is_wanted, seconds):
                self._chunk({"type": event.type, "object": event.object})
        except Refusal as refusal:
            self._chunk({"type": "ERROR", "object": _status(refusal)})
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, event: object) -> None:
        line = json.dumps(event).encode() + b"\n"
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()


def _status(refusal: Refusal) -> Object:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": refusal.message,
        "reason": refusal.reason,
        "code": refusal.status,
    }


def _group(group: str, every: tuple[Kind, ...]) -> Object:
    versions = list(dict.fromkeys(v for each in every if each.group == group for v in each.api_versions))
    if not versions:
        raise Refusal(404, "NotFound", "the server could not find the requested resource")
    stated = [{"groupVersion": each, "version": each.rpartition("/")[2]} for each in versions]
    return {"kind": "APIGroup", "apiVersion": "v1", "name": group, "versions": stated, "preferredVersion": stated[0]}


def _resources(version: str, every: tuple[Kind, ...]) -> Object:
    kinds = [each for each in every if version in each.api_versions]
    if not kinds:
        raise Refusal(404, "NotFound", "the server could not find the requested resource")
    resources = [
        {
            "name": f"{each.plural}{sub}",
            "singularName": "",
            "namespaced": each.namespaced,
            "kind": each.name,
            "verbs": [],
        }
        for each in kinds
        for sub in ("", "/status")
    ]
    return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
