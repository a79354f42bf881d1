"""Resources that read from a registry, and how they log in.

Which hosts are whose: fluxcd/pkg, ``auth/<provider>/provider.go``, ``registryPattern``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flux_upgrade.breaks.row import Found
from flux_upgrade.kinds.formats.yaml_places import is_variable
from flux_upgrade.resources.flux_file import FluxObject

_SCHEME = "oci://"
_PUBLIC = re.compile(r"(?:public\.ecr|ecr-public)\.aws(?:\.com)?")
_HOSTS = {
    "aws": re.compile(
        r"[0-9]+\.dkr[.-]ecr(?:-fips)?\.[^/.]+\.(?:amazonaws\.com(?:\.cn)?|on\.aws|on\.amazonwebservices\.com\.cn"
        rf"|sc2s\.sgov\.gov|c2s\.ic\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov)|{_PUBLIC.pattern}"
    ),
    "azure": re.compile(r".+\.azurecr\.(?:io|cn|de|us)"),
    "gcp": re.compile(r"(?:.+\.)?gcr\.io|.+-docker\.pkg\.dev"),
}
_PRIVATE = ("aws", "azure")
"""Whose registries are rarely read without logging in; of Google's, many are public."""


def foreign_provider(resource: FluxObject) -> Iterator[Found]:
    """Those that log in to one cloud, and read from elsewhere."""
    value, host = resource.at("spec", "provider"), _host(resource)
    if value is not None and value.text in _HOSTS and host and not _HOSTS[value.text].fullmatch(host):
        yield Found(value.line)


def service_account(resource: FluxObject) -> Iterator[Found]:
    """Those that name an account beside a cloud."""
    value = resource.at("spec", "serviceAccountName")
    if value is not None and value.text and resource.text_at("spec", "provider") in _HOSTS:
        yield Found(value.line)


def without_provider(repository: FluxObject) -> Iterator[Found]:
    """Those of a registry of a cloud that nobody reads without logging in."""
    host = _host(repository)
    provider = next((name for name in _PRIVATE if _HOSTS[name].fullmatch(host)), "")
    if provider and not _PUBLIC.fullmatch(host):
        yield Found(repository.line_at("spec", "image"), f"provider: {provider}")


def _host(resource: FluxObject) -> str:
    """Of the registry; empty where it cannot be told, or where there is none."""
    if resource.kind == "ImageRepository":
        address = resource.text_at("spec", "image")
    else:
        url = resource.text_at("spec", "url")
        address = url.removeprefix(_SCHEME) if url.startswith(_SCHEME) else ""
    host = address.partition("/")[0].partition(":")[0]
    return "" if is_variable(address) or "." not in host else host
