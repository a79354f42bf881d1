"""A host that is only read: what would be created, granted and put is remembered, and nothing is written."""

from __future__ import annotations

from collections.abc import Mapping

from flux_upgrade.model.hosting import DeployKey, Hosted, NewRepository
from flux_upgrade.model.ports import Hosting


class RecordingHosting:
    """The port Hosting over another one.

    ``web`` is the server's address for a browser, that of a repository which would be created begins with it.
    """

    def __init__(self, hosting: Hosting, web: str) -> None:
        self._hosting = hosting
        self._web = web.rstrip("/")
        self._created: Hosted | None = None
        self._added: list[DeployKey] = []
        self._removed: set[int] = set()
        self._done: list[str] = []

    @property
    def done(self) -> tuple[str, ...]:
        """What would have been done, in order: ``create acme/fleet (private)``. No secret's text."""
        return tuple(self._done)

    def repository(self) -> Hosted | None:
        """See the port: also the one that would be there."""
        return self._created or self._hosting.repository()

    def create(self, wanted: NewRepository) -> Hosted:
        """As if it had been created, empty; one that is there is given as it is."""
        there = self.repository()
        if there is not None:
            return there
        self._done.append(f"create {wanted.name} ({wanted.visibility})")
        url = f"{self._web}/{wanted.name}"
        self._created = Hosted(wanted.name, url, wanted.default_branch, wanted.visibility, is_empty=True)
        return self._created

    def teams(self) -> Mapping[str, str]:
        """See the port; none where it would have been created."""
        return {} if self._created else self._hosting.teams()

    def grant(self, team: str, permission: str) -> None:
        """Nothing, but it is remembered."""
        self._done.append(f"give the team {team} the permission {permission}")

    def deploy_keys(self) -> tuple[DeployKey, ...]:
        """See the port: as they would be."""
        there = () if self._created else self._hosting.deploy_keys()
        return (*(key for key in there if key.id not in self._removed), *self._added)

    def add_deploy_key(self, key: DeployKey) -> DeployKey:
        """As if it had been registered."""
        self._done.append(f"add the deploy key {key.title}")
        self._added.append(key)
        return key

    def remove_deploy_key(self, key: DeployKey) -> None:
        """As if it were gone."""
        self._done.append(f"remove the deploy key {key.title}")
        self._removed.add(key.id)
        self._added = [each for each in self._added if each.public != key.public]

    def host_keys(self) -> tuple[str, ...]:
        """See the port."""
        return self._hosting.host_keys()

    def require_secret(self, name: str, environment: str = "") -> None:
        """See the port."""
        if not self._created:
            self._hosting.require_secret(name, environment)

    def has_secret(self, name: str, environment: str = "") -> bool:
        """See the port: also one that would be there."""
        would_be = _putting(name, environment) in self._done
        return would_be or (not self._created and self._hosting.has_secret(name, environment))

    def put_secret(self, name: str, text: str, environment: str = "") -> None:
        """Nothing, but its name is remembered."""
        del text
        self._done.append(_putting(name, environment))

    def may_write_workflows(self) -> bool | None:
        """See the port."""
        return self._hosting.may_write_workflows()


def _putting(name: str, environment: str) -> str:
    return f"put the secret {name}" + (f" into the environment {environment}" if environment else "")
