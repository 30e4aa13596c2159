"""The access log: one line for each request, built from parts that are each redacted or known to be harmless.

Every other log line is searched for credentials as a whole. Here that would take as long as many an answer, and clients
that poll request the same few paths again and again.
"""

import logging
from urllib.parse import quote

from config.logs.formatting import IS_REDACTED, redact

access = logging.getLogger("berth.access")

# Load balancers and monitors poll these every few seconds, so they are logged at DEBUG only.
_POLLED = frozenset({"/healthz", "/readyz", "/readyz/server", "/metrics"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_KNOWN_AT_MOST = 1000
_harmless: set[str] = set()
"""Paths of this process in which nothing needed redaction. Others are not kept, because they hold credentials."""


def log_access(*, method: str, path: str, status: int, milliseconds: float, request_id: str, is_our_id: bool) -> None:
    """Writes the path on one line, without its query and its credentials, whether a route matched it or not."""
    path = _redact_path(quote(path, safe="/:@"))
    level = logging.DEBUG if path in _POLLED else logging.INFO
    if not access.isEnabledFor(level):
        return
    fields = {
        "method": method,
        "path": path,
        "status": status,
        "ms": round(milliseconds, 1),
        "request_id": request_id if is_our_id else redact(request_id),
        IS_REDACTED: method in _METHODS,
    }
    access.log(level, "%s %s %d %.1f ms", method, path, status, milliseconds, extra=fields)


def _redact_path(path: str) -> str:
    if path in _harmless:
        return path
    redacted = redact(path)
    if redacted == path and len(path) <= 100:
        if len(_harmless) >= _KNOWN_AT_MOST:
            _harmless.clear()
        _harmless.add(path)
    return redacted
