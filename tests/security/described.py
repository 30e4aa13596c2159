"""The operations of the API as its own description lists them: their query parameters, headers and bodies."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from tests.security.routes import address_of

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Operation:
    """`fields` are the paths of the fields of the body, such as `("budget", "day_tokens")`."""

    method: str
    path: str
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    fields: tuple[tuple[str, ...], ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def address(self, known: dict[str, Any]) -> str:
        return address_of(self.path.replace("{", "<str:").replace("}", ">"), known)


def read_description() -> dict[str, Any]:
    described: dict[str, Any] = Client().get("/api/schema", headers={"accept": "application/json"}).json()
    return described


def read_numbers() -> Iterator[tuple[Operation, str, dict[str, Any]]]:
    """Yields each whole number in a query: its operation, its name and its schema."""
    for path, methods in sorted(read_description()["paths"].items()):
        for method, operation in methods.items():
            for each in operation.get("parameters", []):
                if each["in"] == "query" and each["schema"].get("type") == "integer":
                    yield Operation(method=method.upper(), path=path), each["name"], each["schema"]


def read_operations() -> list[Operation]:
    described = read_description()
    return [
        Operation(
            method=method.upper(),
            path=path,
            query=_names(operation, "query"),
            headers=_names(operation, "header"),
            fields=tuple(_fields(operation, described["components"]["schemas"])),
        )
        for path, methods in sorted(described["paths"].items())
        for method, operation in methods.items()
        if method in METHODS
    ]


def _names(operation: dict[str, Any], place: str) -> tuple[str, ...]:
    return tuple(each["name"] for each in operation.get("parameters", []) if each["in"] == place)


def _fields(operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        yield from _walk(content["schema"], schemas, ())


def _walk(schema: dict[str, Any], schemas: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for named in (schema, *schema.get("allOf", []), *schema.get("oneOf", []), *schema.get("anyOf", [])):
        found = schemas[named["$ref"].rpartition("/")[2]] if "$ref" in named else named
        for name, inner in found.get("properties", {}).items():
            yield (*above, name)
            yield from _walk(inner, schemas, (*above, name))
