"""Reads who asks for a tunnel, and to which target."""

import base64
import binascii
from collections.abc import Sequence
from contextlib import suppress

from gateway.entries.entry import Entry
from gateway.rules.callers import Callers, admit
from gateway.rules.refusals import RefusedError, Why
from gateway.tunnels.target import Target, read_target

UNKNOWN = "No agent has this address or credential."


def read_connect_target(text: str) -> Target:
    """Returns the target of a CONNECT. Raises RefusedError if it is not a host name with a port."""
    target = read_target(text)
    if target is None:
        raise RefusedError(Why.BAD, "CONNECT needs the name of a host and a port.")
    return target


def identify_agent(callers: Callers, *, given: Sequence[str], address: str) -> Entry:
    """Identifies the agent by its address, which no other agent can have. If its entry has no address, or one that
    another agent may get next, the agent must send a virtual credential.

    `given` are the values of Proxy-Authorization, with the credential as the password of Basic authentication. Raises
    RefusedError.
    """
    if len(given) > 1:
        raise RefusedError(Why.BAD, "A header came twice.")
    if given:
        found = callers.identify(credential=_read_password(given[0]), address=address)
    else:
        found = callers.find_address(address)
    return admit(found, otherwise=RefusedError(Why.FORBIDDEN, UNKNOWN))


def _read_password(value: str) -> str:
    scheme, _, encoded = value.partition(" ")
    password = ""
    if scheme.lower() == "basic":
        with suppress(binascii.Error, UnicodeDecodeError):
            password = base64.b64decode(encoded.strip(), validate=True).decode("ascii").partition(":")[2]
    if not password:
        raise RefusedError(Why.FORBIDDEN, UNKNOWN)
    return password
