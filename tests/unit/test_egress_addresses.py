"""Which addresses are public, and which are never contacted, whatever is allowed."""

from __future__ import annotations

from typing import NoReturn

import pytest

from flux_upgrade.adapters.http.egress import Egress, is_metadata, is_public, literal
from flux_upgrade.model.errors import HostNotAllowed

PUBLIC = (
    "8.8.8.8",
    "140.82.121.4",
    "2606:4700::1111",
    "64:ff9b::8.8.8.8",  # what DNS64 makes of a public address
)
NOT_PUBLIC = (
    *("0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.1.2.3", "172.16.0.1", "192.168.1.1"),  # noqa: S104
    *("192.0.0.9", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
    *("224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "100.100.100.200"),
    *("::", "::1", "::7f00:1", "::808:808", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "ff0e::1", "100::1"),
    *("2001:db8::1", "3fff::1", "5f00::1", "2001::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8"),  # mapped
    *("64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::100.64.0.1", "64:ff9b:1::8.8.8.8"),  # NAT64
    *("2002:7f00:1::1", "2002:a00:1::1", "2002:808:808::1"),  # 6to4
    *("2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1"),  # ISATAP
)
NEVER = (
    *("169.254.0.1", "169.254.169.254", "169.254.170.2", "169.254.170.23", "168.63.129.16"),
    *("fe80::1", "febf::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"),
    *("::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::169.254.169.254", "64:ff9b:1::169.254.169.254"),
    *("2002:a9fe:a9fe::1", "2606:4700::5efe:169.254.169.254", "2001:0:a9fe:a9fe::1", "2001::5601:5601"),
)
WRITTEN_ODDLY = {
    "2130706433": "127.0.0.1",
    "0x7f000001": "127.0.0.1",
    "0x7f.1": "127.0.0.1",
    "0177.0.0.1": "127.0.0.1",
    "127.1": "127.0.0.1",
    "0": "0.0.0.0",  # noqa: S104
    "2852039166": "169.254.169.254",
    "0xA9.0xFE.0xA9.0xFE": "169.254.169.254",
    "0251.0376.0251.0376": "169.254.169.254",
    "[::1]": "::1",
    "fe80::1%eth0": "fe80::1",
}
HOST = "registry.example.com"


@pytest.mark.parametrize("text", PUBLIC)
def test_an_address_on_the_internet(text: str) -> None:
    address = literal(text)
    assert address is not None
    assert (is_public(address), is_metadata(address)) == (True, False)
    assert egress().addresses(text, 443) == (text,)


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_an_address_that_only_some_can_reach(text: str) -> None:
    address = literal(text)
    assert address is not None
    assert (is_public(address), is_metadata(address)) == (False, False)
    assert_refused(egress(), text, "public address")
    assert egress("*.example.com").addresses(HOST, 443) == ("8.8.8.8",)
    assert Egress(lambda: [HOST], no_credentials, str, lambda *_: [text]).addresses(HOST, 443) == (text,)


@pytest.mark.parametrize("text", NEVER)
def test_an_address_that_is_never_contacted(text: str) -> None:
    address = literal(text)
    assert address is not None
    assert is_metadata(address)
    bracketed = f"[{text}]" if ":" in text else text
    assert_refused(egress(), text, "never contacts")
    assert_refused(egress(text, bracketed, HOST), text, "never contacts")
    assert_refused(Egress(list, every_credential, str, lambda *_: [text]), HOST, "never contacts")


@pytest.mark.parametrize(("written", "read"), WRITTEN_ODDLY.items())
def test_an_address_that_is_written_in_another_way(written: str, read: str) -> None:
    assert str(literal(written)) == read


@pytest.mark.parametrize("name", [HOST, "cafe", "a.b", "0x", "1.2.3.4.5", "999.1.1.1", "localhost", ""])
def test_a_name_is_no_address(name: str) -> None:
    # `cafe` could be hexadecimal, but resolvers want `0x` before it.
    assert literal(name) is None


@pytest.mark.parametrize(
    ("found", "usable"),
    [
        (["8.8.8.8", "10.0.0.1"], ("8.8.8.8",)),
        (["169.254.169.254", "2606:4700::1111"], ("2606:4700::1111",)),
        (["8.8.8.8", "8.8.4.4", "1.1.1.1", "9.9.9.9"], ("8.8.8.8", "8.8.4.4", "1.1.1.1")),
    ],
)
def test_of_several_addresses_those_that_are_public(found: list[str], usable: tuple[str, ...]) -> None:
    assert Egress(list, no_credentials, str, lambda *_: found).addresses(HOST, 443) == usable


ALLOWED = (
    ("registry.internal", "registry.internal", 443),
    ("registry.internal", "registry.internal", 5000),
    ("registry.internal:5000", "registry.internal", 5000),
    ("Registry.Internal", "registry.internal.", 443),
    ("*.example.internal", "a.example.internal", 443),
    ("*.example.internal", "a.b.example.internal", 5000),
    ("*.example.internal:5000", "a.example.internal", 5000),
    ("10.0.0.1", "10.0.0.1", 443),
    ("[::1]", "::1", 443),
    ("[::1]:5000", "::1", 5000),
)
NOT_ALLOWED = (
    ("registry.internal", "a.registry.internal", 443),
    ("registry.internal", "registry.internal.evil.example", 443),
    ("registry.internal:5000", "registry.internal", 5001),
    ("registry.internal:5000", "registry.internal", 443),
    ("*.example.internal", "example.internal", 443),
    ("*.example.internal", "evilexample.internal", 443),
    ("*.example.internal:5000", "a.example.internal", 443),
    ("127.0.0.1", "2130706433", 443),
)


@pytest.mark.parametrize(("pattern", "host", "port"), ALLOWED)
def test_what_a_pattern_allows(pattern: str, host: str, port: int) -> None:
    assert egress(pattern).allows(host, port)


@pytest.mark.parametrize(("pattern", "host", "port"), NOT_ALLOWED)
def test_what_a_pattern_does_not_allow(pattern: str, host: str, port: int) -> None:
    assert not egress(pattern).allows(host, port)


REFUSED_BY_NAME = (
    ("https://127.0.0.1:5000/v2/", False, "127.0.0.1:5000 is not a public address"),
    ("https://[::1]:5000/v2/", False, "[::1]:5000 is not a public address"),
    ("https://2130706433/v2/", True, "2130706433 is not a public address"),
    ("https://localhost:5000/v2/", True, "localhost:5000 is not a public address"),
    ("https://a.localhost/v2/", True, "a.localhost is not a public address"),
    ("http://charts.example.com/index.yaml", False, "charts.example.com uses plain http"),
    ("http://charts.example.com/index.yaml", True, "charts.example.com uses plain http"),
    ("https://169.254.169.254/", True, "never contacts"),
    ("https://0xa9fea9fe/", True, "never contacts"),
    ("https://metadata.google.internal/", True, "never contacts"),
    ("https://metadata.google.internal./", False, "never contacts"),
)


@pytest.mark.parametrize(("url", "is_proxied", "message"), REFUSED_BY_NAME)
def test_what_is_refused_before_it_is_looked_up(url: str, is_proxied: bool, message: str) -> None:  # noqa: FBT001
    with pytest.raises(HostNotAllowed) as refusal:
        egress().require(url, is_proxied=is_proxied)
    assert message in refusal.value.message
    assert refusal.value.slug == "host-not-allowed"


@pytest.mark.parametrize("is_proxied", [False, True])
def test_a_name_is_looked_up_by_the_proxy_or_here(is_proxied: bool) -> None:  # noqa: FBT001
    egress().require("https://registry.internal/v2/", is_proxied=is_proxied)
    egress("127.0.0.1").require("http://127.0.0.1:5000/v2/", is_proxied=is_proxied)


def test_what_is_allowed_matters_only_for_hosts_that_are_not_public() -> None:
    def never(*_: object) -> NoReturn:
        raise AssertionError("a public host needs no permission")

    found = Egress(never, never, str, lambda *_: ["8.8.8.8"])
    found.require(f"https://{HOST}/v2/", is_proxied=False)
    assert found.addresses(HOST, 443) == ("8.8.8.8",)


def test_a_registry_of_dockers_is_allowed_by_its_port() -> None:
    known = {"localhost:5000", "registry.internal"}
    found = Egress(list, known.__contains__, str)
    assert found.allows("localhost", 5000)
    assert found.allows("registry.internal", 443)
    assert not found.allows("localhost", 443)
    assert not found.allows("registry.internal", 5000)


def egress(*patterns: str) -> Egress:
    """One whose resolver knows ``HOST``, and addresses as they are written."""
    return Egress(
        lambda: patterns, no_credentials, "allow {}".format, lambda host, _: ["8.8.8.8" if host == HOST else host]
    )


def no_credentials(host: str) -> bool:
    del host
    return False


def every_credential(host: str) -> bool:
    del host
    return True


def assert_refused(found: Egress, host: str, words: str) -> None:
    with pytest.raises(HostNotAllowed) as refusal:
        found.addresses(host, 443)
    assert words in refusal.value.message
