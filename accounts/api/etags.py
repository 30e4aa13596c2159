"""`ETag` and 304 (RFC 9110, section 13): a client that polls gets a short answer if nothing has changed.

The tag is strong: it is a digest of the bytes, keyed with their owner. `Cache-Control` stays `no-store`, because
answers are private: a client that polls keeps the tag and the answer itself.
"""

from collections.abc import Mapping
from hashlib import blake2b

from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request

IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The `ETag` of an answer that you have. If it still holds, the answer is 304 without a body.",
)
UNCHANGED = {304: OpenApiResponse(description="Nothing has changed since the answer that `If-None-Match` names.")}


def answer_with_etag(
    request: HttpRequest | Request, body: bytes, *, of: bytes = b"", headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Returns the JSON, or 304 if the client already has these bytes. `of` identifies their owner."""
    etag = make_etag(body, of=of)
    if has_etag(request, etag):
        return not_modified(etag, headers=headers)
    return send_with_etag(body, etag, headers=headers)


def send_with_etag(body: bytes, etag: str, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(body, content_type="application/json", headers={**(headers or {}), **_validators(etag)})


def make_etag(body: bytes, *, of: bytes) -> str:
    return f'"{blake2b(body, digest_size=16, key=of).hexdigest()}"'


def has_etag(request: HttpRequest | Request, etag: str) -> bool:
    """Returns whether `If-None-Match` has this tag. Proxies that compress answers turn it into a weak one."""
    sent = request.META.get("HTTP_IF_NONE_MATCH")
    if not sent:
        return False
    known = parse_etags(sent)
    return known == ["*"] or etag in known or f"W/{etag}" in known


def not_modified(etag: str, *, headers: Mapping[str, str] | None = None) -> HttpResponse:
    answer = HttpResponse(status=304, headers={**(headers or {}), **_validators(etag)})
    del answer["Content-Type"]
    return answer


def _validators(etag: str) -> dict[str, str]:
    return {"ETag": etag, "Vary": "Authorization"}
