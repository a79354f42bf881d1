"""A tag that the runs of the policy `minor` move, with releases whose stored API versions are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flows import KUSTOMIZATION
from flux_upgrade.artifacts.promote import ArtifactOutcome
from flux_upgrade.impact.stored_versions.refused import release_of
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.policy.policy import MaxBump
from memory import WrittenReleases, regenerator
from memory_registry import FILE, MemoryRegistry
from promotion.promoting import ADDRESS, run

TAG = ADDRESS.tag
ALL = ("v2.6.4", "v2.7.1", "v2.8.7", "v2.8.8", "v2.9.3", "v2.9.4")
Versions = Mapping[str, str]
"""Minor → the API versions of each kind, of which the first is stored."""
# As OCIRepository had them.
AS_FLUX: Versions = {"2.6": "v1beta2 v1", "2.7": "v1 v1beta2", "2.8": "v1 v1beta2", "2.9": "v1"}
NEVER_STORED: Versions = {"2.6": "v1 v1beta1 v1beta2", "2.7": "v1 v1beta2", "2.8": "v1 v1beta2", "2.9": "v1"}
LOSING_TWICE: Versions = {"2.6": "v1beta2 v1beta1", "2.7": "v1beta2 v1", "2.8": "v1 v1beta2", "2.9": "v1"}


def releases(versions: Versions) -> WrittenReleases:
    def served(kind: str, tag: str) -> list[str]:
        del kind
        return versions["2." + tag.split(".")[1]].split()

    return WrittenReleases(ALL, served)


class Channel:
    """A tag that began with an artifact of the user's, and the runs that move it by the policy `minor`."""

    def __init__(self, version: str, versions: Versions = AS_FLUX) -> None:
        self.registry, self.releases = MemoryRegistry(), releases(versions)
        self.push(version)

    def push(self, version: str) -> None:
        content = regenerator(self.releases).regenerate(InstallOptions(version)).text.encode()
        self.registry.add(TAG, {"flux-system/kustomization.yaml": KUSTOMIZATION, FILE: content})

    def run(
        self, *approve: str, tags: Sequence[str] = ALL, policy: MaxBump = MaxBump.MINOR, to: str = ""
    ) -> ArtifactOutcome:
        return run(self.registry, approve=approve, policy=policy, tags=tags, to=to, releases=self.releases, looks=True)

    @property
    def version(self) -> str:
        return release_of(self.registry.files(TAG)[FILE])
