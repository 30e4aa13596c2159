"""Fields and parameters for the page that shows the API."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a field, as the page shows it."""

    name: str
    kind: str
    help: str
    required: bool = False
    place: str = ""
    example: str = ""


def read_parameter(parameter: dict[str, Any]) -> Field:
    return Field(
        name=parameter["name"],
        kind=_kind_of(parameter["schema"]),
        help=parameter.get("description", ""),
        required=parameter.get("required", False),
        place=parameter["in"],
        example=parameter.get("example", ""),
    )


def read_fields(schema: dict[str, Any], *, is_sent: bool) -> list[Field]:
    """Marks required fields only in requests. In an answer, clients can rely on every field."""
    required = schema.get("required", []) if is_sent else []
    # spectacular appends a list of the values, which the kind of the field already shows.
    return [
        Field(
            name,
            _kind_of(each),
            each.get("description", "").partition("\n\n*")[0].partition("* `")[0],
            name in required,
        )
        for name, each in schema["properties"].items()
    ]


def inline_enums(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the description with the values of each enumeration in place of its name, which means
    nothing to readers.
    """
    enums = {name: each for name, each in schema["components"]["schemas"].items() if "enum" in each}

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(each) for each in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node and (found := enums.get(name_of(node))):
            return {"enum": found["enum"]} | {key: each for key, each in node.items() if key != "$ref"}
        return {key: inline(each) for key, each in node.items()}

    result: dict[str, Any] = inline(schema)
    return result


def name_of(schema: dict[str, Any]) -> str:
    reference = schema.get("items", schema).get("$ref", "")
    return str(reference).rpartition("/")[2]


def _kind_of(schema: dict[str, Any]) -> str:
    """Describes the type of a value in a few words."""
    if "$ref" in schema:
        return name_of(schema)
    for several in ("allOf", "oneOf", "anyOf"):
        if several in schema:
            kinds = dict.fromkeys(_kind_of(each) for each in schema[several])
            return " or ".join("null" if kind == "NullEnum" else kind for kind in kinds)
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind_of(schema['items'])}"
    kind = schema.get("type", "any")
    named = {"string": schema.get("format", "text")}
    return " or ".join(str(named.get(each, each)) for each in (kind if isinstance(kind, list) else [kind]))
