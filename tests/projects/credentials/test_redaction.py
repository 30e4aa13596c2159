"""Credentials in agents' output: as they are, and in every form in which programs happen to print them."""

import base64
import codecs
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.agent_contract import REDACTED
from containers.agent_text import clean
from projects.credentials.redaction import DISGUISED, Redactor
from projects.rules.log_lines import read_line
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN

CANARIES = Redactor([CANARY_TELEGRAM_TOKEN, CANARY_API_KEY])
SECRETS = {
    "token": CANARY_TELEGRAM_TOKEN,
    "half of the token": CANARY_TELEGRAM_TOKEN.partition(":")[2],
    "key": CANARY_API_KEY,
}
TEXT = st.text(max_size=40)


def percent_encode(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


FORMS: dict[str, Callable[[str], str]] = {
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64 of a longer text": lambda s: base64.b64encode(f"Authorization: Bearer {s}; x".encode()).decode(),
    "base64 of a longer text, shifted": lambda s: base64.b64encode(f"authorization: Bearer {s}".encode()).decode(),
    "base64 of a longer text, shifted again": lambda s: base64.b64encode(
        f"Aauthorization: Bearer {s}".encode()
    ).decode(),
    "base64 for URLs": lambda s: base64.urlsafe_b64encode(s.encode()).decode().rstrip("="),
    "base64, reversed": lambda s: base64.b64encode(s.encode()).decode()[::-1],
    "base64 of the reversed": lambda s: base64.b64encode(s[::-1].encode()).decode(),
    "base64, URL-coded": lambda s: quote(base64.b64encode(s.encode()).decode(), safe=""),
    "base64 of UTF-16": lambda s: base64.b64encode(s.encode("utf-16-le")).decode(),
    "base64 of UTF-16 the other way round": lambda s: base64.b64encode(s.encode("utf-16-be")).decode(),
    "base64 of a longer text in UTF-16": lambda s: base64.b64encode(f"key={s}; x".encode("utf-16")).decode(),
    "base64, twice": lambda s: base64.b64encode(base64.b64encode(s.encode())).decode(),
    "base64, twice, of a longer text": lambda s: base64.b64encode(b"x: " + base64.b64encode(s.encode())).decode(),
    "base64, with escaped line breaks": lambda s: repr(base64.encodebytes(s.encode() * 3).decode()),
    "base32": lambda s: base64.b32encode(s.encode()).decode(),
    "base32 of a longer text": lambda s: base64.b32encode(f"key {s} key".encode()).decode(),
    "hex": lambda s: s.encode().hex(),
    "HEX": lambda s: s.encode().hex().upper(),
    "hex, reversed": lambda s: s.encode().hex()[::-1],
    "hex of the reversed": lambda s: s[::-1].encode().hex(),
    "hex with colons": lambda s: s.encode().hex(":"),
    "hex with blanks": lambda s: s.encode().hex(" "),
    "hex of a C program": lambda s: ", ".join(f"0x{byte:02x}" for byte in s.encode()),
    "escapes of a byte string": lambda s: "".join(f"\\x{byte:02x}" for byte in s.encode()),
    "octal escapes": lambda s: "".join(f"\\{byte:03o}" for byte in s.encode()),
    "escapes of JSON": lambda s: "".join(f"\\u{ord(character):04x}" for character in s),
    "escapes of Rust and JavaScript": lambda s: "".join(f"\\u{{{ord(character):x}}}" for character in s),
    "escaped line breaks": lambda s: json.dumps("\n".join(s[at : at + 4] for at in range(0, len(s), 4))),
    "escaped line breaks and blanks": lambda s: json.dumps("\r\n\t".join(s)),
    "entities of HTML": lambda s: "".join(f"&#{ord(character)};" for character in s),
    "hexadecimal entities": lambda s: "".join(f"&#x{ord(character):x};" for character in s),
    "character codes": lambda s: str(list(s.encode())),
    "URL-coded": percent_encode,
    "URL-coded twice": lambda s: quote(percent_encode(s), safe=""),
    "URL-coded three times": lambda s: quote(quote(percent_encode(s), safe=""), safe=""),
    "every second character URL-coded": lambda s: "".join(
        percent_encode(character) if number % 2 else character for number, character in enumerate(s)
    ),
    "reversed": lambda s: s[::-1],
    "ROT13": lambda s: codecs.encode(s, "rot13"),
    "upper case": str.upper,
    "swapped case": str.swapcase,
    "as a list": lambda s: json.dumps(list(s)),
    "full-width": lambda s: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in s),
}
SEPARATORS = {
    "a colour": "\x1b[31m",
    "a reset": "\x1b[0m",
    "a link": "\x1b]8;;https://example.org\x1b\\",
    "a title": "\x1b]0;title\x07",
    "an 8-bit sequence": "\x9b1m",
    "a move of the cursor": "\x1b[1C",
    "a zero-width space": "\u200b",
    "a zero-width joiner": "\u200d",
    "a word joiner": "\u2060",
    "a byte order mark": "\ufeff",
    "a soft hyphen": "\xad",
    "a change of direction": "\u202e",
    "an isolate": "\u2066",
    "a tag": "\U000e0041",
    "a variation selector": "\ufe0f",
    "a Hangul filler": "\u3164",
    "a combining mark": "\u0301",
    "a grapheme joiner": "\u034f",
    "NUL": "\x00",
    "a backspace": "\b",
    "a carriage return": "\r",
    "a tab": "\t",
    "a form feed": "\f",
    "a next line": "\x85",
    "a line separator": "\u2028",
    "a blank": " ",
    "a no-break space": "\xa0",
    "a hyphen": "-",
    "a dot": ".",
}


def shown(text: str) -> str:
    """Like `projects.services.reports.logs`, for the text after the time of a line."""
    return CANARIES.redact(clean(text))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_line_with_an_encoded_credential_is_removed(secret: str, form: str) -> None:
    assert shown(f"sent {FORMS[form](SECRETS[secret])} to the host") in {DISGUISED, f"sent {REDACTED} to the host"}


@pytest.mark.parametrize("every", [1, 3, 10])
@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_split_credential_is_removed_too(secret: str, separator: str, every: int) -> None:
    text = SECRETS[secret]
    pieces = [text[start : start + every] for start in range(0, len(text), every)]
    seen = shown(f"sent {SEPARATORS[separator].join(pieces)} to the host")
    assert REDACTED in seen or seen == DISGUISED
    assert not any(piece in seen for piece in pieces if len(piece) == 10)


@pytest.mark.parametrize("every", [1, 3, 10])
@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("secret", SECRETS)
def test_pages_show_no_credential_that_escapes_of_json_split(secret: str, separator: str, every: int) -> None:
    """Pages decode the escapes and remove what is invisible, which would put the pieces together again."""
    text = SECRETS[secret]
    pieces = [text[start : start + every] for start in range(0, len(text), every)]
    line = shown(json.dumps({"message": f"sent {SEPARATORS[separator].join(pieces)} to the host"}))
    assert text not in read_line(line).text
    assert line == DISGUISED or REDACTED in line


@pytest.mark.parametrize("form", ["base64", "hex", "URL-coded", "reversed"])
def test_two_thirds_of_a_credential_are_found_as_well(form: str) -> None:
    part = CANARY_API_KEY[len(CANARY_API_KEY) // 3 :]
    assert shown(f"sent {FORMS[form](part)}") == DISGUISED


@pytest.mark.parametrize(
    "line",
    [
        "bot 987654321 started",
        "GET /bot/getUpdates 200 in 0.35 s",
        "sha256:" + "0123456789abcdef" * 4,
        base64.b64encode(b"nothing that anybody would want to hide, and rather long").decode(),
        "[72, 101, 108, 108, 111, 44, 32, 119, 111, 114, 108, 100]",
        "Größe: 5 µm · 東京 · emoji 🚢",
        "100%",
        "C:\\users\\x61",
        "\\U00110000 is no character",
    ],
)
def test_innocent_lines_stay_unchanged(line: str) -> None:
    assert shown(line) == line


def test_the_repr_of_a_redactor_shows_no_secret() -> None:
    assert repr(CANARIES) == "<Redactor of 2 credentials>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"token {CANARY_TELEGRAM_TOKEN} used", f"token {REDACTED} used"),
        (f"https://api.telegram.org/bot{CANARY_TELEGRAM_TOKEN}/getMe", f"https://api.telegram.org/bot{REDACTED}/getMe"),
        (CANARY_TELEGRAM_TOKEN.partition(":")[2], REDACTED),
        (f"{CANARY_API_KEY}{CANARY_API_KEY}", REDACTED * 2),
        (f"{CANARY_API_KEY}\n{CANARY_TELEGRAM_TOKEN}", f"{REDACTED}\n{REDACTED}"),
        ("bot 987654321 started", "bot 987654321 started"),
        ("", ""),
    ],
)
def test_known_secrets_are_redacted_at_any_position(text: str, expected: str) -> None:
    assert CANARIES.redact(text) == expected


@given(TEXT, st.lists(st.text("abc:0", min_size=8, max_size=20), max_size=3), TEXT)
def test_nothing_of_a_secret_survives_redaction(before: str, secrets: list[str], after: str) -> None:
    text = Redactor(secrets).redact(before + "".join(secrets) + after)
    assert not any(secret in text for secret in secrets)


@pytest.mark.parametrize("secret", ["", "a", "1:", ":", "short", "1:short"])
def test_text_too_short_to_be_a_secret_is_left(secret: str) -> None:
    text = "a short line: 1:short"
    assert Redactor([secret]).redact(text) == text
