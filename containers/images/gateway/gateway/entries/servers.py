"""Internet servers that an agent uses with its owner's credentials, such as those of its tools. Pure."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gateway.entries.fields import DIGEST, EntryError, read_base, read_matching, read_object
from gateway.tunnels.target import Target, read_target

MOST = 16
LEAST_SECRET = 8
MOST_SECRETS = 16
"""The most texts to hide for one server, because each takes time for each byte of an answer."""
PORTS = {"http": 80, "https": 443}
_ID = re.compile(r"[0-9a-f]{16}")
_HEADER = re.compile(r"authorization|api-key|x-[a-z0-9-]{1,60}")
_APART = re.compile(r'[ ",;]+')
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?")


@dataclass(frozen=True, slots=True)
class Server:
    base: str
    target: Target
    header: str
    value: str = field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Returns the texts to hide: the value, each word of it, and the text after a parameter's name in a word.

        Omits texts shorter than a credential can be, because they would also occur in harmless answers.
        """
        words = [*self.value.split(" "), *_APART.split(self.value)]
        found = (self.value, *words, *(word.partition("=")[2] for word in words))
        return tuple(dict.fromkeys(each for each in found if len(each) >= LEAST_SECRET or each is self.value))


@dataclass(frozen=True, slots=True)
class Servers:
    virtual: str
    """The digest of the virtual credential, which is part of the path."""
    by_id: Mapping[str, Server]
    """By the id that stands for a server in the path. An id is never reused for another server."""
    only_hosts: bool
    """Whether only servers on the entry's allowed hosts may be called."""


def read_servers(document: object) -> Servers:
    """Reads the servers, which owners write. Omits a malformed server, so that the rest of the entry stays valid.

    Raises EntryError.
    """
    given = read_object(document, "servers")
    listed = read_object(given.get("by_id"), "servers.by_id")
    if len(listed) > MOST:
        raise EntryError("servers.by_id has too many.")
    by_id = {}
    for name, server in listed.items():
        with suppress(EntryError):
            by_id[read_matching(name, _ID, "servers.by_id")] = _server(server)
    virtual = read_matching(given.get("virtual"), DIGEST, "servers.virtual")
    return Servers(virtual, by_id, only_hosts=given.get("only_hosts") is not False)


def _server(document: object) -> Server:
    given = read_object(document, "servers.by_id")
    parts = urlsplit(read_base(given.get("base")))
    target = read_target(f"{parts.hostname}:{parts.port or PORTS[parts.scheme]}")
    if target is None:
        raise EntryError("servers.by_id has an address without a host name.")
    header = read_matching(given.get("header"), _HEADER, "servers.by_id.header")
    value = read_matching(given.get("value"), _VALUE, "servers.by_id.value")
    server = Server(str(given["base"]), target, header, value)
    if len(server.secrets) > MOST_SECRETS:
        raise EntryError("servers.by_id has a value of too many words.")
    return server
