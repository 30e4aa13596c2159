"""Where agents may go and which models they may use, as staff and owners write it. Pure rules.

Lists have one entry on each line.
"""

import re
from collections.abc import Callable, Iterable

from django.db.models import TextChoices
from django.utils.encoding import punycode

from accounts.text import hides_something

MOST_ENTRIES = 200
LIST_LENGTH = 20_000
"""Characters of a whole list."""

HTTPS = 443
_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\.(?=[a-z]){_LABEL}")
"""At least two labels, of which the last one begins with a letter: no address in any way of writing it."""
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_MODEL = re.compile(r"[\x21-\x7e]{1,200}")
_NOT_PUBLIC = frozenset({"localhost", "local", "internal", "localdomain", "arpa", "onion"})
"""Names below these are of no public host."""
_CHANGED_ON_THE_WAY = frozenset("ßςẞ\u200c\u200d")
"""What Python's table writes otherwise than browsers do (IDNA 2003 and 2008)."""


class Egress(TextChoices):
    """What an agent reaches: the internet and the gateway, or the gateway alone, names included."""

    INTERNET = "internet", "the internet"
    GATEWAY = "gateway", "the gateway alone"


def egress_in_force(wishes: Iterable[str]) -> Egress:
    """The strictest of those of the installation, the type, the staff and the owner."""
    return Egress.INTERNET if all(each == Egress.INTERNET for each in wishes) else Egress.GATEWAY


def models_in_force(lists: Iterable[str]) -> frozenset[str] | None:
    """What all the lists allow. An empty list allows all models, and None stands for all."""
    allowed = [frozenset(entries) for text in lists if (entries := split_list(text))]
    return frozenset.intersection(*allowed) if allowed else None


def split_list(text: str) -> list[str]:
    """Without blanks around them. Any other character that nobody sees is part of an entry, and refused with it."""
    return [entry for line in text.replace("\r\n", "\n").split("\n") if (entry := line.strip(" "))]


def read_hosts(text: str) -> list[str]:
    """Each host as the gateway compares it: lower case, ASCII, and its port unless that is 443.

    Raises `ValueError` with a sentence.
    """
    return _read(text, _read_host)


def read_models(text: str) -> list[str]:
    """Raises `ValueError` with a sentence."""
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
        message = f"“{entry}” is no name of a host. Write it as api.example.com: no address, scheme or path."
        raise ValueError(message)
    if found.rpartition(".")[2] in _NOT_PUBLIC:
        message = f"“{entry}” is no public host, and the gateway leads to no other."
        raise ValueError(message)
    return found if not colon or int(port) == HTTPS else f"{found}:{port}"


def _to_ascii(name: str) -> str:
    """Empty for what has no one way of writing it so."""
    if _CHANGED_ON_THE_WAY & set(name):
        return ""
    try:
        return punycode(name).lower()
    except UnicodeError:
        return ""


def _read_model(entry: str) -> str:
    if not _MODEL.fullmatch(entry):
        message = f"“{entry[:80]}” is no name of a model. Write it as its provider does, such as openai/gpt-5."
        raise ValueError(message)
    return entry
