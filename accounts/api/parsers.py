"""Parses request bodies: JSON in UTF-8, with finite numbers, limited depth, and each name once in an object."""

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import IO, Any, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from accounts.api.unknown_names import encodable
from accounts.errors import CodedBodyError
from accounts.json_names import RepeatedNameError, refuse_repeated_names

DEPTH_LIMIT = 32
"""Code that walks through a document is recursive, and 64 KiB can hold 32,000 brackets."""


class StrictJSONParser(JSONParser):
    """Raises `ParseError` for text that is not standard JSON, and for documents that would break later code."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        coding = parser_context["request"].META.get("HTTP_CONTENT_ENCODING", "") if parser_context else ""
        if coding.strip().lower() not in {"", "identity"}:
            raise CodedBodyError
        try:
            document = json.loads(
                stream.read().decode(),
                object_pairs_hook=refuse_repeated_names,
                parse_constant=_reject_constant,
                parse_int=_read_int,
            )
        except RecursionError:
            raise _too_deep() from None
        except RepeatedNameError as error:
            raise ParseError(f"One object has the name “{encodable(error.name)}” twice. Send it once.") from None
        except ValueError as error:  # broken JSON, or bytes that are not UTF-8
            raise ParseError(f"This is not well-formed JSON{_place(error)}.") from None
        _check_document(document)
        return document


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _read_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # it has thousands of digits
        raise _too_large() from None


def _place(error: ValueError) -> str:
    return f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""


def _check_document(document: Any) -> None:
    level: list[dict[str, Any] | list[Any]] = [[document]]
    for _ in range(DEPTH_LIMIT + 1):
        values = [value for parent in level for value in _children(parent)]
        if any(isinstance(value, float) and not isfinite(value) for value in values):
            raise _too_large()
        level = [value for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise _too_deep()


def _children(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _too_large() -> ParseError:
    return ParseError("A number in the body is too large.")


def _too_deep() -> ParseError:
    return ParseError(f"The body is nested more than {DEPTH_LIMIT} levels deep.")
