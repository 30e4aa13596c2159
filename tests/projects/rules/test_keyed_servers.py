"""Credentials of servers are taken out of the settings, and never stored in them."""

from typing import Any

import pytest

from projects.rules.settings import keyed_servers
from projects.rules.settings.keyed_servers import (
    CredentialLineError,
    header_of,
    secrets_of,
    separate,
    without_credentials,
)
from projects.rules.settings.used_servers import UNUSED, check_use, for_agent

SCHEMA: Any = {
    "properties": {"keys": {"type": "array", "x-berth-credentials": True}, "mcp": {"type": "array"}, "q": True}
}
ONE, TWO = "https://tools.example/mcp", "https://search.example:8443/find"
KEY, OTHER = "a-token-of-16-characters", "short-one"


def test_a_stored_credential_has_a_placeholder_that_keeps_it() -> None:
    settings, found = separate(SCHEMA, {"mcp": [ONE], "keys": [f"{ONE} {KEY}", f"  {TWO}   X-Api-Key: {OTHER} "]}, {})
    assert found == {ONE: KEY, TWO: f"X-Api-Key: {OTHER}"}
    assert settings == {"mcp": [ONE], "keys": [f"{ONE} ********ters", f"{TWO} ********"]}
    assert separate(SCHEMA, settings, found) == (settings, found)
    left, kept = separate(SCHEMA, {"keys": [settings["keys"][1]]}, found)
    assert (left["keys"], kept) == ([f"{TWO} ********"], {TWO: f"X-Api-Key: {OTHER}"})
    assert separate(SCHEMA, {}, found) == ({}, {})
    assert separate({}, {"keys": [ONE]}, {}) == ({"keys": [ONE]}, {})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (ONE, keyed_servers.SHAPE), (7, keyed_servers.SHAPE), (f"http://tools.example/mcp {KEY}", keyed_servers.SHAPE),
        (f"{ONE} caf\u00e9-{KEY}", keyed_servers.SHAPE), (f"{ONE} {KEY}\n", None),
        (f"{ONE} a\r\nX-B: {KEY}", keyed_servers.SHAPE),
        *((f"https://{host} {KEY}", keyed_servers.ADDRESS) for host in (
            "10.0.0.1/x", "[::1]/x", "localhost/x", "a@b.example", "b.example/?k=1", "b.example/#f", "b.example:0/",
            "b.example:x/", "a.com-/x", "a.-com/x",
        )),
        (f"{ONE} Host: {KEY}", keyed_servers.HEADER), (f"{ONE} Cookie: {KEY}", keyed_servers.HEADER),
        (f"{ONE} seven77", keyed_servers.SHORT), (f"{ONE} Bearer: {KEY}", keyed_servers.HEADER),
        (f"{ONE} ********ters", keyed_servers.MISSING), (f"{TWO} ********", keyed_servers.MISSING),
        (f"{TWO} {KEY}", keyed_servers.TWICE),
        (f"{ONE} X-A: {' '.join(f'a-word-{number}' for number in range(17))} {KEY}", keyed_servers.MANY_WORDS),
    ],
)  # fmt: skip
def test_an_invalid_line_is_refused_with_a_sentence_that_quotes_nothing(line: Any, words: str | None) -> None:
    lines, known = [f"{TWO} {OTHER}", line], {TWO: "another-of-16-characters"}
    if words is None:
        assert separate(SCHEMA, {"keys": lines}, known).credentials[ONE] == KEY
        return
    with pytest.raises(CredentialLineError) as refused:
        separate(SCHEMA, {"keys": lines}, known)
    assert (str(refused.value), refused.value.path) == (words, "settings.keys.1")


def test_there_may_be_few() -> None:
    lines = [f"https://s{number}.example/ {KEY}" for number in range(keyed_servers.MOST + 1)]
    with pytest.raises(CredentialLineError, match=keyed_servers.TOO_MANY):
        separate(SCHEMA, {"keys": lines}, {})


@pytest.mark.parametrize(
    ("credential", "header"),
    [
        (KEY, ("authorization", f"Bearer {KEY}")), ("Authorization: Basic YWI=", ("authorization", "Basic YWI=")),
        ("X-Subscription-Token:abc", ("x-subscription-token", "abc")), ("api-key: a b", ("api-key", "a b")),
        (f"Bearer {KEY}", ("authorization", f"Bearer {KEY}")), ("basic  YWI=", ("authorization", "basic  YWI=")),
        ("bearer", ("authorization", "Bearer bearer")),
    ],
)  # fmt: skip
def test_a_credential_is_a_token_or_a_header(credential: str, header: tuple[str, str]) -> None:
    assert header_of(credential) == header


def test_agents_and_pages_get_urls_without_credentials() -> None:
    settings = {
        "keys": [f"{ONE} ********ters"],
        "mcp": [ONE, TWO],
        "q": {"deep": [f" {ONE} "]},
        "instructions": f"Use {ONE}.",
    }
    found = for_agent(SCHEMA, settings, {ONE: "http://g/out/v/1"})
    words = {"instructions": f"Use {ONE}."}
    assert found == {"mcp": ["http://g/out/v/1", TWO], "q": {"deep": ["http://g/out/v/1"]}, **words}
    assert for_agent(SCHEMA, settings, {}) == {name: settings[name] for name in ("mcp", "q", "instructions")}
    typed = f"{ONE} {KEY}\r\n{TWO} ********\r\n\r\n{KEY}"
    assert without_credentials(typed).split("\n") == [f"{ONE}", f"{TWO} ********", "", ""]


@pytest.mark.parametrize("between", [" ", "  ", "\t", "\u00a0", "\u2028", "\x0b", "\x85"])
@pytest.mark.parametrize(
    "order", ["{ONE}{between}{KEY}", "{KEY}{between}{ONE}", "{ONE}{between}********{KEY}", "{KEY}"]
)
def test_a_page_repeats_only_addresses_for_any_order_of_input(order: str, between: str) -> None:
    typed = order.format(ONE=ONE, KEY=KEY, between=between)
    assert without_credentials(typed) == (ONE if typed.startswith(ONE) else "")


def test_each_word_of_a_credential_is_a_secret() -> None:
    value = 'Token key=supersecret123, client=12345678 of="a-quoted-one" or so'
    wanted = {value, "supersecret123", "12345678", "a-quoted-one", "key=supersecret123"}
    assert wanted < set(secrets_of(f"Authorization: {value}"))
    assert not {"Token", "or", "so"} & set(secrets_of(f"Authorization: {value}"))


def test_a_default_has_an_address_as_well_as_a_setting_has() -> None:
    settings = {"keys": [f"{ONE} ********"], "q": {"deep": [7, f" {TWO}"]}}
    check_use(SCHEMA, settings, {}, defaults={"mcp": [ONE], "keys": [7]})
    check_use(SCHEMA, settings, {ONE: KEY}, defaults={})
    check_use(SCHEMA, {"keys": "no list"}, {}, defaults={})
    with pytest.raises(CredentialLineError, match=UNUSED):
        check_use(SCHEMA, settings, {}, defaults={"keys": [ONE]})


@pytest.mark.parametrize(("credential", "left"), [("X-Api-Key: abcdefgh", ""), (f"X-Api-Key: {KEY}", "ters")])
def test_a_header_name_is_not_part_of_the_secret(credential: str, left: str) -> None:
    assert separate(SCHEMA, {"keys": [f"{ONE} {credential}"]}, {}).settings["keys"] == [f"{ONE} ********{left}"]
