"""REST: deploy keys, Actions secrets and teams of a repository (https://docs.github.com/rest)."""

from __future__ import annotations

import re

from github_stand_in import access
from github_stand_in.exchange import Response
from github_stand_in.hosting import DeployKey, Vault
from github_stand_in.refusals import Refused, invalid
from github_stand_in.rest import Context, Route, paged
from github_stand_in.shapes_hosting import HostingShapes, public_key, sealed_secret

_KEY = re.compile(r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+=*( .*)?")
_SECRET = re.compile(r"(?!GITHUB_)[A-Z_][A-Z0-9_]*", re.IGNORECASE)
_LEVELS = ("pull", "triage", "push", "maintain", "admin")


def _refused_key(message: str, field: str = "key") -> Refused:
    error = {"resource": "PublicKey", "code": "custom", "field": field, "message": message}
    return Refused(422, "Validation Failed", [error])


def list_keys(context: Context) -> Response:
    """GET /keys."""
    _require_admin(context, "read")
    shapes = context.shaped(HostingShapes)
    return paged(context, [shapes.key(key) for key in context.repository.deploy_keys])


def create_key(context: Context) -> Response:
    """POST /keys: no two repositories have the same one, nor does one have it twice."""
    _require_admin(context, "write")
    body, repository = context.json, context.repository
    key = str(body.get("key", "")).strip()
    if not repository.settings.deploy_keys:
        raise _refused_key("Deploy keys are disabled for this repository")
    if not _KEY.fullmatch(key):
        raise _refused_key("key is invalid. You must supply a key in OpenSSH public key format")
    plain = " ".join(key.split()[:2])
    if any(plain == other.key for each in context.hub.repositories.values() for other in each.deploy_keys):
        raise _refused_key("key is already in use")
    made = DeployKey(
        context.hub.next_id(), str(body.get("title") or ""), plain, bool(body.get("read_only")),
        context.token.login, context.hub.clock.text,
    )  # fmt: skip
    repository.deploy_keys.append(made)
    return Response(201, context.shaped(HostingShapes).key(made))


def delete_key(context: Context) -> Response:
    """DELETE /keys/{key_id}."""
    _require_admin(context, "write")
    number, keys = context.number("key_id"), context.repository.deploy_keys
    found = [key for key in keys if key.id == number]
    if not found:
        raise Refused(404, "Not Found")
    keys.remove(found[0])
    return Response(204)


def list_teams(context: Context) -> Response:
    """GET /teams."""
    _require_admin(context, "read")
    shapes = context.shaped(HostingShapes)
    found = sorted(context.repository.team_permissions.items())
    return paged(context, [shapes.team(number, *each) for number, each in enumerate(found, 1)])


def grant(context: Context) -> Response:
    """PUT /orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}."""
    _require_admin(context, "write")
    if context.token.kind != "classic":
        context.need("members", "read")
    name, team = context.parameters["org"], context.parameters["team_slug"]
    organization = context.hub.organizations.get(name)
    if organization is None or team not in organization.teams:
        raise Refused(404, "Not Found")
    permission = str(context.json.get("permission", "push"))
    if context.repository.owner != name or permission not in _LEVELS:
        raise Refused(422, "Validation Failed")
    context.repository.team_permissions[team] = permission
    return Response(204)


def _require_admin(context: Context, level: str) -> None:
    repository = context.repository
    access.require_admin(context.request.token, repository.full_name, repository.settings, level)


def read_public_key(context: Context) -> Response:
    """GET /actions/secrets/public-key, and that of an environment."""
    return Response(200, public_key(_vault(context)))


def read_secret(context: Context) -> Response:
    """GET /actions/secrets/{secret_name}, and that of an environment: never what is in it."""
    name = context.parameters["secret_name"].upper()
    if name not in _vault(context).secrets:
        raise Refused(404, "Not Found")
    return Response(200, sealed_secret(name, context.hub.clock.text))


def put_secret(context: Context) -> Response:
    """PUT /actions/secrets/{secret_name}, and that of an environment."""
    name, body = context.parameters["secret_name"], context.json
    vault = _vault(context)
    if not _SECRET.fullmatch(name):
        raise invalid("Secret", "name", "invalid")
    is_new = vault.put(name, str(body.get("encrypted_value", "")), str(body.get("key_id", "")))
    return Response(201, {}) if is_new else Response(204)


def _vault(context: Context) -> Vault:
    if "environment_name" not in context.parameters:
        return context.repository.actions
    found = context.repository.environments.get(context.parameters["environment_name"])
    if found is None:
        raise Refused(404, "Not Found")
    return found


_REPOSITORY = "/repos/{owner}/{repo}"
_ENVIRONMENT = f"{_REPOSITORY}/environments/{{environment_name}}/secrets"
ROUTES = (
    Route("GET", f"{_REPOSITORY}/keys", "administration", list_keys),
    Route("POST", f"{_REPOSITORY}/keys", "administration", create_key),
    Route("DELETE", f"{_REPOSITORY}/keys/{{key_id}}", "administration", delete_key),
    Route("GET", f"{_REPOSITORY}/teams", "administration", list_teams),
    Route("GET", f"{_REPOSITORY}/actions/secrets/public-key", "secrets", read_public_key),
    Route("GET", f"{_REPOSITORY}/actions/secrets/{{secret_name}}", "secrets", read_secret),
    Route("PUT", f"{_REPOSITORY}/actions/secrets/{{secret_name}}", "secrets", put_secret),
    Route("GET", f"{_ENVIRONMENT}/public-key", "environments", read_public_key),
    Route("GET", f"{_ENVIRONMENT}/{{secret_name}}", "environments", read_secret),
    Route("PUT", f"{_ENVIRONMENT}/{{secret_name}}", "environments", put_secret),
    Route("PUT", "/orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}", "administration", grant),
)
