"""Calls of Berth's API: what is tried again, and what is said where it refuses."""

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
"""Seconds for which a call is tried again by itself, all of its waits together."""

SAFE = {"GET", "HEAD"}

T = TypeVar("T")

LONGEST_SENTENCE = 600


@dataclass(frozen=True)
class Document:
    """`raw` is what the API has sent, and `told` what that says: a dict, a list, or None without a body."""

    raw: bytes
    told: Any
    status: int
    headers: Mapping[str, str]


class Api:
    """`tell` is called with a sentence where the user has to wait. `token` is another one than the context's; an empty
    one is that of somebody who signs in, and is not sent.
    """

    def __init__(self, context: Context, *, token: str | None = None, tell: Callable[[str], None]) -> None:
        self.context = context
        self.transport = Transport(context.url, ca=context.ca)
        self._token = context.token if token is None else token
        self._is_public = token == ""
        self._tell = tell

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
        """`once_by` is an idempotency key, by which a command may be sent again. Raises `CommandError`."""
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
                raise UnreachableError(f"{error} Whether it was carried out is not known.") from None
            raise

    def read_text(self, path: str, *, query: Mapping[str, object]) -> bytes:
        """What the API tells as text. Raises `CommandError`."""
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
        """The error that an answer of 300 or more is."""
        problem = _parse(answer.body)
        if 300 <= answer.status < 400:
            return UnreachableError(
                f"{self.transport.host} sends us to another address, where no token goes. Log in at that one.",
                is_sent=False,
            )
        if not isinstance(problem, dict) or not isinstance(problem.get("detail"), str) or "code" not in problem:
            return UnreachableError(
                f"{self.transport.host} has answered {answer.status}, and not as Berth does. Is a proxy in front of it "
                "that cannot reach it?"
            )
        told: dict[str, Any] = {str(name): value for name, value in problem.items()}
        told["retry_after"] = _read_seconds(answer.headers.get("Retry-After"))
        return RefusedError(_sentence(told), status=answer.status, problem=told, document=answer.body)

    def _persist(self, send: Callable[[], T], *, patience: float | None, may_repeat: bool, is_command: bool) -> T:
        """What it returns, after as many tries as are worth it and fit into `patience`."""
        until = time.monotonic() + (PATIENCE if patience is None else patience)
        while True:
            found = _attempt(send)
            if not isinstance(found, CommandError):
                return found
            wait = _find_wait(found, may_repeat=may_repeat, is_command=is_command)
            if wait is None or time.monotonic() + wait > until:
                raise found
            self._tell(f"{found} Trying again in {wait:.0f} s.")
            time.sleep(wait)

    def _read(self, answer: Answer) -> Document:
        if answer.status >= 300:
            raise self.refuse(answer)
        told = _parse(answer.body) if answer.body else None
        if answer.body and not isinstance(told, (dict, list)):
            raise UnreachableError(
                f"The answer of {self.transport.host} cannot be read: it is cut off, or not Berth's."
            )
        return Document(answer.body, told, answer.status, {name.lower(): text for name, text in answer.headers.items()})


def _attempt(send: Callable[[], T]) -> T | CommandError:
    try:
        return send()
    except CommandError as error:
        return error


def _find_wait(error: CommandError, *, may_repeat: bool, is_command: bool) -> float | None:
    """Seconds after which the call is worth another try. What was refused for its rate was not begun, so that any
    call may be sent again; one that may have been carried out only where that makes nothing twice.
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
    """What the API says; of a request with something invalid in it, what it says of each field."""
    errors = problem.get("errors")
    told = [each for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    lines = [
        f"{each['field']}: {each.get('detail')}" if each.get("field") else str(each.get("detail")) for each in told
    ]
    return (" ".join(lines) or str(problem["detail"]))[:LONGEST_SENTENCE]


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _read_seconds(text: object) -> float | None:
    """Of a Retry-After in seconds; a date, which Berth never sends, is a minute."""
    if text is None:
        return None
    try:
        return min(float(str(text)), 86_400.0)
    except ValueError:
        return 60.0


def open_stream(api: Api, path: str, *, query: Mapping[str, object], within: float) -> Any:
    """The open answer to a request for a stream. Raises `CommandError` where it is refused."""
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
    asked = {name: value for name, value in query.items() if value not in (None, "")}
    return f"?{urlencode(asked)}" if asked else ""
