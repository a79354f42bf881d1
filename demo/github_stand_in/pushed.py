"""What a push over smart HTTP brings, looked at before Git takes it.

Git's own hooks could refuse it too, but not in the words of GitHub, which stand beside each branch.
Source: https://git-scm.com/docs/pack-protocol, "Pushing Data To a Server".
"""

from __future__ import annotations

from github_stand_in import access
from github_stand_in.exchange import Request, Response
from github_stand_in.gitstore import NO_OBJECT
from github_stand_in.refusals import Refused
from github_stand_in.repository import Repository

_FLUSH = b"0000"
_SIDEBAND = 1


def refused(repository: Repository, request: Request) -> Response | None:
    """The answer to a push that the token may not make for what is in it; None: it may."""
    if request.token is None or access.may_write_workflows(request.token):
        return None
    commands, pack = _parts(request.body)
    if pack:
        # Objects that no ref leads to are seen by nobody.
        repository.store.git("index-pack", "--stdin", "--fix-thin", stdin=pack)
    wrong: dict[str, str] = {}
    for _, new, name in commands:
        try:
            if new != NO_OBJECT:
                access.require_workflows(request.token, repository.store, new, by_push=True)
        except Refused as refusal:
            wrong[name] = refusal.message
    return _report([name for _, _, name in commands], wrong) if wrong else None


def _parts(body: bytes) -> tuple[list[list[str]], bytes]:
    """Old id, new id and name of each ref; and the pack."""
    commands: list[list[str]] = []
    while (size := int(body[:4] or _FLUSH, 16)) > 0:
        line, body = body[4:size], body[size:]
        if not line.startswith(b"shallow "):
            commands.append(line.partition(b"\0")[0].decode().strip().split(" ", 2))
    return commands, body[4:]


def _report(names: list[str], wrong: dict[str, str]) -> Response:
    """All or none: a branch that goes with a refused one is not taken either."""
    lines = [f"ng {name} {wrong.get(name, 'atomic push failure')}\n" for name in names]
    report = b"".join(_line(each.encode()) for each in ["unpack ok\n", *lines]) + _FLUSH
    content = _line(bytes([_SIDEBAND]) + report) + _FLUSH
    return Response(200, content, {"Content-Type": "application/x-git-receive-pack-result"})


def _line(content: bytes) -> bytes:
    return f"{len(content) + 4:04x}".encode() + content
