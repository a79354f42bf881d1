"""Where Secrets are handed over, as the user chose: a file, GitHub Actions, a cluster."""

from __future__ import annotations

from typing import Protocol

from flux_upgrade.bootstrap import options
from flux_upgrade.model import kubernetes_objects
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import Hosting, Secret


class SecretPlace(Protocol):
    """A place for Secrets. ``adapters.local.secret_file`` is one."""

    @property
    def where(self) -> str:
        """What a person calls it."""
        ...

    @property
    def is_readable(self) -> bool:
        """Whether it gives back what was put there."""
        ...

    @property
    def is_cluster(self) -> bool:
        """Whether Flux finds the Secrets there by itself."""
        ...

    def present(self, name: str, namespace: str) -> Secret | None:
        """A Secret that was put there before; None: there is none, or it cannot be read.

        Raises UsageError where the place is taken by something else.
        """
        ...

    def has(self, name: str, namespace: str) -> bool:
        """Whether a Secret was put there before; of a place that cannot be read, whether anything was.

        Raises as ``present``.
        """
        ...

    def put(self, wanted: tuple[Secret, ...]) -> None:
        """Put Secrets there, all or none; those of other names stay."""
        ...


class ActionsSecret:
    """One sealed secret of GitHub Actions, whose text is the manifest of all Secrets.

    Raises UsageError for a name that GitHub does not take.
    """

    is_readable = False
    is_cluster = False

    def __init__(self, hosting: Hosting, name: str, environment: str = "") -> None:
        if problem := options.actions_secret_problem(name):
            raise UsageError(
                f"--actions-secret {problem}", hint="take a name like FLUX_SYSTEM, and mind the letters"
            )
        self._hosting, self._environment = hosting, environment
        # A workflow knows it by this name.
        self.where = name

    def present(self, name: str, namespace: str) -> Secret | None:
        """Nobody reads it but a workflow."""
        del name, namespace
        return None

    def has(self, name: str, namespace: str) -> bool:
        """Whether there is a secret of that name. Raises what ``Hosting`` raises."""
        del name, namespace
        return self._hosting.has_secret(self.where, self._environment)

    def put(self, wanted: tuple[Secret, ...]) -> None:
        """Raises what ``Hosting`` raises."""
        self._hosting.put_secret(self.where, kubernetes_objects.manifest(wanted), self._environment)


class ReadOnlyPlace:
    """A place for dry runs: nothing is put there."""

    def __init__(self, place: SecretPlace) -> None:
        self.where, self.is_readable, self.is_cluster = place.where, place.is_readable, place.is_cluster
        self.present, self.has = place.present, place.has

    def put(self, handed_over: tuple[Secret, ...]) -> None:
        """Nothing."""
