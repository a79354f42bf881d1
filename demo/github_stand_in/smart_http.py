"""Git's own protocol over HTTP, by ``git http-backend``, for the repositories of the stand-in."""

from __future__ import annotations

import base64
import binascii
import re
import subprocess
from urllib.parse import urlsplit

from github_stand_in import access, pushed
from github_stand_in.exchange import Request, Response
from github_stand_in.refusals import Refused
from github_stand_in.repository import Repository
from github_stand_in.rest import Hub

_PATH = re.compile(r"/([^/]+/[^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)")


def credential(request: Request) -> str:
    """The token that a request carries: as bearer or ``token``, or as the password of Basic."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return value.strip()
    try:
        return base64.b64decode(value).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return value


def serve(hub: Hub, request: Request) -> Response | None:
    """Answer a request of Git; None: it is not one. Raises Refused."""
    found = _PATH.fullmatch(request.path)
    if found is None:
        return None
    repository = hub.repositories.get(found[1])
    if repository is None:
        raise Refused(404, "Not Found")
    request.repository = found[1]
    is_push = "git-receive-pack" in request.target
    challenge = {"WWW-Authenticate": 'Basic realm="GitHub"'}
    if request.token is None and (is_push or repository.settings.is_private):
        raise Refused(401, "Authentication required", headers=challenge)
    level = "write" if is_push else "read"
    access.require(request.token, repository.full_name, repository.settings, "contents", level)
    if is_push and repository.settings.is_archived:
        raise Refused(403, "This repository was archived so it is read-only.")
    is_push = is_push and request.method == "POST"
    if is_push and (refusal := pushed.refused(repository, request)) is not None:
        return refusal
    before = repository.store.refs("refs/heads/")
    response = _backend(repository, request, found[2])
    if is_push:
        after = repository.store.refs("refs/heads/")
        if not before:
            repository.first_push()
        for name in sorted(before | after):
            repository.follow(name, before.get(name, ""), after.get(name, ""))
    return response


def _backend(repository: Repository, request: Request, action: str) -> Response:
    environment = {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PROJECT_ROOT": str(repository.git),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{action}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": urlsplit(request.target).query,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(request.body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        "REMOTE_USER": request.token.login if request.token else "",
    }
    done = subprocess.run(
        [repository.store.program, "http-backend"], input=request.body, env=environment, capture_output=True, check=True
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
    status = int(headers.pop("Status", "200").split(" ")[0])
    return Response(status, content, headers)
