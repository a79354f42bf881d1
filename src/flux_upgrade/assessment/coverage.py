"""Count the Kubernetes manifests of a repository, almost without parsing them."""

from __future__ import annotations

import codecs
import posixpath
import re

from flux_upgrade.impact.api_uses.scan import is_yaml
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.snapshot.kustomize_files import NAMES
from flux_upgrade.snapshot.yaml_places import readable

_KEY = b"apiVersion"
_PLAIN = re.compile(rb"^apiVersion[ \t]*:", re.MULTILINE)
_OTHERWISE = re.compile(rb"""\A\s*[{\[]|^[{"']|^---[ \t]+[^#\s]|^kind:[ \t]*["']?\w*List\b""", re.MULTILINE)
"""Flow style, quoted keys, and Lists, whose items are manifests: the lines do not show how many there are."""


class Coverage(NamedTuple):
    manifests: int = 0  # Kubernetes manifests
    files: int = 0  # Files with at least one of them
    of_flux: int = 0  # Files that also name an API group of Flux

    def plus(self, manifests: int, *, is_of_flux: bool) -> Coverage:
        """Add a file with so many manifests."""
        if not manifests:
            return self
        return Coverage(self.manifests + manifests, self.files + 1, self.of_flux + is_of_flux)


def manifests_in(path: str, content: bytes) -> int:
    """Count the Kubernetes manifests of a file. A template counts for what it shows; a kustomization needs no kind."""
    if not is_yaml(path):
        return 0
    content = content.removeprefix(codecs.BOM_UTF8)
    count = len(_PLAIN.findall(content)) if _KEY in content else 0
    if _KEY in content and (not count or _OTHERWISE.search(content)):
        # Nothing of a template can be read, and documents may be indented.
        count = sum(resource.has("apiVersion") for resource in readable(content)) or count
    return count or int(posixpath.basename(path) in NAMES and bool(content.strip()))
