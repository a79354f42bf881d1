"""Which hosts may be asked because a repository names them: by name, and by the address that is connected to.

A user who can change the repository, or the DNS of a host in it, must not be able to reach what only this
machine can. A name is therefore resolved once, each of its addresses is judged, and what is connected to is one
that passed. Redirects, and services that give tokens, come here as requests of their own.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from requests.utils import select_proxy

from flux_upgrade.adapters.http import origins
from flux_upgrade.adapters.http.connections import Connection, TlsConnection, pool_classes, resolved
from flux_upgrade.adapters.http.session import TrustingAdapter
from flux_upgrade.model.errors import HostNotAllowed
from flux_upgrade.model.text import one_line
from flux_upgrade.model.values import NamedTuple

_Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Iterable[str]]
"""Host and port → its addresses, each once. Raises OSError."""

_METADATA = tuple(
    map(
        ip_network,
        (
            "169.254.0.0/16",  # link-local, and the metadata service of nearly every cloud
            "fe80::/10",  # link-local
            "fd00:ec2::/32",  # AWS: metadata, credentials of ECS and EKS
            "fd20:ce::254/128",  # Google Cloud: metadata
            "168.63.129.16/32",  # Azure: the host of a virtual machine, an address that looks public
        ),
    )
)
_METADATA_NAMES = (
    *("metadata", "metadata.google.internal", "metadata.goog"),
    *("instance-data", "instance-data.ec2.internal"),
)
_LOOPBACK_NAME = "localhost"
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: what DNS64 makes of a public address
_ENDS_IN_IPV4 = tuple(map(IPv6Network, ("::/96", "::ffff:0:0/96", str(_NAT64), "64:ff9b:1::/48")))
_ISATAP = (0x5EFE, 0x02005EFE)  # RFC 5214: the upper half of an interface identifier, before an IPv4 address
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            *("::/96", "::ffff:0:0/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),  # other ways to write IPv4
            *("fec0::/10", "3fff::/20", "5f00::/16", "100::/64"),  # site-local, documentation, SIDs, discarded
            *("192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4"),  # of protocols, relays of 6to4, reserved
        ),
    )
)
_LEGACY_IPV4 = re.compile(r"(?:0[xX])?[0-9A-Fa-f]+(?:\.(?:0[xX])?[0-9A-Fa-f]+){0,3}")
_MOST_ADDRESSES = 3  # That are tried one after the other
_HTTPS = "https"


def literal(host: str) -> _Address | None:
    """The address that a host is written as, also as ``2130706433`` or ``0x7f.1``; None for a name."""
    bare = host.strip("[]").partition("%")[0]
    try:
        return ip_address(bare)
    except ValueError:
        pass
    if _LEGACY_IPV4.fullmatch(bare):
        try:
            return IPv4Address(socket.inet_aton(bare))  # as resolvers read it
        except OSError:
            pass
    return None


def is_metadata(address: _Address) -> bool:
    """Whether it is link-local, or of a service that gives a machine its credentials, in any way to write it."""
    return any(each in network for each in (address, *_within(address)) for network in _METADATA)


def is_public(address: _Address) -> bool:
    """Whether it is an address on the internet, written as such.

    Python's ``is_global`` alone takes multicast, 6to4 and more for that, and which ones depends on its version.
    """
    if address in _NAT64:
        return all(map(is_public, _within(address)))
    is_other = any(address in network for network in _NOT_PUBLIC) or _is_isatap(address)
    return address.is_global and not address.is_multicast and not is_other


def _within(address: _Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address is another way to write."""
    if isinstance(address, IPv4Address):
        return ()
    if address.sixtofour is not None:
        return (address.sixtofour,)
    is_last = any(address in network for network in _ENDS_IN_IPV4) or _is_isatap(address)
    return address.teredo or ((IPv4Address(int(address) & 0xFFFFFFFF),) if is_last else ())


def _is_isatap(address: _Address) -> bool:
    return isinstance(address, IPv6Address) and (int(address) >> 32) & 0xFFFFFFFF in _ISATAP


class Egress(NamedTuple):
    """What is allowed besides public hosts over https."""

    patterns: Callable[[], Iterable[str]]
    """``HOST``, ``HOST:PORT`` or ``*.DOMAIN``; asked for when a host is not public."""
    has_credentials: Callable[[str], bool]  # Whether the user has some for a registry, ``HOST`` or ``HOST:PORT``
    hint: Callable[[str], str]  # How the host is allowed
    resolve: Resolve = resolved

    def allows(self, host: str, port: int) -> bool:
        name = _place(host.lower().rstrip("."))
        places = (name, f"{name}:{port}")
        if any(map(self.has_credentials, places if port == origins.PORTS[_HTTPS] else places[1:])):
            return True
        wanted = [each.lower() for each in self.patterns()]
        parents = tuple(each[1:] for each in wanted if each.startswith("*."))
        return any(each in wanted or each.endswith(parents) for each in places)

    def require(self, url: str, *, is_proxied: bool) -> None:
        """Raises HostNotAllowed for what is refused by its name. ``is_proxied``: a proxy looks it up."""
        scheme, host, stated = origins.origin(url)
        name, address, port = host.rstrip("."), literal(host), stated or origins.PORTS[_HTTPS]
        if name in _METADATA_NAMES or (address is not None and is_metadata(address)):
            raise _never(host)
        why = "" if scheme == _HTTPS else "uses plain http"
        is_loopback = is_proxied and f".{name}".endswith(f".{_LOOPBACK_NAME}")
        if is_loopback or (address is not None and not is_public(address)):
            why = "is not a public address"
        if why and not self.allows(host, port):
            raise self._refused(host, port, why)

    def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """The addresses of a host that may be connected to. Raises HostNotAllowed; OSError."""
        found = {text: ip_address(text.partition("%")[0]) for text in self.resolve(host, port)}
        usable = [text for text, address in found.items() if not is_metadata(address)]
        if found and not usable:
            raise _never(host)
        public = [text for text in usable if is_public(found[text])]
        if public != usable and self.allows(host, port):
            public = usable
        if usable and not public:
            raise self._refused(host, port, "has no public address")
        return tuple(public[:_MOST_ADDRESSES])

    def adapter(self, context: ssl.SSLContext | None) -> GuardedAdapter:
        return GuardedAdapter(self, context)

    def _refused(self, host: str, port: int, why: str) -> HostNotAllowed:
        place = _place(host) + ("" if port in origins.PORTS.values() else f":{port}")
        return HostNotAllowed(f"{place} {why}, and is not allowed", hint=self.hint(place))


def _never(host: str) -> HostNotAllowed:
    return HostNotAllowed(
        f"{one_line(host.strip('[]'))} is link-local or a metadata service, which flux-upgrade never contacts",
        hint="remove it from the repository",
    )


def _place(host: str) -> str:
    bare = one_line(host.strip("[]"))
    return f"[{bare}]" if ":" in bare else bare


class GuardedAdapter(TrustingAdapter):
    """Connections to what ``egress`` lets through. To a proxy of the environment, any: names are judged there."""

    def __init__(self, egress: Egress, context: ssl.SSLContext | None) -> None:
        self._egress = egress
        super().__init__(context)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        judged = {"addresses": lambda _, host, port: self._egress.addresses(host, port)}
        self.poolmanager.pool_classes_by_scheme = pool_classes(
            type("GuardedConnection", (Connection,), judged), type("GuardedTlsConnection", (TlsConnection,), judged)
        )

    def send(self, request: Any, *args: Any, **options: Any) -> Any:
        self._egress.require(request.url, is_proxied=bool(select_proxy(request.url, options.get("proxies"))))
        return super().send(request, *args, **options)
