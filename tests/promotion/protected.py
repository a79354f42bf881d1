"""Real registries that want a password, or a token for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adapters.registries import PASSWORD, USERNAME, htpasswd, own_certificate, running_registry
from adapters.token_service import TokenService, run_token_service
from promotion.program import Site, skopeo


@contextmanager
def protected(tmp_path: Path) -> Iterator[str]:
    """A registry that wants USERNAME and PASSWORD, over TLS from an authority of its own."""
    tls = own_certificate(tmp_path / "tls")
    with running_registry(tmp_path, htpasswd(tmp_path), tls=tls) as url:
        yield url


@contextmanager
def with_tokens(tmp_path: Path) -> Iterator[tuple[str, TokenService]]:
    """A registry that wants tokens, and the service that gives them to USERNAME."""
    with run_token_service(tmp_path) as service, running_registry(tmp_path, service.auth) as url:
        yield url, service


def filled(url: str, site: Site, tmp_path: Path) -> Site:
    """The same artifact in a registry that wants a password, put there by skopeo."""
    authorities = tmp_path / "authorities"
    authorities.mkdir()
    flags, trusting = ("--plain-http",), "--dest-tls-verify=false"
    if url.startswith("https://"):
        authority = authorities / "ca.crt"
        authority.write_bytes((tmp_path / "tls" / "cert.pem").read_bytes())
        flags, trusting = (f"--ca-file={authority}",), f"--dest-cert-dir={authorities}"
    there = Site(url, site.source, site.path, flags)
    source, target = (each.address.replace("oci://", "docker://") for each in (site, there))
    who = f"{USERNAME}:{PASSWORD}"
    skopeo("copy", "--src-tls-verify=false", trusting, "--dest-creds", who, source, target)
    return there
