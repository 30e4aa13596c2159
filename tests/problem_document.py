"""The format of every error answer of the API: RFC 9457, with the fields that all of ours have."""

from typing import Any

MEMBERS = {"type", "title", "status", "detail", "code", "request_id"}


def assert_problem(answer: Any, status: int, code: str, *, field: str | None = None) -> dict[str, Any]:
    """Asserts that the answer is the problem document of this status and code, and names `field` if one is given."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert set(document) == MEMBERS | ({"errors"} if status == 400 else set())
    assert (document["status"], document["code"]) == (status, code)
    assert document["request_id"] == answer["X-Request-ID"]
    assert document["detail"].endswith((".", "`."))
    assert answer["Cache-Control"] == "no-store"
    for error in document.get("errors", []):
        assert set(error) == {"field", "code", "detail"}
        assert error["detail"].endswith("."), error
    if field is not None:
        assert field in [error["field"] for error in document["errors"]], document["errors"]
    return document


def codes_of(answer: Any) -> set[tuple[str | None, str]]:
    """Returns field and code of each error."""
    return {(error["field"], error["code"]) for error in answer.json()["errors"]}


def errors_of(answer: Any) -> list[dict[str, Any]]:
    """Returns the errors of a 400 for a bad body."""
    assert_problem(answer, 400, "invalid")
    errors: list[dict[str, Any]] = answer.json()["errors"]
    return errors
