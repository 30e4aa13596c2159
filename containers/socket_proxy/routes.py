"""The list of calls that Berth makes to the engine. All others are refused.

`docs/socket-proxy.md` shows this list, and a test compares it with the real calls.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """The check of a request before it is passed on."""

    PASS = "pass"  # noqa: S105  # nosec B105 - the name of a rule
    LIST = "list"
    EVENTS = "events"
    CREATE = "create"
    CONTAINER = "container"
    LOGS = "logs"
    INSPECT = "inspect"
    RENAME = "rename"
    ARCHIVE = "archive"
    UPDATE = "update"
    EXEC = "exec"
    RUN = "run"
    NETWORK = "network"
    SEE_NETWORK = "see network"
    MAKE_NETWORK = "make network"
    CONNECT = "connect"
    DISCONNECT = "disconnect"
    VOLUME = "volume"
    SEE_VOLUME = "see volume"


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    rule: Rule
    params: frozenset[str]

    @property
    def pattern(self) -> re.Pattern[str]:
        own = _IMAGE if self.path.startswith("/images/") else _NAME
        return re.compile(re.sub(r"\{\w+\}", lambda _: own, self.path), re.ASCII)


_NAME = r"([A-Za-z0-9][A-Za-z0-9_.-]{0,254})"
_PART = r"[A-Za-z0-9][A-Za-z0-9_.:@-]*"
_IMAGE = rf"(?=.{{1,255}}/json$)({_PART}(?:/{_PART})*)"
_PREFIX = re.compile(r"/v1\.(?:4[1-9]|[5-9]\d)(?=/)", re.ASCII)
_VERBS = {"create", "json", "prune"}
"""Words that the engine accepts in the place of a name."""

_LOG = "follow stdout stderr timestamps tail since until"


def _route(line: str, rule: Rule, params: str = "") -> Route:
    method, path = line.split()
    return Route(method, path, rule, frozenset(params.split()))


ROUTES = (
    _route("GET /version", Rule.PASS),
    _route("GET /_ping", Rule.PASS),
    _route("GET /info", Rule.PASS),
    _route("GET /events", Rule.EVENTS, "filters since until"),
    _route("GET /containers/json", Rule.LIST, "all size limit trunc_cmd filters"),
    _route("POST /containers/create", Rule.CREATE, "name"),
    _route("GET /containers/{id}/json", Rule.INSPECT, "size"),
    _route("GET /containers/{id}/logs", Rule.LOGS, _LOG),
    _route("GET /containers/{id}/stats", Rule.CONTAINER, "stream one-shot"),
    _route("GET /containers/{id}/archive", Rule.ARCHIVE, "path"),
    _route("PUT /containers/{id}/archive", Rule.ARCHIVE, "path"),
    _route("POST /containers/{id}/start", Rule.CONTAINER),
    _route("POST /containers/{id}/stop", Rule.CONTAINER, "t"),
    _route("POST /containers/{id}/unpause", Rule.CONTAINER),
    _route("POST /containers/{id}/update", Rule.UPDATE),
    _route("POST /containers/{id}/rename", Rule.RENAME, "name"),
    _route("DELETE /containers/{id}", Rule.CONTAINER, "v link force"),
    _route("GET /images/{name}/json", Rule.PASS),
    _route("GET /networks/{name}", Rule.SEE_NETWORK),
    _route("POST /networks/create", Rule.MAKE_NETWORK),
    _route("POST /networks/{name}/connect", Rule.CONNECT),
    _route("POST /networks/{name}/disconnect", Rule.DISCONNECT),
    _route("DELETE /networks/{name}", Rule.NETWORK),
    _route("POST /containers/{id}/exec", Rule.EXEC),
    _route("POST /exec/{id}/start", Rule.RUN),
    _route("GET /volumes", Rule.LIST, "filters"),
    _route("GET /volumes/{name}", Rule.SEE_VOLUME),
    _route("DELETE /volumes/{name}", Rule.VOLUME, "force"),
)
UNVERSIONED = "/version"
"""The path without a version, by which Berth learns which versions the engine accepts."""

_PATTERNS = [(route, route.pattern) for route in ROUTES]


def version_of(path: str) -> str:
    """Returns the version at the head of a path, with its slash and letter; empty if it has none."""
    found = _PREFIX.match(path)
    return found[0] if found else ""


def find_route(method: str, path: str) -> tuple[Route, str] | None:
    """Returns the route of a path that begins with a version, and the name in it, or None if it is not on the list."""
    version = version_of(path)
    if (not version) != (path == UNVERSIONED):
        return None
    inner = path.removeprefix(version)
    for route, pattern in _PATTERNS:
        found = pattern.fullmatch(inner) if route.method == method else None
        name = found[1] if found and pattern.groups else ""
        if found and name not in _VERBS:
            return route, name
    return None
