"""Redacts an owner's credentials from the agent's output, also in encoded forms.

It protects from accidents, such as a debugger that prints headers in base64 or a client that quotes a URL. An agent
that wants to reveal its own credentials can always invent another form.
"""

import base64
import codecs
import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from urllib.parse import unquote

from containers.agent_contract import REDACTED, redact_credentials
from containers.agent_text import clean

SHORTEST = 8
"""The minimum length of a credential. Shorter ones would be found in innocent words."""

DISGUISED = "[redacted: this line held a credential in another form]"

WINDOW = 12
LONG = 2 * WINDOW - 1
"""Letters and digits. A text is searched in steps of `WINDOW`, and `LONG` characters in a row contain a whole step."""

FEW = 150
"""As many forms are found faster by searching for each one, in a text of usual length, than by its parts."""

_NOT_ALPHANUMERIC = re.compile(r"[^0-9a-z]+")
_HEX_PREFIX = re.compile(r"0x|\\x", re.IGNORECASE)
_CHARACTER_CODES = re.compile(r"\d{2,3}(?:[^0-9A-Za-z]{1,3}\d{2,3}){7,}")
_ESCAPED = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[ux]\{([0-9a-fA-F]{1,8})\}|([0-7]{3})|[abefnrtv])"
)
_CHARACTER_NUMBER = re.compile(r"&#(?=[0-9])0*+([0-9]{0,8})[0-9]*+")
"""A character's number in HTML. It is shortened, because Python refuses to read thousands of digits."""
_JSON_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([^bfnrt])|[bfnrt])")
_NESTED = 3
"""How often encodings may be nested, such as %2541."""


class Redactor:
    """Finds these credentials. Use one redactor for many lines, because it derives their forms only once."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = [secret for secret in secrets if secret]

    def __repr__(self) -> str:
        return f"<Redactor of {len(self._secrets)} credentials>"

    def redact(self, text: str) -> str:
        """Returns the text without the credentials. A line with an encoded credential is replaced as a whole.

        Also removes everything that looks like a credential, because after a change the agent keeps its former
        credential until its next start, and Berth no longer knows it.
        """
        for part in self._parts:
            text = text.replace(part, REDACTED)
        text = redact_credentials(text)
        return DISGUISED if self._is_disguised_in(text) else text

    @cached_property
    def _parts(self) -> list[str]:
        """The credentials and the secret halves of bot tokens, longest first."""
        parts = {part for secret in self._secrets for part in (secret, secret.partition(":")[2])}
        return sorted((part for part in parts if len(part) >= SHORTEST), key=len, reverse=True)

    @cached_property
    def _windows(self) -> frozenset[str]:
        """Every window of every form of a credential, except plain digits, which are a bot's number."""
        found = {window for secret in self._secrets for form in _forms(secret) for window in _cut(form)}
        return frozenset(found - {window for secret in self._secrets for window in _cut(secret) if window.isdecimal()})

    @cached_property
    def _short_forms(self) -> frozenset[str]:
        """The forms that are too short for windows."""
        forms = {_alphanumeric(form) for secret in self._secrets for form in _forms(secret)}
        return frozenset(form for form in forms if SHORTEST <= len(form) < LONG and not form.isdecimal())

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        """The same forms by their first characters."""
        by_start = defaultdict[str, list[str]](list)
        for form in self._short_forms:
            by_start[form[:SHORTEST]].append(form)
        return by_start

    def _is_disguised_in(self, text: str) -> bool:
        return bool(self._secrets) and any(self._is_in(view) for view in _views(text))

    def _is_in(self, view: str) -> bool:
        steps = (view[start : start + WINDOW] for start in range(0, len(view) - WINDOW + 1, WINDOW))
        return not self._windows.isdisjoint(steps) or self._has_short_form(view)

    def _has_short_form(self, view: str) -> bool:
        if len(self._short_forms) <= FEW:
            return any(form in view for form in self._short_forms)
        starts = {view[at : at + SHORTEST] for at in range(len(view) - SHORTEST + 1)} & self._by_start.keys()
        return any(form in view for start in starts for form in self._by_start[start])


def _forms(secret: str) -> Iterator[str]:
    """Yields the credential as it is, in ROT13, in base 16, and in base 64 and base 32 at each offset in a longer text.

    Also yields base 64 of UTF-16, as PowerShell writes it, and twice, like an encoded header in a Kubernetes secret.
    """
    yield secret
    yield codecs.encode(secret, "rot13")
    for once in _in_base64(secret.encode()):
        yield from _in_base64(once.encode())
    yield from _in_base64(secret.encode("utf-16-le"))
    for raw in (secret.encode(), secret[::-1].encode()):
        yield raw.hex()
        yield from _in_base64(raw)
        for before in range(5):
            yield _inner(base64.b32encode(bytes(before) + raw), bits=5, before=before, length=len(raw))


def _in_base64(raw: bytes) -> Iterator[str]:
    for before in range(3):
        yield _inner(base64.b64encode(bytes(before) + raw), bits=6, before=before, length=len(raw))


def _inner(encoded: bytes, *, bits: int, before: int, length: int) -> str:
    """Returns the characters that depend only on the credential, and not on the text before or after it."""
    return encoded[-(-8 * before // bits) : 8 * (before + length) // bits].decode()


def _cut(form: str) -> Iterator[str]:
    letters = _alphanumeric(form)
    if len(letters) >= LONG:
        yield from (letters[start : start + WINDOW] for start in range(len(letters) - WINDOW + 1))


def _views(text: str) -> Iterator[str]:
    """Yields the letters and digits of the text as it is, decoded, and as pages show it, forwards and backwards."""
    for plain in {text, _HEX_PREFIX.sub("", text), _decode(text), clean(_JSON_ESCAPE.sub(_unescape_json, text))}:
        letters = _alphanumeric(plain)
        yield letters
        yield letters[::-1]


def _decode(text: str) -> str:
    """Decodes escapes of URLs, HTML and programming languages, and lists of character codes."""
    for _ in range(_NESTED):
        decoded = _ESCAPED.sub(_unescape, html.unescape(_CHARACTER_NUMBER.sub(r"&#0\1", unquote(text))))
        if decoded == text:
            break
        text = decoded
    return _CHARACTER_CODES.sub(_read_codes, text)


def _unescape(match: re.Match[str]) -> str:
    """Returns the character, or nothing for an invisible one such as a line break."""
    digits, base = (match[5], 8) if match[5] else (match[1] or match[2] or match[3] or match[4] or "0", 16)
    return chr(code) if 0 < (code := int(digits, base)) <= 0x10FFFF else ""


def _unescape_json(match: re.Match[str]) -> str:
    """Returns the character as JSON's readers do. Pages show it, without the sequences that may split a credential."""
    return chr(int(match[1], 16)) if match[1] else match[2] or " "


def _read_codes(match: re.Match[str]) -> str:
    return "".join(chr(int(code)) for code in re.findall(r"\d+", match[0]))


def _alphanumeric(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    return _NOT_ALPHANUMERIC.sub("", text.casefold())
