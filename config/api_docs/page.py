"""The page that shows the description of the API. It needs no cookie, and is the same for everyone."""

import json
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from drf_spectacular.utils import extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.renderers import StaticHTMLRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from config.api_docs.description import describe_service
from config.api_docs.fields import inline_enums, name_of, read_fields, read_parameter
from config.api_docs.samples import Call, write_samples
from config.api_docs.schema_view import address_of

GROUPS = {
    "projects": "Projects",
    "catalogue": "Plans and types",
    "auth": "Signing in and keys",
    "health": "Health of the service",
}
_AS_TEXT = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
"""Quotes in the text of a page are not escaped. Django's own escaping would make it a quarter larger."""

_WELL = ("200", "201", "204", "202")
"""An operation's usual success is the first of these statuses that it declares."""


class DocsView(APIView):
    authentication_classes: list[type[BaseAuthentication]] = []
    permission_classes = [AllowAny]
    throttle_classes: list[type[BaseThrottle]] = []
    renderer_classes = [StaticHTMLRenderer]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(_render(address_of(request)))

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:  # noqa: ARG002 - the framework's names
        """Answers without a body, because the description of a view is not a page."""
        return Response("")


@lru_cache(maxsize=16)
def _render(address: str) -> str:
    """Returns the page for clients that reach the service at this address, of which there are few."""
    return render_to_string("config/api_docs.html", describe_api(describe_service(), address))


def describe_api(schema: dict[str, Any], address: str) -> dict[str, Any]:
    """Returns the context of the template: groups of operations with samples, the schemas, and the refusals."""
    schema = inline_enums(schema)
    operations: dict[str, list[dict[str, Any]]] = {tag: [] for tag in GROUPS}
    refusals: dict[str, str] = {}
    answers: dict[str, Any] = {}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            operations.setdefault(operation["tags"][0], []).append(_describe(path, method.upper(), operation, address))
            answers |= _examples_of(operation)
            refusals |= {
                status: each["description"] for status, each in operation["responses"].items() if status >= "400"
            }
    return {
        "info": schema["info"],
        "address": address,
        "groups": [(tag, GROUPS.get(tag, tag), found) for tag, found in operations.items() if found],
        "schemas": [
            (
                name,
                each.get("description", ""),
                read_fields(each, is_sent=name.endswith("Request")),
                name in answers and _write_json(answers[name]),
            )
            for name, each in schema["components"]["schemas"].items()
            if "properties" in each
        ],
        "refusals": sorted(refusals.items()),
        "has_palette": True,  # the same for everyone, and leads to no staff page
    }


def _describe(path: str, method: str, operation: dict[str, Any], address: str) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    status = next(each for each in _WELL if each in operation["responses"])
    content = operation["responses"][status].get("content", {})
    answer = content.get("application/json")
    parameters = operation.get("parameters", [])
    filled = path
    for each in parameters:
        if each["in"] == "path":
            filled = filled.replace(f"{{{each['name']}}}", each["example"])
    takes_token = {"bearer": []} in operation.get("security", [])
    answers = "json" if answer else "text" if content else "nothing"
    call = Call(method, address + filled, takes_token, body and body["example"], answers)
    return {
        "name": operation["operationId"],
        "method": method,
        "path": path,
        "summary": operation["summary"],
        "description": operation["description"].removeprefix(f"{operation['summary']}.").strip(),
        "takes_token": takes_token,
        "parameters": [read_parameter(each) for each in parameters],
        "body": body and name_of(body["schema"]),
        "status": status,
        "others": [each for each in operation["responses"] if each < "300" and each != status],
        "answers_list": bool(answer and "items" in answer["schema"]),
        "answer": answer and name_of(answer["schema"]),
        "refusals": [each for each in operation["responses"] if each >= "400"],
        "samples": [(language, _as_text(text)) for language, text in write_samples(call)],
    }


def _examples_of(operation: dict[str, Any]) -> dict[str, Any]:
    """Returns the example of each answer by the name of its schema, so that the page shows each once."""
    content = (each.get("content", {}).get("application/json", {}) for each in operation["responses"].values())
    return {name_of(each["schema"]): each["example"] for each in content if "example" in each}


def _write_json(value: Any) -> SafeString:
    return _as_text(json.dumps(value, indent=2, ensure_ascii=False))


def _as_text(text: str) -> SafeString:
    """Escapes the text of an element. Not for attributes."""
    return mark_safe(text.translate(_AS_TEXT))  # noqa: S308  # nosec B308 B703 - what ends a text is escaped
