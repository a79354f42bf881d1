"""Real registries that want a password, or a token for one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adapters.registries import PASSWORD, USERNAME, htpasswd, own_certificate, running_registry
from adapters.token_service import TokenService, run_token_service
from promotion.program import Site, skopeo


@dataclass(frozen=True)
class Protected:
    """A registry that lets USERNAME in, with PASSWORD."""

    url: str
    authority: Path | None = None
    """Who vouches for its certificate; None: it has no certificate."""

    def filled(self, site: Site) -> Site:
        """The same artifact as in another registry, copied by skopeo."""
        flags, trusting = ("--plain-http",), "--dest-tls-verify=false"
        if self.authority is not None:
            flags, trusting = (f"--ca-file={self.authority}",), f"--dest-cert-dir={self.authority.parent}"
        there = Site(self.url, site.source, site.path, flags)
        source, target = (each.address.replace("oci://", "docker://") for each in (site, there))
        who = f"{USERNAME}:{PASSWORD}"
        skopeo("copy", "--src-tls-verify=false", trusting, "--dest-creds", who, source, target)
        return there


@contextmanager
def protected_registry(folder: Path) -> Iterator[Protected]:
    """One that wants the password, over TLS from an authority of its own."""
    tls = own_certificate(folder / "tls")
    (folder / "authorities").mkdir()
    authority = Path(shutil.copy(tls[0], folder / "authorities" / "ca.crt"))
    with running_registry(folder, htpasswd(folder), in_memory=True, tls=tls) as url:
        yield Protected(url, authority)


@contextmanager
def registry_with_tokens(folder: Path) -> Iterator[tuple[Protected, TokenService]]:
    """One that wants tokens, and the service that gives them to USERNAME."""
    with run_token_service(folder) as service, running_registry(folder, service.auth, in_memory=True) as url:
        yield Protected(url), service
