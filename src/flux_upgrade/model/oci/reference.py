"""Where an artifact is: ``oci://ghcr.io/org/flux-manifests:production``, as Flux writes it."""

from __future__ import annotations

import re

from flux_upgrade.artifact import SCHEME
from flux_upgrade.errors import UsageError
from flux_upgrade.values import NamedTuple

# github.com/distribution/reference, regexp.go.
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?")
"""Of a registry, with its port."""
PATH = re.compile(rf"{_PART}(?:/{_PART})*")
"""Of a repository in it."""
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_ADDRESS = re.compile(
    rf"(?P<host>{HOST.pattern})/(?P<path>{PATH.pattern})"
    rf"(?::(?P<tag>{TAG.pattern}))?(?:@(?P<digest>sha256:[0-9a-f]{{64}}))?"
)
_EXAMPLE = "write it like oci://ghcr.io/org/flux-manifests:production"


class Address(NamedTuple):
    """A repository of a registry, and what in it is meant."""

    host: str
    """With its port, if it is named: ``ghcr.io``, ``127.0.0.1:5000``."""
    path: str
    """``org/flux-manifests``."""
    tag: str = ""
    digest: str = ""
    """``sha256:…``."""

    @property
    def repository(self) -> str:
        """``ghcr.io/org/flux-manifests``."""
        return f"{self.host}/{self.path}"

    def __str__(self) -> str:
        """As it was written."""
        tag, digest = (f":{self.tag}" if self.tag else ""), (f"@{self.digest}" if self.digest else "")
        return f"{SCHEME}{self.repository}{tag}{digest}"


def parse_address(text: str) -> Address:
    """An address with its scheme. Raises UsageError for what is none."""
    found = _ADDRESS.fullmatch(text.removeprefix(SCHEME))
    if not text.startswith(SCHEME) or found is None:
        # It is not shown: what makes it unusable may be a password in it.
        raise UsageError("the address of the artifact cannot be used", hint=_EXAMPLE)
    return Address(found["host"], found["path"], found["tag"] or "", found["digest"] or "")
