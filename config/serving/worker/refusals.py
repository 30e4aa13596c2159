"""Answers to requests that are not given to the application."""

import json
from http import HTTPStatus
from uuid import uuid4

from django.conf import settings

from config.outages import OVERLOADED

_KIBIBYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024
_DETAILS = {
    400: ("invalid", "The request cannot be read. Correct its address and headers."),
    408: ("request_timeout", "The request came too slowly. Send it again."),
    413: (
        "too_large",
        f"The body is larger than {_KIBIBYTES} KiB. Send a smaller one.",
    ),
    414: ("address_too_long", "The address is too long. Send a shorter one."),
    417: ("expectation_failed", "The header Expect is not supported. Send the request without it."),
    431: ("headers_too_large", "The headers are too large. Send fewer or shorter ones."),
    500: ("internal_error", "Something broke on our side. Try again, or report the `request_id`."),
    501: ("not_implemented", "The body comes in an unknown transfer coding. Send it plainly, or in chunks."),
    503: (OVERLOADED.code, OVERLOADED.sentence),
}


def refusal(status: int, *, request_id: str = "") -> bytes:
    """Returns a complete answer to a request that is not given to the application."""
    code, detail = _DETAILS[status]
    request_id = request_id or uuid4().hex
    title = HTTPStatus(status).phrase
    document = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    if status == HTTPStatus.BAD_REQUEST:
        document["errors"] = []
    body = json.dumps({**document, "request_id": request_id})
    headers = (
        f"HTTP/1.1 {status} {title}",
        "Connection: close",
        "Cache-Control: no-store",
        "Content-Type: application/problem+json",
        "X-Content-Type-Options: nosniff",
        f"Content-Length: {len(body)}",
        f"X-Request-ID: {request_id}",
        *([f"Retry-After: {OVERLOADED.retry_after}"] if status == HTTPStatus.SERVICE_UNAVAILABLE else []),
    )
    return ("\r\n".join(headers) + "\r\n\r\n" + body).encode()
