"""Counts the requests to the engine by their kind and outcome."""

import time
from collections.abc import Callable
from urllib.parse import urlsplit

import requests
from prometheus_client import Counter

from containers.docker_api.errors import is_timeout
from containers.processes.process_metrics import PROCESS
from containers.processes.tracing import note_span

REQUESTS = Counter("berth_engine_requests", "Requests to the engine.", ["verb", "outcome"], registry=PROCESS)

_KINDS = frozenset(
    {"containers", "exec", "images", "networks", "nodes", "secrets", "services", "swarm", "tasks", "volumes"}
)
_ALONE = {"_ping": "ping", "version": "version", "info": "info", "events": "events", "build": "build"}
_WORDS = frozenset(
    {"archive", "attach", "connect", "create", "disconnect", "history", "kill", "load", "logs", "prune", "rename"}
    | {"resize", "restart", "start", "stats", "stop", "tag", "top", "update", "wait"}
)

Send = Callable[[], requests.Response]


def send_counted(method: str, url: str, send: Send) -> requests.Response:
    """Sends the request and counts it. A stream counts as soon as its answer begins."""
    began = time.monotonic()
    try:
        response = send()
    except Exception as error:
        _note(name_verb(method, url), "late" if is_timeout(error) else "silent", began)
        raise
    _note(name_verb(method, url), name_outcome(response.status_code), began)
    return response


def _note(verb: str, outcome: str, began: float) -> None:
    REQUESTS.labels(verb, outcome).inc()
    note_span(f"engine {verb}", since=began, outcome=outcome)


def name_verb(method: str, url: str) -> str:
    """Returns the kind of request, such as `containers start`. There are only a few dozen, free of names and ids."""
    parts = urlsplit(url).path.strip("/").split("/")
    if parts[0][:1] == "v" and parts[0][1:2].isdigit():
        del parts[0]
    kind, *rest = parts or [""]
    if kind in _ALONE:
        return _ALONE[kind]
    if kind not in _KINDS:
        return "other"
    last = rest[-1] if rest else ""
    if method == "DELETE":
        return f"{kind} remove"
    if last in _WORDS:
        return f"{kind} {last}"
    return f"{kind} list" if last in {"", "json"} and len(rest) < 2 else f"{kind} inspect"


def name_outcome(status: int) -> str:
    if status < 400:
        return "done"
    return {404: "missing", 409: "conflict"}.get(status, "refused") if status < 500 else "failed"
