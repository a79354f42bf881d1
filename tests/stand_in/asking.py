"""Asks the stand-in over HTTP, as any client would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import requests
from github_stand_in import Repository, StandIn, Token

Json = dict[str, Any]


@dataclass
class Api:
    """The API of one repository, for the holder of one token."""

    hub: StandIn
    token: Token | None
    session: requests.Session
    full_name: str = "acme/fleet"

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> requests.Response:
        """Send a request; ``path`` is below the repository's, unless it begins with two slashes."""
        url = f"{self.hub.api_url}/{path[2:]}" if path.startswith("//") else self._url(path)
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token.value}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.session.request(method, url, json=body, headers=named, timeout=10)

    def _url(self, path: str) -> str:
        return f"{self.hub.api_url}/repos/{self.full_name}{path}"

    def get(self, path: str, **headers: str) -> requests.Response:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: object) -> requests.Response:
        return self.ask("POST", path, body)

    def patch(self, path: str, body: object) -> requests.Response:
        return self.ask("PATCH", path, body)

    def query(self, text: str, **variables: object) -> Json:
        """What the GraphQL API answers, whole."""
        payload = {"query": text, "variables": variables}
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token.value}"}
        answer = self.session.post(self.hub.graphql_url, json=payload, headers=headers, timeout=10)
        found: Json = answer.json()
        return found

    def mutate(self, name: str, **fields: object) -> Json:
        """Run a mutation, of which only the errors matter."""
        kind = f"{name[0].upper()}{name[1:]}Input!"
        return self.query(f"mutation($i: {kind}) {{ {name}(input: $i) {{ clientMutationId }} }}", i=fields)

    def holding(self, token: Token | None) -> Api:
        """The same, with another token."""
        return Api(self.hub, token, self.session, self.full_name)

    # What several calls do together

    def commit(self, files: dict[str, str], message: str = "Change\n") -> str:
        """Make a commit over the default branch, on no branch. Returns its id."""
        head = self.get("/git/ref/heads/main").json()["object"]["sha"]
        entries = [{"path": path, "mode": "100644", "type": "blob", "content": text} for path, text in files.items()]
        tree = self.post("/git/trees", {"base_tree": head, "tree": entries}).json()["sha"]
        body = {"message": message, "tree": tree, "parents": [head]}
        sha: str = self.post("/git/commits", body).json()["sha"]
        return sha

    def branch(self, name: str, files: dict[str, str] | None = None) -> str:
        """Make a branch with one commit. Returns the commit's id."""
        sha = self.commit(files or {"a.yaml": "changed\n"})
        assert self.post("/git/refs", {"ref": f"refs/heads/{name}", "sha": sha}).status_code == 201
        return sha

    def open_pull(self, head: str, **more: object) -> requests.Response:
        return self.post("/pulls", {"title": "A title", "head": head, "base": "main", **more})


@contextmanager
def asking(hub: StandIn, token: Token | None = None) -> Iterator[Api]:
    """An API that is asked with a token (by default GITHUB_TOKEN's, with the usual permissions)."""
    with requests.Session() as session:
        session.trust_env = False
        yield Api(hub, token or hub.token(), session)


def fleet(hub: StandIn, **settings: object) -> Repository:
    """A repository with two files."""
    return hub.create_repository("acme/fleet", {"a.yaml": b"one\n", "d/b.yaml": b"two\n"}, **settings)
