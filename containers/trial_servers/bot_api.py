"""A fake Bot API for one bot to which one person has written one message."""

import threading
import time
from typing import Any

from containers.trial_servers.constants import ANSWERED, POLLED, QUESTION, as_number, log_event

PERSON = 1001
_UPDATE = 700_000_001
_LONGEST_POLL = 5.0
_SPEAKING = frozenset({"sendmessage", "sendmessagedraft", "editmessagetext", "sendphoto", "senddocument", "sendvoice"})
_UNAUTHORIZED = {"ok": False, "error_code": 401, "description": "Unauthorized"}


class Bot:
    """The only bot. Its message stays available until a poll confirms it, as with Telegram."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._confirmed = threading.Event()
        self._sent = 1
        self._is_polled = False
        self.closing = threading.Event()

    def call(self, token: str, method: str, fields: dict[str, Any]) -> tuple[int, Any]:
        if token != self._token:
            return 401, _UNAUTHORIZED
        if method == "getupdates":
            return 200, {"ok": True, "result": self._poll(fields)}
        text = str(fields.get("text", fields.get("caption", "")))
        is_thinking = method == "sendmessagedraft" and not text  # Telegram shows "Thinking…"
        if method in _SPEAKING and str(fields.get("chat_id")) == str(PERSON) and not is_thinking:
            log_event(ANSWERED, method=method, text=text[:200])
        return 200, {"ok": True, "result": self._result(method, fields)}

    def _poll(self, fields: dict[str, Any]) -> list[dict[str, Any]]:
        if (
            not self._is_polled
        ):  # only once, because many events would push others out of the part of the log that is read
            self._is_polled = True
            log_event(POLLED)
        update = {"update_id": _UPDATE, "message": self._message(1, QUESTION, by_person=True)}
        if as_number(fields.get("offset")) > _UPDATE:
            self._confirmed.set()
        if not self._confirmed.is_set():
            return [update]
        self.closing.wait(min(as_number(fields.get("timeout")), _LONGEST_POLL))
        return []

    def _result(self, method: str, fields: dict[str, Any]) -> Any:
        if method == "getme":
            return self._user()
        if method == "getwebhookinfo":
            return {"url": "", "has_custom_certificate": False, "pending_update_count": 0}
        if method in {"sendmessage", "editmessagetext"}:
            self._sent += 1
            return self._message(self._sent, str(fields.get("text", "")), by_person=False)
        return [] if method == "getmycommands" else True

    def _user(self) -> dict[str, Any]:
        name = "trial_bot"
        return {"id": int(self._token.partition(":")[0]), "is_bot": True, "first_name": name, "username": name}

    def _message(self, number: int, text: str, *, by_person: bool) -> dict[str, Any]:
        person = {"id": PERSON, "is_bot": False, "first_name": "Ada", "language_code": "en"}
        chat = {"id": PERSON, "type": "private", "first_name": "Ada"}
        sender = person if by_person else self._user()
        return {"message_id": number, "from": sender, "chat": chat, "date": int(time.time()), "text": text}
