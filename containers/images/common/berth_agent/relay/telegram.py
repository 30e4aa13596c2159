"""Passes the child's calls on to Telegram with the real bot token, and hides failures of polls from the child.

The child gets an empty answer to a poll that failed, after the pause that is due before the next attempt.
"""

import json
import re
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import IO, Any
from urllib.parse import parse_qsl, unquote, urlencode

from berth_agent.outcome import FatalError
from berth_agent.relay.activity import Activity
from berth_agent.relay.config import Config
from berth_agent.relay.exchange import Exchange
from berth_agent.relay.telegram_failures import TelegramFailures, token_rejected
from berth_agent.relay.updates import RepeatedUpdates, admit, newest
from berth_agent.relay.upstream import ask, passed_on

HOLD = 20  # seconds for which Telegram may hold a poll
POLL_SILENCE = 26.0  # seconds; libraries wait for 30 at least
SILENCE = 60.0
LONGEST_UPDATES = 16 * 1024 * 1024
BAD_GATEWAY = {"ok": False, "error_code": 502, "description": "Bad Gateway"}
NOT_FOUND = {"ok": False, "error_code": 404, "description": "Not Found"}
RETRY_SECONDS = 10.0  # for which a message is retried that Telegram refuses with 429; libraries wait for 20 at least
CLOSED_SECONDS = 0.2  # before each empty answer while stopping, so that a child that keeps polling uses little CPU
CONFIRM_SECONDS = 1.0  # in total, because a stopped agent has only a few seconds


class TelegramEndpoint:
    """`end` is called with the error that ends the agent."""

    def __init__(
        self,
        config: Config,
        failures: TelegramFailures,
        end: Callable[[FatalError], None],
        activity: Activity | None = None,
    ) -> None:
        self._config = config
        self._activity = activity or Activity()
        self._failures = failures
        self._end = end
        self._closing = Event()
        self._lock = Lock()
        self._taken = 0  # the newest update that the child has got
        self._next = 0  # the offset of the last poll: Telegram has forgotten all updates before it
        self._has_polled = False
        self._repeats = RepeatedUpdates()

    def serve(self, exchange: Exchange) -> None:
        found = re.fullmatch(r"/telegram/((?:file/)?bot)([^/]+)/([^?]+)(\?.*)?", exchange.path)
        if found is None or found[2] != self._config.child_token:
            exchange.answer_json(404, NOT_FOUND)
            return
        url = f"{self._config.telegram_base}/{found[1]}{self._config.token}/{found[3]}"
        query = found[4] or ""
        method = unquote(found[3]).lower().strip("/") if found[1] == "bot" else ""
        if method == "getupdates":
            exchange.answer_json(200, {"ok": True, "result": self._poll(url + query, exchange)})
        elif method == "deletewebhook":
            self._pass_on("POST", url, FORM, KEEP_PENDING, exchange)
        else:
            body, headers = exchange.body()
            with self._activity.in_progress():
                self._pass_on(exchange.method, url + query, passed_on(exchange.headers) | headers, body, exchange)

    def close(self) -> None:
        """Stops polling and answers waiting requests."""
        self._closing.set()

    def confirm(self) -> None:
        """Confirms to Telegram the updates that the child has got, so that they do not come again after the next start.

        Gives up if Telegram cannot be reached in time.
        """
        with self._lock:
            if self._taken < self._next:
                return
            fields = {"offset": str(self._taken + 1), "limit": "1", "timeout": "0"}
        thread = Thread(target=self._confirm, args=(urlencode(fields).encode(),), daemon=True, name="confirm")
        thread.start()
        thread.join(CONFIRM_SECONDS)

    def _confirm(self, body: bytes) -> None:
        url = f"{self._config.telegram_base}/bot{self._config.token}/getUpdates"
        try:
            with ask("POST", url, FORM, body, silence=CONFIRM_SECONDS):
                pass
        except (OSError, HTTPException):
            pass

    def _poll(self, url: str, exchange: Exchange) -> list[Any]:
        offset, body = self._poll_body(exchange)
        if self._closing.is_set():
            sleep(CLOSED_SECONDS)
            return []
        try:
            with ask("POST", url, FORM, body, silence=POLL_SILENCE) as answer:
                updates, wait = self._read_answer(answer)
        except FatalError as error:
            self._end(error)
            updates, wait = [], HOLD
        except (OSError, HTTPException):
            updates, wait = [], self._note_failure()
        if wait:
            self._closing.wait(wait)
        if wait or self._closing.is_set():  # updates that come now are for the next start
            return []
        with self._lock:
            updates = self._repeats.reduce(updates)
            self._next, self._taken = offset, max(self._taken, newest(updates))
        if updates:
            self._activity.note()
        return admit(updates, self._config.allowed_users)

    def _note_failure(self) -> float:
        try:
            return self._failures.note_failure()
        except FatalError as error:
            self._end(error)
            return HOLD

    def _read_answer(self, answer: HTTPResponse) -> tuple[list[Any], float]:
        """Returns the updates, and the seconds to wait before the child gets an empty answer."""
        document = read_json(answer.read(LONGEST_UPDATES))
        if self._closing.is_set():  # `confirm` polls as well, which ends this poll
            return [], 0
        if answer.status == 200 and document.get("ok") is True and isinstance(document.get("result"), list):
            self._failures.note_success(polled=True)
            self._has_polled = True
            return document["result"], 0
        if answer.status in (401, 404) and document.get("ok") is False:
            raise token_rejected()
        if answer.status == 409:
            return [], self._failures.note_conflict()
        return [], self._failures.note_failure(retry_after=retry_after(document))

    def _poll_body(self, exchange: Exchange) -> tuple[int, bytes]:
        """Returns the poll's offset and its body. The first poll returns at once, so that the agent soon counts as
        `running`.
        """
        fields = read_fields(exchange)
        hold = min(int(fields.get("timeout") or 0), HOLD) if self._has_polled else 0
        return int(fields.get("offset") or 0), urlencode(fields | {"timeout": str(hold)}).encode()

    def _pass_on(
        self, method: str, url: str, sent: dict[str, str], body: bytes | IO[bytes] | None, exchange: Exchange
    ) -> None:
        until = monotonic() + RETRY_SECONDS
        while True:
            try:
                with ask(method, url, sent, body, silence=SILENCE) as answer:
                    if answer.status != 429 or not exchange.is_small:
                        exchange.pass_on(answer)
                        return
                    content = answer.read(LONGEST_UPDATES)
                    wait = retry_after(read_json(content)) or 1
                    if monotonic() + wait > until or self._closing.wait(wait):
                        exchange.pass_on(answer, content)
                        return
            except (OSError, HTTPException):
                exchange.fail(502, BAD_GATEWAY)
                return


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
KEEP_PENDING = b"drop_pending_updates=false"
"""Replaces the child's own parameters, because messages from the time when the agent was down must be answered."""


def read_fields(exchange: Exchange) -> dict[str, str]:
    """Returns the fields of a small request, sent as a form or as JSON."""
    body = exchange.read()
    if "json" in exchange.headers.get("Content-Type", "").lower():
        found = read_json(body)
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}
    return dict(parse_qsl(body.decode("utf-8", "replace")))


def read_json(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def retry_after(document: dict[str, Any]) -> float:
    """Returns the seconds that Telegram names in a 429; 0 if it names none."""
    parameters = document.get("parameters")
    wait = parameters.get("retry_after") if isinstance(parameters, dict) else None
    return float(wait) if isinstance(wait, int) and wait > 0 else 0
