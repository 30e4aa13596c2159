"""Reads the lists in which staff and owners write which hosts and models agents may use. Pure rules.

Lists have one entry per line.
"""

import re
from collections.abc import Callable, Iterable

from django.db.models import TextChoices
from django.utils.encoding import punycode

from accounts.text import hides_something

MOST_ENTRIES = 200
LIST_LENGTH = 20_000
"""The maximum number of characters of a list."""

HTTPS = 443
_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\.(?=[a-z]){_LABEL}")
"""At least two labels, the last of which begins with a letter. This excludes every notation of an IP address."""
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_MODEL = re.compile(r"[\x21-\x7e]{1,200}")
_NOT_PUBLIC = frozenset({"localhost", "local", "internal", "localdomain", "arpa", "onion"})
"""Top-level names without public hosts."""
_CHANGED_ON_THE_WAY = frozenset("ßςẞ\u200c\u200d")
"""Characters that Python (IDNA 2003) encodes differently from browsers (IDNA 2008)."""


class Egress(TextChoices):
    """What an agent can reach: the internet and the gateway, or the gateway alone. The latter includes DNS."""

    INTERNET = "internet", "the internet"
    GATEWAY = "gateway", "the gateway alone"


def egress_in_force(wishes: Iterable[str]) -> Egress:
    """Returns the strictest of the choices of the installation, the type, the staff and the owner."""
    return Egress.INTERNET if all(each == Egress.INTERNET for each in wishes) else Egress.GATEWAY


def models_in_force(lists: Iterable[str]) -> frozenset[str] | None:
    """Returns the models that all lists allow, or None for all models. An empty list allows all models."""
    allowed = [frozenset(entries) for text in lists if (entries := split_list(text))]
    return frozenset.intersection(*allowed) if allowed else None


def split_list(text: str) -> list[str]:
    """Returns the entries without surrounding spaces.

    Any other invisible character stays part of its entry, so that the entry is refused.
    """
    return [entry for line in text.replace("\r\n", "\n").split("\n") if (entry := line.strip(" "))]


def read_hosts(text: str) -> list[str]:
    """Returns each host as the gateway compares it: in lower-case ASCII, with its port unless that is 443.

    Raises `ValueError` with a sentence for the user.
    """
    return _read(text, _read_host)


def read_models(text: str) -> list[str]:
    """Returns the names of the models. Raises `ValueError` with a sentence for the user."""
    return _read(text, _read_model)


def _read(text: str, read: Callable[[str], str]) -> list[str]:
    found = list(dict.fromkeys(map(read, split_list(text))))
    if len(found) > MOST_ENTRIES:
        message = f"There are {len(found)} entries, and {MOST_ENTRIES} at most. Take some away."
        raise ValueError(message)
    return found


def _read_host(entry: str) -> str:
    name, colon, port = entry.partition(":")
    if "*" in entry:
        message = f"“{entry}” stands for many hosts. Name each of them."
        raise ValueError(message)
    if colon and (not _PORT.fullmatch(port) or int(port) > 65535):
        message = f"“{entry}” has no port from 1 to 65535 behind the colon. Write it as api.example.com:8443."
        raise ValueError(message)
    found = "" if hides_something(name) else _to_ascii(name)
    if not _NAME.fullmatch(found):
        message = f"“{entry}” is not the name of a host. Write it like api.example.com: no address, scheme or path."
        raise ValueError(message)
    if found.rpartition(".")[2] in _NOT_PUBLIC:
        message = f"“{entry}” is not a public host, and the gateway only reaches public hosts."
        raise ValueError(message)
    return found if not colon or int(port) == HTTPS else f"{found}:{port}"


def _to_ascii(name: str) -> str:
    """Returns the name in ASCII, or an empty text if it has no unambiguous ASCII form."""
    if _CHANGED_ON_THE_WAY & set(name):
        return ""
    try:
        return punycode(name).lower()
    except UnicodeError:
        return ""


def _read_model(entry: str) -> str:
    if not _MODEL.fullmatch(entry):
        message = f"“{entry[:80]}” is not the name of a model. Write it like its provider, such as openai/gpt-5."
        raise ValueError(message)
    return entry
