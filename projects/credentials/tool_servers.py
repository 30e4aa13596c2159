"""Asks tool servers whether they would accept an agent. The result is at most a warning.

The setting is `mcp`, a list of addresses, in any agent type. Many of these servers require a sign-in by browser
(OAuth), which agents cannot do, so they would have to work without those tools.
"""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.public_http import AddressRefusedError, NoAnswerError, post
from projects.rules.settings.keyed_servers import header_of, separate

SETTING = "mcp"
MOST = 5
LIMIT = settings.BERTH_OUTSIDE_LIMIT
"""Seconds for all servers together. Each gets its share of the rest, so that a slow one leaves time for others."""

LEAST = 0.1
"""The minimum number of seconds for one server."""

_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_WHO = {"name": "berth", "version": settings.BERTH_VERSION}
_PARAMS = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _WHO}
_HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _PARAMS}).encode()

LOGIN = "tools_login: {} asks for a sign-in. Enter a key or token of it: agents cannot sign in with a browser (OAuth)."
REFUSED = "tools_refused: {} refuses its credential. Enter a valid one."
SILENT = "tools_unverified: {} did not answer as a server of tools does, so it could not be checked."


@sensitive_variables()
def look_at_servers(schema: Any, chosen: Mapping[str, Any], *, asker: str) -> tuple[str, ...]:
    """Returns warnings, each a code and a sentence.

    `chosen` are settings whose credentials have a valid shape; `asker` is the user who chose them. Skips servers in
    private networks, because staff decide whether agents may reach these.
    """
    named = chosen.get(SETTING)
    if not settings.BERTH_VERIFY_CREDENTIALS or not isinstance(named, list):
        return ()
    credentials = separate(schema, chosen, {}).credentials
    until = time.monotonic() + LIMIT
    addresses = [each.strip() for each in named if isinstance(each, str)][:MOST]
    return tuple(_look_at_each(addresses, credentials, until, asker))


@sensitive_variables()
def _look_at_each(addresses: list[str], credentials: Mapping[str, str], until: float, asker: str) -> Iterator[str]:
    for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
        within = max((until - time.monotonic()) / left, LEAST)
        credential = credentials.get(address, "")
        headers = _HEADERS | (dict([header_of(credential)]) if credential else {})
        try:
            status = post(address, _HELLO, headers, within=within, asker=asker)
        except AddressRefusedError:
            continue
        except NoAnswerError:
            status = 0
        if not 200 <= status < 300:
            sentence = (REFUSED if credential else LOGIN) if status == 401 else SILENT
            yield sentence.format(_name(address))


def _name(address: str) -> str:
    try:
        return urlsplit(address).hostname or SETTING
    except ValueError:
        return SETTING
