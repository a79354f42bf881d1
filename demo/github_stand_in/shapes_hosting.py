"""Deploy keys, the keys that seal secrets, accounts and ``/meta`` as the REST API shows them."""

from __future__ import annotations

from github_stand_in.hosting import DeployKey, Vault
from github_stand_in.shapes import Json, Shapes, user

_COUNTS = ("public_repos", "public_gists", "followers", "following")
_UNSET = ("name", "company", "blog", "location", "email", "hireable", "bio")


class HostingShapes(Shapes):
    """The shapes of what one repository has."""

    def key(self, key: DeployKey) -> Json:
        """A deploy key."""
        return {
            "id": key.id,
            "key": key.key,
            "url": f"{self.url}/keys/{key.id}",
            "title": key.title,
            "verified": True,
            "created_at": key.created_at,
            "read_only": key.read_only,
            "added_by": key.added_by,
            "last_used": None,
            "enabled": True,
        }

    def team(self, number: int, slug: str, permission: str) -> Json:
        """A team, with what it may do here."""
        owner = self.repository.owner
        url = f"{self.api}/organizations/1/team/{number}"
        return {
            "id": number,
            "node_id": f"T_{number}",
            "name": slug.capitalize(),
            "slug": slug,
            "description": None,
            "privacy": "closed",
            "notification_setting": "notifications_enabled",
            "permission": permission,
            "type": "organization",
            "url": url,
            "html_url": f"{self.web}/orgs/{owner}/teams/{slug}",
            "members_url": f"{url}/members{{/member}}",
            "repositories_url": f"{url}/repos",
            "parent": None,
        }


def public_key(vault: Vault) -> Json:
    """What secrets are sealed with."""
    return {"key_id": vault.key_id, "key": vault.public_key}


def sealed_secret(name: str, since: str) -> Json:
    """What is told of a secret of Actions."""
    return {"name": name, "created_at": since, "updated_at": since}


def account(login: str, api: str, web: str, since: str, *, is_organization: bool = False) -> Json:
    """A person, or an organization, as anybody sees them."""
    return {
        **user(login, api, web, is_organization=is_organization),
        **dict.fromkeys(_UNSET),
        **dict.fromkeys(_COUNTS, 0),
        "user_view_type": "public",
        "created_at": since,
        "updated_at": since,
    }
