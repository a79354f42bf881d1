"""REST: what workflows uploaded. https://docs.github.com/rest/actions/artifacts."""

from __future__ import annotations

from github_stand_in.exchange import Response
from github_stand_in.model import Artifact
from github_stand_in.refusals import Refused
from github_stand_in.rest import Context, Route
from github_stand_in.shapes import Json, Shapes

_EXPIRED = 410


def list_artifacts(context: Context) -> Response:
    """GET /actions/artifacts, newest first."""
    name, size = context.request.query.get("name"), int(context.request.query.get("per_page", "30"))
    found = [each for each in context.repository.artifacts if name is None or each.name == name]
    found.sort(key=lambda each: each.created_at, reverse=True)
    shapes = context.shaped(_ArtifactShapes)
    return Response(200, {"total_count": len(found), "artifacts": [shapes.artifact(each) for each in found[:size]]})


def download(context: Context) -> Response:
    """GET /actions/artifacts/{artifact_id}/{archive_format}: the storage has it, at an address that is its key."""
    number = context.number("artifact_id")
    for each in context.repository.artifacts:
        if each.id == number and context.parameters["archive_format"] == "zip":
            if each.is_expired:
                raise Refused(_EXPIRED, "Artifact has expired")
            return Response(302, b"", {"Location": each.storage_url})
    raise Refused(404, "Not Found")


class _ArtifactShapes(Shapes):
    def artifact(self, artifact: Artifact) -> Json:
        url = f"{self.url}/actions/artifacts/{artifact.id}"
        number = self.repository.id
        return {
            "id": artifact.id,
            "node_id": f"MDg6QXJ0aWZhY3Q{artifact.id}",
            "name": artifact.name,
            "size_in_bytes": artifact.size,
            "url": url,
            "archive_download_url": f"{url}/zip",
            "expired": artifact.is_expired,
            "created_at": artifact.created_at,
            "expires_at": artifact.created_at,
            "updated_at": artifact.created_at,
            "workflow_run": {
                "id": artifact.id,
                "repository_id": number,
                "head_repository_id": number + 1 if artifact.is_of_fork else number,
                "head_branch": self.repository.default_branch,
                "head_sha": "0" * 40,
            },
        }


_ARTIFACTS = "/repos/{owner}/{repo}/actions/artifacts"
ROUTES = (
    Route("GET", _ARTIFACTS, "actions", list_artifacts),
    Route("GET", f"{_ARTIFACTS}/{{artifact_id}}/{{archive_format}}", "actions", download),
)
