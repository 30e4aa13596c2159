"""What the OpenAPI description says of tokens and errors. Imported by the views, which is when spectacular needs it."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # spectacular's registry
    target_class = "accounts.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002 - spectacular's signature
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A session token of POST /api/auth/login, or an API key.",
        }


class FieldProblemSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(allow_null=True, help_text="Its path, or null for the body as a whole.")
    code = serializers.CharField()
    detail = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """RFC 9457."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="A sentence for people.")
    code = serializers.CharField(help_text="Stable, for programs.")
    errors = FieldProblemSerializer(many=True, required=False)  # type: ignore[assignment]  # a field, not the property
    request_id = serializers.CharField(help_text="Also in the header X-Request-ID.")


_MEANINGS = {
    400: "Something invalid was sent; `errors` names it.",
    401: "No token, or one that is not valid.",
    403: "Not with this token.",
    404: "There is no such thing, or it is not yours.",
    409: "Not in the present state.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "The Idempotency-Key was used with another body.",
    429: "Too many requests; see Retry-After.",
    502: "The engine refused.",
    503: "The engine does not answer.",
}


def problems(*statuses: int) -> dict[Any, OpenApiResponse]:
    """Responses for `extend_schema`: problem documents of these statuses. Whoever needs a token has limits, too."""
    limited = {429} if 401 in statuses else set()
    return {
        (status, "application/problem+json"): OpenApiResponse(ProblemSerializer, description=_MEANINGS[status])
        for status in sorted({*statuses, *limited})
    }
