"""Calls Berth's API: repeats calls that may succeed later, and turns refusals into sentences."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from berth_cli.contexts import Context
from berth_cli.errors import CommandError, RefusedError, UnreachableError
from berth_cli.transport import Answer, Transport, check_token

PATIENCE = 30.0
"""Seconds for which a call is repeated by itself, including all waits."""

SAFE = {"GET", "HEAD"}

T = TypeVar("T")

LONGEST_SENTENCE = 600


@dataclass(frozen=True)
class Document:
    """`raw` contains the bytes from the API, and `content` the parsed JSON: a dict, a list, or None without a body."""

    raw: bytes
    content: Any
    status: int
    headers: Mapping[str, str]


class Api:
    """`warn` is called with a sentence if the user has to wait. `token` replaces the context's. It is empty during a
    sign-in, and then not sent.
    """

    def __init__(self, context: Context, *, token: str | None = None, warn: Callable[[str], None]) -> None:
        self.context = context
        self.transport = Transport(context.url, ca=context.ca)
        self._token = context.token if token is None else token
        self._is_public = token == ""
        self._warn = warn

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        once_by: str = "",
        patience: float | None = None,
        within: float | None = None,
    ) -> Document:
        """Calls the API. With `once_by`, an idempotency key, a command may be repeated. Raises `CommandError`."""
        headers = {"Accept": "application/json"} | ({} if self._is_public else self.authorization())
        data = None if body is None else json.dumps(body).encode()
        headers.update({"Content-Type": "application/json"} if data is not None else {})
        headers.update({"Idempotency-Key": once_by} if once_by else {})
        target = f"/api/{path}{_write_query(query or {})}"
        may_repeat = method in SAFE or bool(once_by)

        def send() -> Document:
            answer = self.transport.send(method, target, headers=headers, body=data, within=within)
            return self._read(answer)

        try:
            return self._persist(send, patience=patience, may_repeat=may_repeat, is_command=bool(once_by))
        except UnreachableError as error:
            if error.is_sent and method not in SAFE and not self._is_public:
                raise UnreachableError(f"{error} It may have been carried out.") from None
            raise

    def read_text(self, path: str, *, query: Mapping[str, object]) -> bytes:
        """Returns an answer that is text. Raises `CommandError`."""
        target = f"/api/{path}{_write_query(query)}"
        headers = {"Accept": "*/*"} | self.authorization()

        def send() -> bytes:
            answer = self.transport.send("GET", target, headers=headers)
            if answer.status >= 300:
                raise self.refuse(answer)
            return answer.body

        return self._persist(send, patience=None, may_repeat=True, is_command=False)

    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {check_token(self._token)}"}

    def refuse(self, answer: Answer) -> CommandError:
        """Returns the error for an answer with a status of 300 or more."""
        problem = _parse(answer.body)
        if 300 <= answer.status < 400:
            return UnreachableError(
                f"{self.transport.host} redirects to another address, to which no token is sent. Log in there.",
                is_sent=False,
            )
        if not isinstance(problem, dict) or not isinstance(problem.get("detail"), str) or "code" not in problem:
            return UnreachableError(
                f"{self.transport.host} has answered {answer.status}, but not like Berth. Perhaps a proxy in "
                "front of it cannot reach it."
            )
        details: dict[str, Any] = {str(name): value for name, value in problem.items()}
        details["retry_after"] = _read_seconds(answer.headers.get("Retry-After"))
        return RefusedError(_sentence(details), status=answer.status, problem=details, document=answer.body)

    def _persist(self, send: Callable[[], T], *, patience: float | None, may_repeat: bool, is_command: bool) -> T:
        """Returns what `send` returns, after as many attempts as make sense and fit into `patience`."""
        until = time.monotonic() + (PATIENCE if patience is None else patience)
        while True:
            found = _attempt(send)
            if not isinstance(found, CommandError):
                return found
            wait = _find_wait(found, may_repeat=may_repeat, is_command=is_command)
            if wait is None or time.monotonic() + wait > until:
                raise found
            self._warn(f"{found} Trying again in {wait:.0f} s.")
            time.sleep(wait)

    def _read(self, answer: Answer) -> Document:
        if answer.status >= 300:
            raise self.refuse(answer)
        data = _parse(answer.body) if answer.body else None
        if answer.body and not isinstance(data, (dict, list)):
            raise UnreachableError(
                f"The answer of {self.transport.host} cannot be read: it is cut off, or not from Berth."
            )
        return Document(answer.body, data, answer.status, {name.lower(): text for name, text in answer.headers.items()})


def _attempt(send: Callable[[], T]) -> T | CommandError:
    try:
        return send()
    except CommandError as error:
        return error


def _find_wait(error: CommandError, *, may_repeat: bool, is_command: bool) -> float | None:
    """Returns the seconds after which another attempt makes sense, or None. A call refused for its rate was not begun,
    so any call may be repeated then. A call that may have been carried out is repeated only if that does nothing twice.
    """
    if isinstance(error, UnreachableError):
        return 2.0 if is_command and error.is_sent else None
    if not isinstance(error, RefusedError) or error.problem["retry_after"] is None:
        return None
    is_under_way = error.status == 409 and is_command and error.problem.get("code") == "operation_in_progress"
    if error.status == 429 or (may_repeat and (error.status == 503 or is_under_way)):
        return float(max(1.0, error.problem["retry_after"]))
    return None


def _sentence(problem: dict[str, Any]) -> str:
    """Returns the API's sentence, or its sentences about the fields if the request contained something invalid."""
    errors = problem.get("errors")
    named = [each for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    lines = [
        f"{each['field']}: {each.get('detail')}" if each.get("field") else str(each.get("detail")) for each in named
    ]
    return (" ".join(lines) or str(problem["detail"]))[:LONGEST_SENTENCE]


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _read_seconds(text: object) -> float | None:
    """Reads a Retry-After in seconds. Treats a date, which Berth never sends, as a minute."""
    if text is None:
        return None
    try:
        return min(float(str(text)), 86_400.0)
    except ValueError:
        return 60.0


def open_stream(api: Api, path: str, *, query: Mapping[str, object], within: float) -> Any:
    """Opens a stream and returns the answer. Raises `CommandError` if it is refused."""
    headers = {"Accept": "text/event-stream"} | api.authorization()
    target = f"/api/{path}{_write_query(query)}"
    answer = api.transport.open("GET", target, headers=headers, within=within)
    if answer.status >= 300:
        try:
            with answer:
                body = answer.read(65_536)
        except (OSError, ValueError):
            body = b""
        raise api.refuse(Answer(answer.status, answer.headers, body))
    return answer


def _write_query(query: Mapping[str, object]) -> str:
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"?{urlencode(given)}" if given else ""
