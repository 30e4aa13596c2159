"""Credentials of the servers that an agent uses, such as tool servers, as owners write them in the settings. Pure.

A setting whose schema says `"x-berth-credentials": true` is a list of texts: an address, a space and its credential.
A credential is a token, which is sent as `Authorization: Bearer …`, or a header with its value, `X-Api-Key: …`. The
stored settings have a stand-in, `********` and the last characters; sending a stand-in again keeps the credential.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

SCHEMA_WORD = "x-berth-credentials"
STORED = "********"
MOST = 10
LEAST_LENGTH = 8
"""Characters of the secret part of a credential. A shorter one would be found by chance in servers' responses."""
MOST_SECRETS = 16
"""The most texts to hide for one credential. For hundreds of them, an answer or a log would be searched for seconds."""

_LINE = re.compile(r"(?P<address>https://[!-~]{1,500})[ ]+(?P<credential>[!-~](?:[ -~]{0,2000}[!-~])?)")
_HEADER = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9-]*):[ ]*(?P<value>\S.*)")
_NAMES = re.compile(r"authorization|api-key|x-[a-z0-9-]{1,60}")
_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_HOST = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)+(?=[a-z0-9-]*[a-z])(?!0x[0-9a-f]*\Z){_LABEL}")
"""The gateway's rule for host names. It would skip a stored address that breaks the rule."""
_SCHEMED = re.compile(r"(?i:bearer|basic) +\S.*")
_SHOWN = re.compile(r"https://[!-~]+")
_STAND_IN = re.compile(rf"{re.escape(STORED)}[!-~]{{0,4}}")
_KEPT = re.compile(rf"{_SHOWN.pattern} {_STAND_IN.pattern}")
_APART = re.compile(r'[ ",;]+')

SHAPE = "Write the https address as the other setting has it, a space, and the credential."
ADDRESS = "The address must be https, with the name of a host, and without ? and #."
HEADER = "The header must be Authorization, Api-Key, or one that begins with X-."
SHORT = f"A credential has {LEAST_LENGTH} characters at least."
MANY_WORDS = "A credential is a token or a few words, not a text."
TWICE = "This address has a credential already."
MISSING = "No credential is kept for this address. Send it whole."
TOO_MANY = f"There may be at most {MOST}."


class CredentialLineError(ValueError):
    """An entry is not an address with a credential. `path` is its place in the project; the message quotes nothing."""

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class Header(NamedTuple):
    name: str
    value: str


class Separated(NamedTuple):
    """The settings as they may be stored, and their credentials by address."""

    settings: dict[str, Any]
    credentials: dict[str, str]


def marked(schema: Any) -> list[str]:
    """Returns the names of the schema's settings that hold credentials."""
    named = schema.get("properties") if isinstance(schema, Mapping) else None
    properties = named if isinstance(named, Mapping) else {}
    return [name for name, part in properties.items() if isinstance(part, Mapping) and part.get(SCHEMA_WORD) is True]


def separate(schema: Any, settings: Mapping[str, Any], known: Mapping[str, str]) -> Separated:
    """Separates the credentials from the settings.

    `known` are the stored credentials, which stand-ins refer to. Raises `CredentialLineError`.
    """
    chosen, found = dict(settings), dict[str, str]()
    for name in marked(schema):
        lines = chosen.get(name)
        if isinstance(lines, list):
            chosen[name] = [_take(line, known, found, f"settings.{name}.{at}") for at, line in enumerate(lines)]
    return Separated(chosen, found)


def as_stored(schema: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings as `separate` would, without checking them. It serves to measure their length."""
    lists = {name: settings[name] for name in marked(schema) if isinstance(settings.get(name), list)}
    return {**settings, **{name: [_shorten(line) for line in lines] for name, lines in lists.items()}}


def _shorten(line: Any) -> Any:
    parts = _LINE.fullmatch(line.strip()) if isinstance(line, str) else None
    return f"{parts['address']} {_stand_in(parts['credential'])}" if parts else line


def has_plain(schema: Any, settings: Mapping[str, Any]) -> bool:
    """Returns whether a setting has an entry that `separate` would not leave there."""
    lines = [line for name in marked(schema) if isinstance(settings.get(name), list) for line in settings[name]]
    return any(not isinstance(line, str) or not _KEPT.fullmatch(line) for line in lines)


def take_out(
    schema: Any, settings: Mapping[str, Any], known: Mapping[str, str], *, may_be_new: bool = True
) -> Separated:
    """Separates like `separate`, but for settings that nobody has checked.

    Drops every entry that is not valid. Drops new credentials too unless `may_be_new`.
    """
    chosen, found = dict(settings), dict[str, str]()
    for name in marked(schema):
        if isinstance(chosen.get(name), list):
            lines = []
            for line in chosen.pop(name):
                address = line.split(" ")[0] if isinstance(line, str) and _KEPT.fullmatch(line) else ""
                kept = f"{address} {known[address]}" if address in known else ""
                with suppress(CredentialLineError):
                    lines += [_take(kept or line, known, found, name)] if kept or may_be_new else []
            chosen |= {name: lines} if lines else {}
    return Separated(chosen, found)


def _take(line: Any, known: Mapping[str, str], found: dict[str, str], path: str) -> str:
    """Returns the line as it may be stored, and adds its credential to `found`. Raises `CredentialLineError`."""
    parts = _LINE.fullmatch(line.strip()) if isinstance(line, str) else None
    if parts is None:
        raise CredentialLineError(SHAPE, path=path)
    address, credential = parts["address"], parts["credential"]
    if credential.startswith(STORED):
        if address not in known or credential != _stand_in(known[address]):
            raise CredentialLineError(MISSING, path=path)
        credential = known[address]
    if fault := _fault(address, credential, found):
        raise CredentialLineError(fault, path=path)
    found[address] = credential
    return f"{address} {_stand_in(credential)}"


def _fault(address: str, credential: str, found: Mapping[str, str]) -> str:
    if address in found or len(found) >= MOST:
        return TWICE if address in found else TOO_MANY
    try:
        parts = urlsplit(address)
        is_good = _HOST.fullmatch((parts.hostname or "").lower()) and parts.port != 0
    except ValueError:
        is_good = None
    if not is_good or set("?#@") & set(address):
        return ADDRESS
    header = header_of(credential)
    if not _NAMES.fullmatch(header.name):
        return HEADER
    if len(secrets_of(credential)) > MOST_SECRETS:
        return MANY_WORDS
    return SHORT if len(header.value.rpartition(" ")[2]) < LEAST_LENGTH else ""


def _stand_in(credential: str) -> str:
    """Returns the stand-in. It ends with the last four characters if the secret has 16 or more, to tell two apart."""
    word = header_of(credential).value.rpartition(" ")[2]
    return STORED + (word[-4:] if len(word) >= 16 else "")


def header_of(credential: str) -> Header:
    """Returns the header that the gateway adds to a request. Its name is in lower case."""
    if named := _HEADER.fullmatch(credential):
        return Header(named["name"].lower(), named["value"])
    return Header("authorization", credential if _SCHEMED.fullmatch(credential) else f"Bearer {credential}")


def secrets_of(credential: str) -> list[str]:
    """Returns the texts to redact: the header's value, its words, and the values of parameters in it.

    The gateway looks for the same (`entries/servers.py`).
    """
    value = header_of(credential).value
    words = [*value.split(" "), *_APART.split(value)]
    found = (value, *words, *(word.partition("=")[2] for word in words))
    return list(dict.fromkeys(each for each in found if len(each) >= LEAST_LENGTH))


def without_credentials(lines: str) -> str:
    """Returns the typed lines as a page may show them again: with addresses and stand-ins, without credentials."""
    return "\n".join(_without(lines.split("\n")))


def _without(lines: list[str]) -> Iterator[str]:
    """Yields only certain addresses and stand-ins, because people may type the parts in another order."""
    for line in lines:
        address, kept = (*line.split(maxsplit=1), "", "")[:2]
        shown = address if _SHOWN.fullmatch(address) else ""
        yield f"{shown} {kept.strip()}" if shown and _STAND_IN.fullmatch(kept.strip()) else shown
