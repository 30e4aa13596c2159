"""The target of a CONNECT, and whether it is allowed. Pure."""

import socket
from itertools import product

import pytest

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("example.org:443", ("example.org", 443)),
        ("A.Example.ORG:8443", ("a.example.org", 8443)),
        ("xn--bcher-kva.example:1", ("xn--bcher-kva.example", 1)),
        *((text, None) for text in (
            "", "example.org", ":443", "example.org:", "example.org:0", "example.org:65536", "example.org:+1",
            "example.org:443:443", "example.org:443/", "/example.org:443", "http://example.org:443", "a@example.org:1",
            "10.0.0.1:443", "[::1]:443", "::1:443", "0x7f.1:80", "127.1:80", "2130706433:80", "localhost:80",
            "-a.example:80", "a-.example:80", "a..example:80", ".example:80", "example.:80", "a_b.example:80",
            "exam ple.org:80", "example.org\n:80", "ex\u00e4mple.org:80", "a" * 64 + ".org:80", "a." * 127 + "org:80",
            "*.example.org:443", "example.org:\u0664",
        )),
    ],
)  # fmt: skip
def test_a_target_is_a_name_with_a_port(text: str, expected: tuple[str, int] | None) -> None:
    from gateway.tunnels.target import read_target

    assert read_target(text) == expected


def test_no_notation_of_an_address_is_a_name() -> None:
    """A resolver takes one to four decimal, octal and hexadecimal numbers for an address."""
    from gateway.tunnels.target import read_host, read_target

    forms = ("{}", "{:#x}", "{:#X}", "0{:o}", "000{:o}", "0x00{:x}")
    numbers = [(169, 254, 169, 254), (169, 254, 43518), (169, 16689662), (2852039166,), (8, 8, 8, 8), (10, 1), (0,)]
    for parts in numbers:
        for ways in product(forms, repeat=len(parts)):
            text = ".".join(way.format(part) for way, part in zip(ways, parts, strict=True))
            socket.inet_aton(text)
            assert read_target(f"{text}:443") is read_host(text) is None, text


def test_a_name_is_written_in_one_way_except_for_its_case() -> None:
    from gateway.tunnels.target import Target, read_target

    book = Target("book.example", 443)
    assert read_target("BooK.Example:443") == book
    names = (
        "book.example.",
        "boo\u212a.example",
        "\uff42ook.example",
        "book\u3002example",
        "book%2eexample",
        "book.example%20",
    )
    others = (
        "u@book.example",
        "u:p@book.example",
        "book.example\\",
        "book.example\0",
        "[book.example]",
        "book .example",
    )
    ports = (
        "0443",
        "+443",
        "-443",
        "443 ",
        " 443",
        "4_43",
        "0x1bb",
        "443.0",
        "\uff14\uff14\uff13",
        "443\r\nHost: a",
        "65979",
    )
    texts = [f"{name}:443" for name in (*names, *others)] + [f"book.example:{port}" for port in ports]
    assert {text: found for text in texts if (found := read_target(text))} == {}


def test_an_allowed_host_allows_itself_and_with_a_wildcard_its_subdomains() -> None:
    from gateway.tunnels.target import Target, is_allowed, read_host

    read = [read_host(text) for text in ("example.org", "*.example.net", "example.com:8443")]
    hosts = {host for host in read if host is not None}
    assert len(hosts) == 3
    allowed = {("example.org", 443), ("a.example.net", 443), ("b.a.example.net", 443), ("example.com", 8443)}
    refused = {
        ("www.example.org", 443), ("example.org", 80), ("example.net", 443), ("badexample.net", 443),
        ("example.com", 443), ("example.org.evil.test", 443), ("net", 443),
    }  # fmt: skip
    for host, port in allowed:
        assert is_allowed(Target(host, port), hosts), host
    for host, port in refused:
        assert not is_allowed(Target(host, port), hosts), host
    assert not any(map(read_host, ("", "*", "*.", "*.*.org", "a*.example.org", "org", "1.2.3.4", "*.1.2.3.4")))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "168.63.129.16", "169.254.169.254", "172.16.0.1",
        "172.31.255.1",
        "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255", "240.0.0.1", "255.255.255.255", "::1", "::ffff:8.8.8.8", "", "8.8.8", "08.8.8.8",
    ],
)  # fmt: skip
def test_an_address_outside_the_internet_is_not_public(address: str) -> None:
    from gateway.tunnels.target import is_public

    assert not is_public(address)
    assert is_public("8.8.8.8")
