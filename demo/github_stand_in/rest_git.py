"""REST: Git's blobs, trees, commits and refs, and commit statuses (https://docs.github.com/rest/git)."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Any

from github_stand_in import access
from github_stand_in.branch_rules import RefUpdate
from github_stand_in.exchange import Response
from github_stand_in.gitstore import Entry, Moved, Person
from github_stand_in.model import Status
from github_stand_in.refusals import Refused, invalid
from github_stand_in.repository import FORGE
from github_stand_in.rest import Context, Route, paged
from github_stand_in.shapes import number_of
from github_stand_in.shapes_git import GitShapes

_MODES = ("100644", "100755", "040000", "160000", "120000")
_MAX_DESCRIPTION = 140
_MAX_CONTENT = 1_000_000
_TOO_LARGE = (
    "This API returns blobs up to 1 MB in size. The requested blob is too large to fetch via the API, but you can use "
    "the Git Data API to request blobs up to 100 MB in size."
)
_MAX_COMMITS, _MAX_FILES = 250, 300
"""Of a comparison: https://docs.github.com/rest/commits/commits#compare-two-commits."""


def _require_content(context: Context) -> None:
    """Git's endpoints answer nothing else for a repository that nobody pushed to."""
    if context.repository.is_empty:
        raise Refused(409, "Git Repository is empty.")


def create_blob(context: Context) -> Response:
    """POST /git/blobs."""
    _require_content(context)
    body = context.json
    content = str(body.get("content", ""))
    try:
        is_base64 = body.get("encoding", "utf-8") == "base64"
        data = base64.b64decode(content, validate=False) if is_base64 else content.encode()
    except (binascii.Error, ValueError):
        raise Refused(422, "content is not valid Base64") from None
    sha = context.repository.store.blob(data)
    return Response(201, {"sha": sha, "url": f"{context.shaped(GitShapes).url}/git/blobs/{sha}"})


def read_blob(context: Context) -> Response:
    """GET /git/blobs/{file_sha}."""
    _require_content(context)
    sha = context.parameters["file_sha"]
    if context.repository.store.kind(sha) != "blob":
        raise Refused(404, "Not Found")
    return Response(200, context.shaped(GitShapes).blob(sha))


def create_tree(context: Context) -> Response:
    """POST /git/trees."""
    _require_content(context)
    body = context.json
    store = context.repository.store
    base = str(body.get("base_tree") or "")
    if base and store.kind(base) not in ("tree", "commit"):
        raise Refused(404, "Not Found")
    sha = store.tree(base, [_tree_entry(context, each) for each in body.get("tree", [])])
    access.require_workflows(context.token, store, sha)
    return Response(201, context.shaped(GitShapes).tree(sha))


def _tree_entry(context: Context, value: dict[str, Any]) -> Entry:
    path, mode = str(value.get("path", "")), str(value.get("mode", "100644"))
    if not path or path.startswith("/") or mode not in _MODES:
        raise Refused(422, "tree.path contains a malformed path component" if mode in _MODES else "Invalid mode")
    if "content" in value and "sha" in value:
        raise Refused(422, "Must supply either tree.sha or tree.content, not both")
    if "content" in value:
        return Entry(path, mode, context.repository.store.blob(str(value["content"]).encode()))
    sha = value.get("sha")
    if sha and not context.repository.store.kind(str(sha)):
        raise Refused(422, f"tree.sha {sha} is not a valid blob")
    return Entry(path, mode, str(sha or ""))


def create_commit(context: Context) -> Response:
    """POST /git/commits. Without author and committer, an app's commit is signed by GitHub."""
    _require_content(context)
    body, store, token = context.json, context.repository.store, context.token
    tree, parents = str(body.get("tree", "")), [str(each) for each in body.get("parents", [])]
    if not body.get("message"):
        raise Refused(422, 'Invalid request.\n\n"message" wasn\'t supplied.')
    if store.kind(tree) != "tree":
        raise Refused(422, "Tree SHA does not exist")
    if any(store.kind(parent) != "commit" for parent in parents):
        raise Refused(422, "Parent SHA does not exist or is not a commit object")
    signs = token.is_installation and not body.get("author") and not body.get("committer")
    own = _identity(token.login, context.hub.clock.epoch)
    author = _person(body.get("author"), own)
    by_forge = Person(*FORGE, context.hub.clock.epoch)
    committer = by_forge if signs else _person(body.get("committer"), author)
    sha = store.commit(tree, parents, str(body["message"]), author, committer, sign=signs)
    return Response(201, context.shaped(GitShapes).commit(store.read(sha)))


def _identity(login: str, at: int) -> Person:
    return Person(login, f"{number_of(login)}+{login}@users.noreply.github.example", at)


def _person(value: dict[str, Any] | None, otherwise: Person) -> Person:
    if not value:
        return otherwise
    at = int(datetime.fromisoformat(value["date"]).timestamp()) if "date" in value else otherwise.at
    return Person(str(value["name"]), str(value["email"]), at)


def read_commit(context: Context) -> Response:
    """GET /git/commits/{commit_sha}."""
    _require_content(context)
    sha = context.parameters["commit_sha"]
    if context.repository.store.kind(sha) != "commit":
        raise Refused(404, "Not Found")
    return Response(200, context.shaped(GitShapes).commit(context.repository.store.read(sha)))


def read_whole_commit(context: Context) -> Response:
    """GET /commits/{ref}: with the files that it changed, page by page."""
    _require_content(context)
    store = context.repository.store
    sha = context.repository.resolve(context.parameters["ref"])
    if not sha:
        raise Refused(422, f"No commit found for SHA: {context.parameters['ref']}")
    shapes = context.shaped(GitShapes)
    page = paged(context, [shapes.changed(sha, each) for each in store.files_of(sha)])
    return Response(200, {**shapes.whole_commit(store.read(sha)), "files": page.body}, page.headers)


def compare(context: Context) -> Response:
    """GET /compare/{basehead}: the commits that the head has and the base has not, and what they change."""
    store, shapes = context.repository.store, context.shaped(GitShapes)
    base, _, head = context.parameters["basehead"].partition("...")
    base, head = context.repository.resolve(base), context.repository.resolve(head)
    fork = store.merge_base(base, head) if base and head else ""
    if not fork:
        raise Refused(404, "Not Found")
    ahead, behind = store.ahead(base, head), store.ahead(head, base)
    states = ("identical", "ahead", "behind", "diverged")
    url = f"{shapes.html}/compare/{base}...{head}"
    return Response(
        200,
        {
            "url": f"{shapes.url}/compare/{base}...{head}",
            "html_url": url,
            "permalink_url": url,
            "diff_url": f"{url}.diff",
            "patch_url": f"{url}.patch",
            "base_commit": shapes.whole_commit(store.read(base)),
            "merge_base_commit": shapes.whole_commit(store.read(fork)),
            "status": states[bool(ahead) + 2 * bool(behind)],
            "ahead_by": len(ahead),
            "behind_by": len(behind),
            "total_commits": len(ahead),
            "commits": [shapes.whole_commit(store.read(oid)) for oid in reversed(ahead[:_MAX_COMMITS])],
            "files": [shapes.changed(head, each) for each in store.files_of(head, fork)][:_MAX_FILES],
        },
    )


def read_content(context: Context) -> Response:
    """GET /contents/{path}: a file with what is in it, or what is in a directory."""
    store, shapes = context.repository.store, context.shaped(GitShapes)
    path, ref = context.parameters["path"], context.request.query.get("ref", "")
    commit = context.repository.resolve(ref)
    if not commit:
        raise Refused(404, f"No commit found for the ref {ref}")
    entry = store.entry(commit, path)
    if entry is None:
        raise Refused(404, "Not Found")
    if entry.kind == "tree":
        inside = store.entries(entry.oid)
        return Response(200, [shapes.content(f"{path}/{each.path}", ref or commit, each) for each in inside])
    if len(store.content(entry.oid)) > _MAX_CONTENT:
        raise Refused(403, _TOO_LARGE, [{"resource": "Blob", "field": "data", "code": "too_large"}])
    return Response(200, shapes.file(path, ref or commit, entry))


def read_tree(context: Context) -> Response:
    """GET /git/trees/{tree_sha}."""
    _require_content(context)
    sha = context.parameters["tree_sha"]
    if context.repository.store.kind(sha) not in ("tree", "commit"):
        raise Refused(404, "Not Found")
    return Response(200, context.shaped(GitShapes).tree(sha))


def read_ref(context: Context) -> Response:
    """GET /git/ref/{ref}."""
    _require_content(context)
    name = f"refs/{context.parameters['ref']}"
    sha = context.repository.store.ref(name)
    if not sha:
        raise Refused(404, "Not Found")
    return Response(200, context.shaped(GitShapes).ref(name, sha))


def matching_refs(context: Context) -> Response:
    """GET /git/matching-refs/{ref}: those that begin so."""
    _require_content(context)
    begin = f"refs/{context.parameters['ref']}"
    found = {n: s for n, s in context.repository.store.refs().items() if n.startswith(begin)}
    return Response(200, [context.shaped(GitShapes).ref(name, sha) for name, sha in found.items()])


def create_ref(context: Context) -> Response:
    """POST /git/refs."""
    _require_content(context)
    name, sha = str(context.json.get("ref", "")), str(context.json.get("sha", ""))
    if not name.startswith("refs/") or name.count("/") < 2:
        raise Refused(422, "Reference name must start with 'refs/' and contain at least two slashes")
    if context.repository.store.ref(name):
        raise Refused(422, "Reference already exists")
    if any(each.startswith(f"{name}/") or name.startswith(f"{each}/") for each in context.repository.store.refs()):
        raise Refused(422, "Reference update failed")
    _move(context, RefUpdate(name, "", sha))
    return Response(201, context.shaped(GitShapes).ref(name, sha))


def update_ref(context: Context) -> Response:
    """PATCH /git/refs/{ref}: no compare-and-swap, whatever the branch was is overwritten by force."""
    _require_content(context)
    name, sha = f"refs/{context.parameters['ref']}", str(context.json.get("sha", ""))
    if not context.repository.store.ref(name):
        raise Refused(422, "Reference does not exist")
    _move(context, RefUpdate(name, None, sha, force=bool(context.json.get("force"))))
    return Response(200, context.shaped(GitShapes).ref(name, sha))


def delete_ref(context: Context) -> Response:
    """DELETE /git/refs/{ref}."""
    _require_content(context)
    name = f"refs/{context.parameters['ref']}"
    if not context.repository.store.ref(name):
        raise Refused(422, "Reference does not exist")
    _move(context, RefUpdate(name, None, ""))
    return Response(204)


def _move(context: Context, update: RefUpdate) -> None:
    context.repository.refuse_update(update, context.token)
    try:
        context.repository.push([update])
    except Moved:
        raise Refused(422, "Reference update failed") from None


def read_ruleset(context: Context) -> Response:
    """GET /rulesets/{ruleset_id}: also whether it binds who asks."""
    for rule in context.repository.settings.rules:
        if not rule.is_classic and number_of(rule.type + rule.branches) == context.number("ruleset_id"):
            token = context.request.token
            is_free = token is not None and token.login in rule.bypass
            name = context.repository.full_name
            about = {"id": context.number("ruleset_id"), "name": rule.type.lower(), "target": "branch"}
            about |= {"source_type": "Repository", "source": name, "enforcement": "active"}
            return Response(200, {**about, "current_user_can_bypass": "always" if is_free else "never"})
    raise Refused(404, "Not Found")


def create_status(context: Context) -> Response:
    """POST /statuses/{sha}."""
    body, sha = context.json, context.parameters["sha"]
    if context.repository.store.kind(sha) != "commit":
        raise Refused(422, f"No commit found for SHA: {sha}")
    if body.get("state") not in ("error", "failure", "pending", "success"):
        raise invalid("Status", "state", "invalid")
    description = body.get("description")
    if description is not None and len(description) > _MAX_DESCRIPTION:
        raise invalid("Status", "description", "custom", "description is too long (maximum is 140 characters)")
    status = Status(
        context.hub.next_id(), sha, body.get("context") or "default", body["state"], description,
        body.get("target_url"), context.token.login, context.hub.clock.text,
    )  # fmt: skip
    context.repository.statuses.append(status)
    return Response(201, context.shaped(GitShapes).status(status))


_GIT = "/repos/{owner}/{repo}/git"
ROUTES = (
    Route("POST", f"{_GIT}/blobs", "contents", create_blob),
    Route("GET", f"{_GIT}/blobs/{{file_sha}}", "contents", read_blob),
    Route("POST", f"{_GIT}/trees", "contents", create_tree),
    Route("GET", f"{_GIT}/trees/{{tree_sha}}", "contents", read_tree),
    Route("POST", f"{_GIT}/commits", "contents", create_commit),
    Route("GET", f"{_GIT}/commits/{{commit_sha}}", "contents", read_commit),
    Route("POST", f"{_GIT}/refs", "contents", create_ref),
    Route("PATCH", f"{_GIT}/refs/{{ref}}", "contents", update_ref),
    Route("DELETE", f"{_GIT}/refs/{{ref}}", "contents", delete_ref),
    Route("GET", f"{_GIT}/ref/{{ref}}", "contents", read_ref),
    Route("GET", f"{_GIT}/matching-refs/{{ref}}", "contents", matching_refs),
    Route("GET", "/repos/{owner}/{repo}/commits/{ref}", "contents", read_whole_commit),
    Route("GET", "/repos/{owner}/{repo}/compare/{basehead}", "contents", compare),
    Route("GET", "/repos/{owner}/{repo}/rulesets/{ruleset_id}", "metadata", read_ruleset),
    Route("GET", "/repos/{owner}/{repo}/contents/{path}", "contents", read_content),
    Route("POST", "/repos/{owner}/{repo}/statuses/{sha}", "statuses", create_status),
)
