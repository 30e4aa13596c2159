"""Hostile values for everything that the API's description says it accepts. Generated: a new parameter is included.

No value causes a 5xx, and no refusal is slow, long, or contains Python's words.
"""

import json
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from projects.models import AgentType
from tests.clients import api_of
from tests.projects.api.following import hang_up
from tests.sampling import Some
from tests.security.access_table import TABLE
from tests.security.described import Operation, read_numbers, read_operations
from tests.security.described_values import IN_BODIES, IN_HEADERS, IN_QUERIES
from tests.security.populated_service import PopulatedService

QUICK, SHORT = 3.0, 10_000
"""Seconds and bytes of an answer that refuses something."""

OF_PYTHON = re.compile(rb"dictionary|\bdict\b|NoneType|got type|<class|object at 0x|Traceback")
"""Words that mean nothing to a client."""

pytestmark = [pytest.mark.every_case]


@pytest.fixture
def send(service: PopulatedService, settings: Any) -> "Sender":
    settings.BERTH_LIMITS = dict.fromkeys(settings.BERTH_LIMITS, 10**6)
    return Sender(service)


class Sender:
    """Sends operations as Alice, and records what is wrong with the answers."""

    def __init__(self, service: PopulatedService) -> None:
        self.service, self.wrong = service, list[str]()
        self.operations = read_operations()
        self.api = api_of(service.alice)

    def __call__(
        self,
        operation: Operation,
        *,
        query: str = "",
        body: Any = None,
        headers: dict[str, str] | None = None,
        what: str,
    ) -> int:
        path = operation.address(self.service.route_parameters) + (f"?{query}" if query else "")
        content: Any = b"" if body is None else json.dumps(body).encode()  # bytes, which the stubs refuse
        began = time.monotonic()
        answer: Any = self.api.generic(operation.method, path, content, "application/json", headers=headers or {})
        took, size = time.monotonic() - began, 0 if answer.streaming else len(answer.content)
        if answer.streaming:
            hang_up(answer)
        elif answer.status_code >= 400 and (python := OF_PYTHON.search(answer.content)):
            self.wrong.append(f"{operation} {what[:80]!r} speaks of {python[0]!r}")
        if answer.status_code >= 500 or (answer.status_code >= 400 and (size > SHORT or took > QUICK)):
            self.wrong.append(f"{operation} {what[:80]!r}: {answer.status_code}, {size} bytes, {took:.1f} s")
        return int(answer.status_code)

    def body_of(self, operation: Operation) -> dict[str, Any] | None:
        """Returns a valid body; none for an operation without one."""
        rules = {path.replace("<str:pk>", "<str:id>"): rule for path, rule in TABLE.items()}
        rule = rules.get(operation.path.replace("{", "<str:").replace("}", ">"))
        return dict(rule.body) if rule and rule.body and operation.fields else None


def cases_of_queries(operations: list[Operation]) -> Iterator[tuple[Operation, str, str]]:
    for operation in operations:
        for name in (*operation.query, "unknown"):
            for value in IN_QUERIES:
                yield operation, name, value


@pytest.mark.rare(1)
def test_no_value_of_a_query_breaks_an_operation(send: Sender, some: Some) -> None:
    """Operations that are not reads are sent without their body, which most of them need,
    so they are always refused."""
    for operation, name, value in some(cases_of_queries(send.operations), one_in=12):
        status = send(operation, query=f"{name}={value.replace('{name}', name)}", what=f"?{name}={value}")
        is_strict = operation.method == "GET" and operation.path.startswith("/api/p")
        assert status == 400 or name != "unknown" or not is_strict, operation
    assert send.wrong == []


def test_a_number_is_taken_between_its_described_bounds_and_nowhere_else(send: Sender) -> None:
    """A client that follows the description is not refused, and learns nothing by trying."""
    found = list(read_numbers())
    assert {name for _, name, _ in found} >= {"limit", "tail", "run", "wait"}
    for operation, name, schema in found:
        low, high = schema["minimum"], schema["maximum"]
        for value in (low - 1, low, high, high + 1):
            content: Any = json.dumps(send.body_of(operation)).encode()
            path = f"{operation.address(send.service.route_parameters)}?{name}={value}"
            answer: Any = send.api.generic(operation.method, path, content, "application/json")
            refused = answer.status_code == 400 and name in {each["field"] for each in answer.json()["errors"]}
            assert refused == (not low <= value <= high), f"{operation} ?{name}={value}: {answer.status_code}"
            if answer.streaming:
                hang_up(answer)


def test_no_name_in_a_query_breaks_an_operation(send: Sender, some: Some) -> None:
    names = ["", "%00", "%ff", "%ed%a0%80", "a" * 4000, "[]", "__proto__", "&" * 2000]
    names.append("&".join(f"n{number}=1" for number in range(900)))
    reads = [operation for operation in send.operations if operation.method == "GET"]
    for operation, name in some([(operation, name) for operation in reads for name in names], one_in=3):
        send(operation, query=name, what=f"?{name}")
    assert send.wrong == []


@pytest.mark.rare(1)
def test_no_value_of_a_header_breaks_an_operation(send: Sender, some: Some) -> None:
    cases = [
        (operation, name, value)
        for operation in send.operations
        for name in (
            *operation.headers,
            "Authorization",
            "Accept",
            "Accept-Language",
            "X-Request-ID",
            "Range",
            "Expect",
        )
        for value in IN_HEADERS
    ]
    for operation, name, value in some(cases, one_in=16):
        send(operation, headers={name: value}, what=f"{name}: {value}")
    assert send.wrong == []


@pytest.mark.rare(1)
def test_no_value_of_a_field_breaks_an_operation(send: Sender, some: Some) -> None:
    cases = [
        (operation, path, make)
        for operation in send.operations
        for path in (*operation.fields, *_settings(operation))
        for make in IN_BODIES
    ]
    for operation, path, make in some(cases, one_in=8):
        body = _put(send.body_of(operation) or {}, path, make())
        send(operation, body=body, what=f"{'.'.join(path)} = {str(body)[:40]}")
    assert send.wrong == []


def _settings(operation: Operation) -> list[tuple[str, ...]]:
    if ("settings",) not in operation.fields:
        return []
    schema: Any = AgentType.objects.get(slug="assistant").settings_schema
    return [("settings", name) for name in schema["properties"]]


def _put(body: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    return body | {first: _put({}, tuple(rest), value) if rest else value}


@pytest.mark.parametrize(("figure", "least"), [("SHORT", 10), ("QUICK", 0.0)])
def test_a_long_or_slow_refusal_would_be_noted(
    send: Sender, monkeypatch: pytest.MonkeyPatch, figure: str, least: float
) -> None:
    monkeypatch.setattr(sys.modules[__name__], figure, least)
    assert send(send.operations[0], query="unknown=1", what="?unknown") == 400
    assert len(send.wrong) == 1
