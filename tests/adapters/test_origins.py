"""The origin of a URL is the one that requests connects to, and a URL that can be read in two ways is refused."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
import requests
from hypothesis import example, given
from hypothesis import strategies as st
from urllib3.util import parse_url

from adapters.odd_addresses import REFUSED, ROWS, Row
from flux_upgrade.adapters.http.origins import Origin, followed, host, odd_authority, oddity, origin, redirected
from flux_upgrade.model.errors import SourceUnavailable
from hypothesis_profiles import many_examples

API = "http://api.test:8080"
OWN = Origin("http", "api.test", 8080)


def connected(url: str) -> Origin:
    """Where requests goes."""
    prepared = str(requests.Request("GET", url).prepare().url)
    parts, same = parse_url(prepared), urlsplit(prepared)
    assert same.hostname is not None
    assert (parts.scheme, (parts.host or "").strip("[]"), parts.port) == (same.scheme, same.hostname, same.port)
    return Origin(parts.scheme or "", parts.host or "", parts.port or {"http": 80, "https": 443}[same.scheme])


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://API.test:8080/x", "api.test", 8080),
        ("HTTP://api.test:08080", "api.test", 8080),
        ("http://api.test", "api.test", 80),
        ("http://api.test:", "api.test", 80),
        ("http://api.test.:80", "api.test.", 80),
        ("http://me:pw@api.test/", "api.test", 80),
        ("http://[::1]:5000/", "[::1]", 5000),
        ("http://[2001:DB8::A]", "[2001:db8::a]", 80),
        ("http://bücher.example", "xn--bcher-kva.example", 80),
        ("http://BÜCHER.example", "xn--bcher-kva.example", 80),
        ("http://xn--bcher-kva.example", "xn--bcher-kva.example", 80),
        ("http://api.test/a\\b c", "api.test", 80),
    ],
)
def test_where_a_token_goes(url: str, host: str, port: int) -> None:
    assert origin(url) == Origin("http", host, port) == connected(url)
    assert origin(url.replace("http", "https", 1).replace("HTTP", "HTTPS", 1)).scheme == "https"


@pytest.mark.parametrize(
    "url",
    [
        "", "api.test", "//api.test/", "/x", "http:", "http://", "http:///x", "http://api.test:0/", " http://api.test",
        "http://api.test:99999/", "http://api.test:x/", "http://evil\\@api.test/", "http://a b/", "http://a\tb/",
        "http://a@evil@api.test/", "http://api%2etest/", "http://[::1/", "http://\u200bapi.test/", "http://a\u2028/",
    ],
)  # fmt: skip
def test_an_address_without_an_origin(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (each parser has words of its own)
        origin(url)
    assert host(url) == "the release source"


def test_a_dot_at_the_end_makes_another_name() -> None:
    assert origin("https://api.test./") != origin("https://api.test/")


def test_what_is_shown_of_an_address() -> None:
    assert host("https://me:pw@API.test:8443/x?y") == "api.test:8443"
    assert host("https://[::1]/x") == "::1"


@pytest.mark.parametrize("row", [row for row in ROWS if row.outcome == REFUSED], ids=ascii)
def test_what_is_not_followed(row: Row) -> None:
    address = row.at("127.0.0.1:1", "127.0.0.1:2")
    with pytest.raises(SourceUnavailable) as caught:
        followed("http://127.0.0.1:1/x", address, "redirects to")
    with pytest.raises(SourceUnavailable) as refused:
        redirected("http://127.0.0.1:1/x", address)
    assert refused.value.message == caught.value.message
    assert refused.value.message.startswith("127.0.0.1:1 redirects to ")
    assert refused.value.message.endswith(", which is not followed")
    assert "private" not in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("y", f"{API}/a/y"),
        ("../y?z", f"{API}/y?z"),
        ("//other.test/y", "http://other.test/y"),
        ("https://other.test:8443/y#z", "https://other.test:8443/y#z"),
        ("https://[2001:db8::1]/y", "https://[2001:db8::1]/y"),
        ("https://my_store.test/@y:z%5C", "https://my_store.test/@y:z%5C"),
        ("/ä", f"{API}/ä"),
    ],
)
def test_what_is_followed(reference: str, target: str) -> None:
    assert followed(f"{API}/a/x", reference, "names") == target


@pytest.mark.parametrize("base", [f"{API}/my charts/x", "http://me:pw@api.test:8080/x"])
def test_what_is_odd_in_our_own_address_stays(base: str) -> None:
    assert origin(followed(base, "y", "names")) == OWN


def test_a_user_of_our_own_may_be_named() -> None:
    assert odd_authority("https://me:p%40w@api.test/x") == odd_authority("https://[fe80::1%25lo]/") == ""
    assert oddity("https://me@api.test/x") == "a user name"


PIECES = st.sampled_from(
    [
        "http", "HTTPS", "https", "ftp", "file", ":", "/", "//", "///", "\\", "\\\\", "@", "%40", "%2f", "%5c", "%00",
        "api.test", "API.TEST", "api.test.", "evil.test", "api", ".test", "api.test:8080", ":8080", ":80", ":", ":0",
        ":99999", ":0x50", "[::1]", "[", "]", "[fe80::1%25lo]", "127.0.0.1", "0x7f.1", "2130706433", "\u3002", "\uff0e", "\uff50",
        "\u2460", "\u017f", "ü", "\u200b", "\u202e", "\xad", "?", "#", ";", ",", "&", "=", "!", "$", "*", "'", '"', "<", "`", "|",
        "me", "me:pw@", " ", "\t", "\n", "\r", "\0", "\x0b", "\x7f", "\x85", "\xa0", "\u2028", "\u3000", "%", "%zz",
        "xn--", "xn--bcher-kva", "..", ".", "x", "-", "_", "~", "http://", "http://api.test:8080", "http://evil.test",
        "\\@api.test:8080", "@api.test:8080", "//api.test:8080", "http://evil.test\\@api.test:8080/x",
    ]
)  # fmt: skip
ADDRESSES = st.lists(PIECES | st.characters(), max_size=8).map("".join)
PREFIXED = st.tuples(st.sampled_from(["", "http://", "//", "http:", "https://"]), ADDRESSES).map("".join)


@many_examples
@given(PREFIXED)
@example("http://evil.test\\@api.test:8080/x")
@example("http://%61pi.test:8080/x")
@example("http://api.test:8080\\@evil.test/x")
@example("http://api.test:8080#@evil.test")
def test_a_credential_goes_where_it_belongs(address: str) -> None:
    try:
        target = followed(f"{API}/x", address, "names")
    except SourceUnavailable:
        return
    parts = parse_url(target)
    assert origin(target) == Origin(
        parts.scheme or "", parts.host or "", parts.port or {"http": 80, "https": 443}[parts.scheme or ""]
    )
    if origin(target) == OWN:
        assert connected(target) == OWN
        assert (urlsplit(target).hostname, urlsplit(target).port) == (OWN.host, OWN.port)
    # Whatever stays relative stays with the one who named it.
    if "//" not in address and ":" not in address:
        assert origin(target) == OWN


@many_examples
@given(PREFIXED)
@example("http://evil.test\\@api.test:8080/x")
@example("http://api.test:8080\\@evil.test/x")
def test_the_origin_of_any_address_is_the_one_connected_to(address: str) -> None:
    try:
        found = origin(address)
    except ValueError:
        return
    if found == OWN:
        assert connected(address) == OWN
