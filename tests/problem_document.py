"""What every error answer of the API has to be (RFC 9457, and the shape that `decisions.md` gives it)."""

from typing import Any

MEMBERS = {"type", "title", "status", "detail", "code", "request_id"}


def assert_problem(answer: Any, status: int, code: str, *, field: str | None = None) -> dict[str, Any]:
    """The answer is the problem document of this status and code, and names `field` where one is given."""
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
    """Field and code of each error."""
    return {(error["field"], error["code"]) for error in answer.json()["errors"]}


def errors_of(answer: Any) -> list[dict[str, Any]]:
    """The errors of a 400 for a bad body."""
    assert_problem(answer, 400, "invalid")
    errors: list[dict[str, Any]] = answer.json()["errors"]
    return errors
