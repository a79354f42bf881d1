"""Whether a registry holds a signature of a manifest. Nothing is verified: that is the cluster's task.

Sources: sigstore/cosign, specs/SIGNATURE_SPEC.md (the tag ``sha256-….sig``) and its bundles, whose
attestations of other things than a signature say so in an annotation; notaryproject.dev, "OCI Signature
Manifest"; OCI Distribution Specification 1.1, "Listing Referrers" and "Referrers Tag Schema".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from flux_upgrade.edges.http import Ask
from flux_upgrade.edges.oci import INDEX_TYPE, Repository
from flux_upgrade.edges.paging import next_page
from flux_upgrade.edges.registry_login import REFUSALS

_BUNDLE = "application/vnd.dev.sigstore.bundle"
_SIGNATURES = (
    "application/vnd.dev.cosign.artifact.sig.v1+json",
    "application/vnd.cncf.notary.signature",
)
_PREDICATE = "dev.sigstore.bundle.predicateType"
_IS_SIGNATURE = "https://sigstore.dev/cosign/sign/v1"
_MAX_PAGES = 20


def is_signed(repository: Repository, digest: str, tags: Sequence[str]) -> bool:
    """Whether there is a signature of the manifest ``digest``; ``tags``: all tags of the repository.

    Raises SourceUnavailable, UntrustedArchive.
    """
    name = digest.replace(":", "-")
    if f"{name}.sig" in tags or any(map(_is_signature, _referrers(repository, digest))):
        return True
    # Where a registry has no list of referrers, those who sign keep one under a tag.
    kept = repository.manifest(name) if name in tags else None
    return kept is not None and any(map(_is_signature, _listed(kept.content)))


def _referrers(repository: Repository, digest: str) -> Iterator[dict[str, object]]:
    """Descriptors of what refers to a manifest; none where the registry does not list them."""
    url: str | None = f"{repository.url}/referrers/{digest}"
    ask = Ask({"Accept": INDEX_TYPE}, accept_status=REFUSALS)
    for _ in range(_MAX_PAGES):
        response = None if url is None else repository.ask(url, ask)
        if response is None or not response.is_found:
            return
        try:
            answer = json.loads(response.body)
        except (ValueError, RecursionError):
            return  # the page of some other server
        yield from _listed(answer)
        url = next_page(response.headers.get("link", ""), response.url)


def _listed(index: object) -> list[dict[str, object]]:
    manifests = index.get("manifests") if isinstance(index, dict) else None
    return [each for each in (manifests if isinstance(manifests, list) else ()) if isinstance(each, dict)]


def _is_signature(descriptor: dict[str, object]) -> bool:
    artifact_type = str(descriptor.get("artifactType"))
    annotations = descriptor.get("annotations")
    stated = annotations.get(_PREDICATE) if isinstance(annotations, dict) else None
    is_bundle = artifact_type.startswith(_BUNDLE) and stated in (None, _IS_SIGNATURE)
    return is_bundle or artifact_type in _SIGNATURES
