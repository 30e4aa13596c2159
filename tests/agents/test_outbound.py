"""Web pages: the text that the model gets, and addresses that are never contacted."""

import pytest

from tests.agents.tool_use import use
from tests.fakes.web import FakeWeb


def read(web: FakeWeb, *paths: str, **more: str) -> list[str]:
    from assistant.tools.web import WebTools

    addresses = [path if "://" in path else web.url + path for path in paths]
    calls = [("read_page", {"url": address}) for address in addresses]
    return use(lambda outbound: [WebTools(outbound, reads=True, search_url="")], *calls, **more)


def test_pages_are_read_as_text_and_bounded(web: FakeWeb) -> None:
    page, away, long, *others = read(web, "/page", "/away", "/endless", "/circle", "/image", "/none", "/inside")
    assert page == away == "Tides & ships\n\nHarbour\n\nHigh tide at nine.\n\none\ntwo"
    assert (long[:5], len(long) < 13_000) == ("xxxxx", True)
    assert others == [
        "Error: this address leads in circles.",
        "Error: this is no page with text.",
        "Error: the server answers with status 404.",
        "Error: this address is not on the internet.",
    ]


def test_only_servers_on_the_internet_are_asked(web: FakeWeb) -> None:
    hosts = ("127.0.0.1", "localhost", "[::1]", "10.1.2.3", "169.254.169.254")
    told = read(web, *(f"http://{host}:{web.port}/page" for host in hosts), inside="nobody")
    assert set(told) <= {"Error: this address is not on the internet.", "Error: this address cannot be reached."}
    assert web.requests == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("8.8.8.8", True), ("2606:4700::1111", True), ("64:ff9b::808:808", True), ("::ffff:8.8.8.8", True),
        ("0.0.0.0", False), ("127.9.9.9", False), ("172.17.0.1", False), ("192.168.1.1", False), ("100.64.0.1", False),
        ("169.254.169.254", False), ("224.0.0.1", False), ("255.255.255.255", False), ("::", False), ("::1", False),
        ("fe80::1%eth0", False), ("fd00::1", False), ("::ffff:10.0.0.1", False), ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False), ("ff02::1", False), ("168.63.129.16", False), ("192.88.99.1", False),
        ("192.0.0.9", False), ("::ffff:168.63.129.16", False), ("64:ff9b::a83f:8110", False), ("::808:808", False),
    ],
)  # fmt: skip
def test_which_addresses_are_on_the_internet(address: str, expected: bool) -> None:
    from assistant.tools.outbound import is_public

    assert is_public(address) is expected


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "ftp://x/", "javascript:1", "", "http://", "x", "http://a\0b"]
)
def test_an_invalid_address_is_refused_in_plain_words(web: FakeWeb, address: str) -> None:
    from assistant.tools.web import WebTools

    [told] = use(lambda outbound: [WebTools(outbound, reads=True, search_url="")], ("read_page", {"url": address}))
    assert told.startswith("Error: ")
