"""Adds tokens, strict bodies and errors to the OpenAPI description. spectacular finds it through the views."""

from typing import Any

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # spectacular's registry
    target_class = "accounts.api.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002 - spectacular's signature
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A session token of POST /api/auth/login, or an API key.",
        }


class StrictSerializerSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # spectacular's registry
    """Declares that unknown fields are refused."""

    target_class = "accounts.api.fields.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # noqa: SLF001 - as in spectacular's documentation
        return {**schema, "additionalProperties": False} if direction == "request" else schema


class StrictCharFieldSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # the same
    """Declares the pattern of characters that a text may contain."""

    target_class = "accounts.api.fields.StrictCharField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)  # noqa: SLF001 - the same
        return schema | ({"pattern": self.target.pattern} if self.target.pattern else {})


class FieldProblemSerializer(serializers.Serializer[Any]):
    field = serializers.CharField(allow_null=True, help_text="Its path, or null for the body as a whole.")
    code = serializers.CharField()
    detail = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """A problem document (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="A sentence for people.")
    code = serializers.CharField(help_text="Stable, for programs.")
    errors = FieldProblemSerializer(many=True, required=False)  # type: ignore[assignment]  # a field, not the property
    request_id = serializers.CharField(help_text="Also in the header X-Request-ID.")


_DESCRIPTIONS = {
    400: "Something invalid was sent; `errors` names it.",
    401: "No token, or one that is not valid.",
    403: "This token does not allow it.",
    404: "It does not exist, or it is not yours.",
    406: "Answers are JSON only.",
    409: "Not possible in the current state.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "The Idempotency-Key was used with another body.",
    429: "Too many requests; see Retry-After.",
    502: "The engine refused the request.",
    503: "The engine or the database does not answer; see `code` and Retry-After.",
}


def problems(*statuses: int) -> dict[Any, OpenApiResponse]:
    """Returns the problem documents of these statuses for `extend_schema`. Adds 429 if 401 is among them, because every
    view that requires a token has a limit.
    """
    limited = {429} if 401 in statuses else set()
    return {
        (status, "application/problem+json"): OpenApiResponse(ProblemSerializer, description=_DESCRIPTIONS[status])
        for status in sorted({*statuses, *limited})
    }


def complete_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:  # noqa: ARG001, FBT001 - spectacular's signature
    """Adds to each operation the problems that any view may answer with. A view declares only its own."""
    for operation in (operation for path in result["paths"].values() for operation in path.values()):
        statuses = {406} if "text/plain" not in operation["responses"].get("200", {}).get("content", {}) else set()
        if tokens := operation.get("security", []):
            statuses |= {429} if {} in tokens else {401, 429}
        statuses |= {503}  # every view asks the database
        if operation["operationId"] != "session":  # only `session` ignores unknown parameters
            statuses |= {400}
        if "requestBody" in operation:
            statuses |= {413, 415}
        for status in statuses:
            operation["responses"].setdefault(str(status), _PROBLEM | {"description": _DESCRIPTIONS[status]})
        operation["responses"] = dict(sorted(operation["responses"].items()))
    return result


def name_ids(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:  # noqa: ARG001, FBT001 - spectacular's signature
    """Declares each id in a path to be a UUID. The routes accept any text and answer 404 if it is not a UUID."""
    for operation in (operation for path in result["paths"].values() for operation in path.values()):
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                parameter["schema"] = {"type": "string", "format": "uuid"}
    return result


_PROBLEM = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}
