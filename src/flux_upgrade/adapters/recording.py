"""Ports that change nothing: those of a dry run, which read and record; those without content or network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, NoReturn

from flux_upgrade.model import forge
from flux_upgrade.model.errors import FluxUpgradeError, ReleaseNotFound
from flux_upgrade.model.files import Worktree
from flux_upgrade.model.forge import Done
from flux_upgrade.model.hosting import DeployKey, HostedRepository, Hosting, NewRepository
from flux_upgrade.model.oci.manifest import Descriptor, StoredManifest
from flux_upgrade.model.ports import ArtifactRegistry, Forge
from flux_upgrade.model.versions import Release


class RecordingWorktree:
    """The port Worktree of a dry run: remembers what would be written."""

    def __init__(self, worktree: Worktree | None = None) -> None:
        """``worktree``: the one that would be written, should there be one."""
        self._worktree = worktree
        self.written: list[tuple[str, bytes]] = []

    def require_room(self, paths: Iterable[str]) -> None:
        if self._worktree is not None:
            self._worktree.require_room(paths)

    def write(self, path: str, content: bytes, old: bytes | None = None) -> None:
        del old
        self.written.append((path, content))

    def write_all(self, files: Mapping[str, bytes], before: Mapping[str, bytes]) -> None:
        del before
        self.written.extend(files.items())

    def make(self, path: str, content: bytes) -> None:
        self.written.append((path, content))

    def remove(self, path: str, content: bytes) -> None:
        self.written.remove((path, content))


class ForgeOver:
    """The base of wrappers: all but ``apply`` is passed on."""

    def __init__(self, real: Forge) -> None:
        self._forge = real

    @property
    def calls(self) -> int:
        return self._forge.calls

    @property
    def exhausted(self) -> str:
        return self._forge.exhausted

    def close(self) -> None:
        self._forge.close()

    def fetch(self, question: forge.Question) -> forge.Repository:
        return self._forge.fetch(question)


class RecordingForge(ForgeOver):
    """The port Forge over another one that is only looked at."""

    def __init__(self, real: Forge) -> None:
        super().__init__(real)
        self._steps: list[forge.Step] = []

    @property
    def steps(self) -> tuple[forge.Step, ...]:
        return tuple(self._steps)

    def apply(self, step: forge.Step) -> Done:
        """Done, as if: with the number and address of what is there already."""
        self._steps.append(step)
        match step:
            case forge.UpdatePull():
                return Done(step.pull.number, step.pull.url, step.before)
            case forge.ClosePull() | forge.CommentPull() | forge.RecordAnswers():
                return Done(step.pull.number, step.pull.url)
            case forge.UpdateIssue():
                return Done(step.issue.number, step.issue.url)
            case forge.RejectPull():
                return Done(warnings=(f"closed {step.pull.url}, which {step.pull.author} opened",))
            case forge.OpenPull() | forge.OpenIssue() | forge.RevertPull() | forge.DeleteBranch():
                return Done()


class RecordingHosting:
    """The port Hosting over another one.

    ``web`` is the server's address for a browser, that of a repository which would be created begins with it.
    """

    def __init__(self, hosting: Hosting, web: str) -> None:
        self._hosting = hosting
        self._web = web.rstrip("/")
        self._created: HostedRepository | None = None
        self._added: list[DeployKey] = []
        self._removed: set[int] = set()
        self._done: list[str] = []

    @property
    def done(self) -> tuple[str, ...]:
        """What would have been done, in order: ``create acme/fleet (private)``. No secret's text."""
        return tuple(self._done)

    def repository(self) -> HostedRepository | None:
        return self._created or self._hosting.repository()

    def create(self, wanted: NewRepository) -> HostedRepository:
        """As if it had been created, empty; one that is there is given as it is."""
        there = self.repository()
        if there is not None:
            return there
        self._done.append(f"create {wanted.name} ({wanted.visibility})")
        url = f"{self._web}/{wanted.name}"
        self._created = HostedRepository(wanted.name, url, wanted.default_branch, wanted.visibility, is_empty=True)
        return self._created

    def teams(self) -> Mapping[str, str]:
        return {} if self._created else self._hosting.teams()

    def grant(self, team: str, permission: str) -> None:
        self._done.append(f"give the team {team} the permission {permission}")

    def deploy_keys(self) -> tuple[DeployKey, ...]:
        there = () if self._created else self._hosting.deploy_keys()
        return (*(key for key in there if key.id not in self._removed), *self._added)

    def add_deploy_key(self, key: DeployKey) -> DeployKey:
        self._done.append(f"add the deploy key {key.title}")
        self._added.append(key)
        return key

    def remove_deploy_key(self, key: DeployKey) -> None:
        self._done.append(f"remove the deploy key {key.title}")
        self._removed.add(key.id)
        self._added = [each for each in self._added if each.public != key.public]

    def host_keys(self) -> tuple[str, ...]:
        return self._hosting.host_keys()

    def require_secret(self, name: str, environment: str = "") -> None:
        if not self._created:
            self._hosting.require_secret(name, environment)

    def has_secret(self, name: str, environment: str = "") -> bool:
        would_be = _putting(name, environment) in self._done
        return would_be or (not self._created and self._hosting.has_secret(name, environment))

    def put_secret(self, name: str, text: str, environment: str = "") -> None:
        del text
        self._done.append(_putting(name, environment))

    def may_write_workflows(self) -> bool | None:
        return self._hosting.may_write_workflows()


def _putting(name: str, environment: str) -> str:
    return f"put the secret {name}" + (f" into the environment {environment}" if environment else "")


class RecordingRegistry:
    """The port ArtifactRegistry of a dry run, over another one that is only read."""

    def __init__(self, registry: ArtifactRegistry) -> None:
        self._registry = registry
        self._tags: dict[str, str] = {}

    def manifest(self, reference: str) -> StoredManifest | None:
        return self._registry.manifest(reference)

    def digest(self, reference: str) -> str | None:
        """Of a tag that was put, what it would stand for."""
        return self._tags.get(reference) or self._registry.digest(reference)

    def tags(self) -> tuple[str, ...]:
        return self._registry.tags()

    def blob(self, descriptor: Descriptor) -> BinaryIO:
        return self._registry.blob(descriptor)

    def is_signed(self, digest: str, tags: Sequence[str]) -> bool:
        return self._registry.is_signed(digest, tags)

    def put_blob(self, blob: BinaryIO, descriptor: Descriptor) -> None:
        """Nothing: whoever refers to it has it."""

    def put_manifest(self, manifest: StoredManifest, tag: str) -> None:
        self._tags[tag] = manifest.digest


class NoReleases:
    """The port Releases, without any."""

    def list(self) -> tuple[Release, ...]:
        return ()

    def manifests(self, tag: str) -> NoReturn:
        raise ReleaseNotFound(f"{tag} is not looked up", hint="run `flux-upgrade inspect`")

    def published(self, tag: str) -> None:
        """None: nothing is looked up."""

    def generator_hashes(self, tag: str, paths: tuple[str, ...]) -> None:
        """None: nothing is looked up."""

    def commit(self, tag: str) -> str:
        del tag
        return ""


class NoArtifacts:
    """The port Artifacts, without any."""

    def digest(self, repository: str, reference: str) -> None:
        """None: nothing is looked up."""

    def digests(self, references: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], str | FluxUpgradeError | None]:
        return dict.fromkeys(references)

    def annotations(self, repository: str, reference: str) -> None:
        """None: nothing is looked up."""

    def tags(self, repository: str) -> tuple[str, ...]:
        del repository
        return ()

    def listing(self, repository: str, reference: str) -> None:
        """None: nothing is looked up."""


class NoCharts:
    """The port Charts, without any."""

    def versions(self, repository: str, chart: str) -> Mapping[str, str]:
        del repository, chart
        return {}
