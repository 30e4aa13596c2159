"""A Bot API server that behaves as Telegram's, for bots a test adds and users a test plays.

`python -m tests.fakes.telegram --port 9091 --token 123456:abc` runs it as a program with a small control API:
POST /control/say {chat_id, text}, GET /control/sent, /control/wait?containing=…, /control/polls, POST /control/fail.
"""

import argparse
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from tests.fakes import BAD_GATEWAY, GARBAGE, Answer, FakeServer, Fault, Request

CONFLICT_POLL = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
CONFLICT_HOOK = (
    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)
T = TypeVar("T")

BOT_RIGHTS = {"can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False}
LONGEST_MESSAGE = 4096  # UTF-16 code units
LONGEST_POLL = 50  # seconds, as Telegram's


@dataclass(frozen=True)
class Sent:
    """A message a bot has sent (or an edit of one)."""

    chat_id: int
    text: str
    method: str
    message_id: int
    at: float
    fields: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Call:
    method: str
    http: str
    fields: dict[str, Any]
    at: float


@dataclass(frozen=True)
class Polls:
    count: int = 0  # getUpdates requests that came
    last: float | None = None  # when the last one came, time.time()
    open: int = 0  # long polls waiting right now


class ApiError(Exception):
    def __init__(self, status: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        document: dict[str, object] = {"ok": False, "error_code": status, "description": description}
        if parameters:
            document["parameters"] = parameters
        headers = {"Retry_After": str(parameters["retry_after"])} if "retry_after" in parameters else {}
        self.answer = Answer.json(status, document, **headers)


CONFLICT = ApiError(409, CONFLICT_POLL).answer


@dataclass
class Bot:
    token: str = field(repr=False)
    username: str
    revoked: bool = False
    webhook: str = ""
    updates: list[dict[str, Any]] = field(default_factory=list)
    next_update: int = 100_000_001
    next_message: int = 1
    poll_generation: int = 0
    open_polls: int = 0
    polls: list[float] = field(default_factory=list)
    chats: dict[int, dict[str, Any]] = field(default_factory=dict)
    blocked: set[int] = field(default_factory=set)
    sent: list[Sent] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    commands: list[Any] = field(default_factory=list)

    @property
    def id(self) -> int:
        return int(self.token.partition(":")[0])

    def user(self) -> dict[str, Any]:
        return {"id": self.id, "is_bot": True, "first_name": self.username, "username": self.username}


class FakeTelegram(FakeServer):
    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host, port)
        self._bots: dict[str, Bot] = {}

    # What a test plays: bots and people.

    def add_bot(self, token: str, username: str | None = None) -> Bot:
        with self.changed:
            return self._bots.setdefault(token, Bot(token, username or f"bot{token.partition(':')[0]}_bot"))

    def say(
        self,
        token: str,
        chat_id: int,
        text: str,
        user_id: int | None = None,
        username: str | None = None,
        **extra: Any,
    ) -> int:
        """A user writes to the bot; returns the update id. `extra` adds or (with None) drops fields of the message."""
        who = {"id": user_id or chat_id, "is_bot": False, "first_name": username or "Ada"}
        who |= {"username": username} if username else {}
        chat = {"id": chat_id, "type": "private", "first_name": who["first_name"]}
        with self.changed:
            bot = self._bots[token]
            bot.chats[chat_id] = chat
            message = {"message_id": bot.next_message, "from": who, "chat": chat, "date": int(time.time())}
            message |= {"text": text} if text else {}
            if text.startswith("/"):
                command = text.split(maxsplit=1)[0]
                message["entities"] = [{"type": "bot_command", "offset": 0, "length": len(command)}]
            message |= extra
            bot.next_message += 1
            update = {
                "update_id": bot.next_update,
                "message": {k: v for k, v in message.items() if v is not None},
            }
            bot.next_update += 1
            bot.updates.append(update)
            self.changed.notify_all()
            return int(str(update["update_id"]))

    # What a test asks.

    def sent(self, token: str, chat_id: int | None = None) -> list[Sent]:
        with self.changed:
            return [sent for sent in self._bots[token].sent if chat_id in (None, sent.chat_id)]

    def wait_for_message(
        self,
        token: str,
        *,
        after: int = 0,
        timeout: float = 10,
        containing: str = "",
        chat_id: int | None = None,
    ) -> Sent:
        """The first of `sent(token, chat_id)[after:]` that contains the words. TimeoutError if none comes."""

        def found() -> Sent | None:
            return next((sent for sent in self.sent(token, chat_id)[after:] if containing in sent.text), None)

        return self._wait(found, timeout, f"no message containing {containing!r}")

    def wait_for_poll(self, token: str, *, after: int = 0, timeout: float = 10) -> Polls:
        """Wait until more than `after` getUpdates requests have come."""

        def found() -> Polls | None:
            return self._polls(token) if len(self._bots[token].polls) > after else None

        return self._wait(found, timeout, "no poll")

    def polls(self, token: str) -> Polls:
        with self.changed:
            return self._polls(token)

    def calls(self, token: str, method: str | None = None) -> list[Call]:
        with self.changed:
            return [c for c in self._bots[token].calls if method is None or c.method == method.lower()]

    def pending(self, token: str) -> int:
        """Updates the bot has not confirmed."""
        with self.changed:
            return len(self._bots[token].updates)

    # What a test breaks. `method` limits a failure to one API method; `times` to so many requests.

    def revoke(self, token: str) -> None:
        self._set(token, revoked=True)

    def restore(self, token: str) -> None:
        self._set(token, revoked=False)

    def block(self, token: str, chat_id: int) -> None:
        with self.changed:
            self._bots[token].blocked.add(chat_id)

    def conflict(self, token: str, times: int | None = None) -> None:
        """Somebody else polls this bot all the time."""
        self._fault(token, CONFLICT, "getUpdates", times)

    def rate_limit(self, token: str, retry_after: int = 1, method: str | None = None, times: int | None = None) -> None:
        error = ApiError(429, f"Too Many Requests: retry after {retry_after}", retry_after=retry_after)
        self._fault(token, error.answer, method, times)

    def break_down(self, token: str, status: int = 502, method: str | None = None, times: int | None = None) -> None:
        self._fault(token, Answer(status, BAD_GATEWAY, {"Content-Type": "text/html"}), method, times)

    def garbage(
        self, token: str, method: str | None = None, times: int | None = None, body: bytes = GARBAGE.body
    ) -> None:
        """Answer 200 with what the Bot API would never say."""
        self._fault(token, Answer(200, body), method, times)

    def stall(self, token: str, method: str | None = None, times: int | None = None) -> None:
        """Accept the request and never answer."""
        self._fault(token, None, method, times)

    def heal(self, token: str) -> None:
        """End every dialled failure, a revocation, blocks and a webhook included."""
        with self.changed:
            self._bots[token].faults.clear()
            self._bots[token].blocked.clear()
        self._set(token, revoked=False, webhook="")

    # The server.

    def answer(self, request: Request) -> Answer | None:
        if request.path.startswith("/control/"):
            return self._control(request.path.removeprefix("/control/"), request.fields())
        match = re.fullmatch(r"/bot(\d+:[\w-]+)/(?:test/)?(\w+)", request.path)
        if match is None:
            return ApiError(404, "Not Found").answer
        token, method = match[1], match[2].lower()
        try:
            return self._call(self._authenticated(token), method, request)
        except ApiError as error:
            return error.answer
        except (TypeError, ValueError):
            return ApiError(400, "Bad Request: can't parse the request").answer

    def _authenticated(self, token: str) -> Bot:
        bot = self._bots.get(token)
        if bot is None:
            raise ApiError(401, "Unauthorized")
        return bot

    def _call(self, bot: Bot, method: str, request: Request) -> Answer | None:
        fields = request.fields()
        with self.changed:
            bot.calls.append(Call(method, request.method, fields, time.time()))
            if method == "getupdates":
                bot.polls.append(time.time())
            self.changed.notify_all()
            if bot.revoked:
                raise ApiError(401, "Unauthorized")
            fault = next((f for f in bot.faults if f.only in (None, method)), None)
            if fault is not None and fault.times is not None:
                fault.times -= 1
                bot.faults[:] = [f for f in bot.faults if f.times is None or f.times > 0]
        if fault is not None:
            if fault.answer is None:
                self.hang(request, lambda: fault not in bot.faults and fault.times is None)
            return fault.answer
        if method == "getupdates":
            return self._get_updates(bot, fields, request)
        with self.changed:
            result, words = self._method(bot, method, fields)
            self.changed.notify_all()
        return Answer.json(200, {"ok": True, "result": result} | ({"description": words} if words else {}))

    def _get_updates(self, bot: Bot, fields: dict[str, Any], request: Request) -> Answer | None:
        offset, limit = int(fields.get("offset") or 0), int(fields.get("limit") or 100)
        until = time.monotonic() + min(int(float(fields.get("timeout") or 0)), LONGEST_POLL)
        with self.changed:
            if bot.webhook:
                raise ApiError(409, CONFLICT_HOOK)
            bot.poll_generation += 1  # a second poller terminates the first
            mine = bot.poll_generation
            bot.open_polls += 1
            self.changed.notify_all()
            if offset > 0:
                bot.updates[:] = [u for u in bot.updates if u["update_id"] >= offset]
            elif offset < 0:
                bot.updates[:] = bot.updates[offset:]
            try:
                while not bot.updates and time.monotonic() < until:
                    self.changed.wait(min(0.2, max(until - time.monotonic(), 0.001)))
                    self._still_polling(bot, mine)
                    if request.gone() or self.closing.is_set():
                        return None
                return Answer.json(200, {"ok": True, "result": bot.updates[: min(max(limit, 1), 100)]})
            finally:
                bot.open_polls -= 1

    def _still_polling(self, bot: Bot, generation: int) -> None:
        if bot.revoked:
            raise ApiError(401, "Unauthorized")
        if bot.poll_generation != generation or any(f.answer is CONFLICT for f in bot.faults):
            raise ApiError(409, CONFLICT_POLL)
        if bot.webhook:
            raise ApiError(409, "Conflict: terminated by setWebhook request")

    def _method(self, bot: Bot, method: str, fields: dict[str, Any]) -> tuple[Any, str | None]:
        """What a method answers: its result and Telegram's optional description of it."""
        if method in ("setwebhook", "deletewebhook"):
            return self._webhook(bot, method, fields)
        answers: dict[str, Callable[[], Any]] = {
            "getme": lambda: bot.user() | BOT_RIGHTS,
            "sendmessage": lambda: self._send(bot, method, fields),
            "editmessagetext": lambda: self._send(bot, method, fields),
            "sendchataction": lambda: bool(self._chat(bot, fields)),
            "getwebhookinfo": lambda: self._webhook_info(bot),
            "getchat": lambda: self._chat(bot, fields) | {"accent_color_id": 0, "max_reaction_count": 11},
            "getmycommands": lambda: bot.commands,
        }
        if method in answers:
            return answers[method](), None
        if re.match(r"(set|delete|answer|close|logout|pin|unpin)", method):
            return True, None
        raise ApiError(404, "Not Found")

    def _webhook_info(self, bot: Bot) -> dict[str, Any]:
        info = {"url": bot.webhook, "has_custom_certificate": False, "pending_update_count": len(bot.updates)}
        return info | ({"max_connections": 40} if bot.webhook else {})

    def _send(self, bot: Bot, method: str, fields: dict[str, Any]) -> dict[str, Any]:
        chat, text = self._chat(bot, fields), str(fields.get("text") or "")
        if not text.strip():
            raise ApiError(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST_MESSAGE:
            raise ApiError(400, "Bad Request: message is too long")
        number = int(fields.get("message_id") or 0) or bot.next_message
        bot.next_message = max(bot.next_message, number + 1)
        at = time.time()
        bot.sent.append(Sent(chat["id"], text, method, number, at, fields))
        return {"message_id": number, "from": bot.user(), "chat": chat, "date": int(at), "text": text}

    def _chat(self, bot: Bot, fields: dict[str, Any]) -> dict[str, Any]:
        if not fields.get("chat_id"):
            raise ApiError(400, "Bad Request: chat_id is empty")
        chat_id = int(fields["chat_id"])
        if chat_id in bot.blocked:
            raise ApiError(403, "Forbidden: bot was blocked by the user")
        if chat_id not in bot.chats:  # a bot cannot begin a conversation
            raise ApiError(400, "Bad Request: chat not found")
        return bot.chats[chat_id]

    def _webhook(self, bot: Bot, method: str, fields: dict[str, Any]) -> tuple[bool, str]:
        before = bot.webhook
        bot.webhook = str(fields.get("url") or "") if method == "setwebhook" else ""
        if bot.webhook and not bot.webhook.startswith("https://"):
            bot.webhook = before
            raise ApiError(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
        if str(fields.get("drop_pending_updates")).lower() == "true":
            bot.updates.clear()
        if bot.webhook:
            return True, "Webhook was set" if bot.webhook != before else "Webhook is already set"
        return True, "Webhook was deleted" if before else "Webhook is already deleted"

    # Inside.

    def _polls(self, token: str) -> Polls:
        bot = self._bots[token]
        return Polls(len(bot.polls), bot.polls[-1] if bot.polls else None, bot.open_polls)

    def _set(self, token: str, **values: Any) -> None:
        with self.changed:
            for name, value in values.items():
                setattr(self._bots[token], name, value)
            self.changed.notify_all()

    def _fault(self, token: str, answer: Answer | None, method: str | None, times: int | None) -> None:
        with self.changed:
            self._bots[token].faults.append(Fault(answer, method.lower() if method else None, times))
            self.changed.notify_all()

    def _wait(self, found: Callable[[], T | None], timeout: float, complaint: str) -> T:
        until = time.monotonic() + timeout
        with self.changed:
            while (result := found()) is None:
                if (left := until - time.monotonic()) <= 0:
                    raise TimeoutError(f"{complaint} within {timeout} s")
                self.changed.wait(left)
            return result

    def _control(self, verb: str, fields: dict[str, Any]) -> Answer:
        """The same for a program in another process. `token` may be left out while there is one bot."""
        token = str(fields.pop("token", None) or next(iter(self._bots), ""))
        try:
            return Answer.json(200, self._command(verb, token, fields))
        except TimeoutError as error:
            return Answer.json(408, {"error": str(error)})
        except (KeyError, ValueError, TypeError, AttributeError):
            return Answer.json(400, {"error": f"cannot {verb} with these parameters"})

    def _command(self, verb: str, token: str, fields: dict[str, Any]) -> Any:
        if verb == "say":
            who = int(fields.get("user_id") or fields["chat_id"])
            return self.say(token, int(fields["chat_id"]), str(fields["text"]), who, fields.get("username"))
        if verb == "sent":
            return [asdict(sent) for sent in self.sent(token)][int(fields.get("after") or 0) :]
        if verb == "wait":
            after, timeout = int(fields.get("after") or 0), float(fields.get("timeout") or 10)
            words = str(fields.get("containing") or "")
            return asdict(self.wait_for_message(token, after=after, timeout=timeout, containing=words))
        if verb == "polls":
            return asdict(self.polls(token))
        if verb == "bot":
            return self.add_bot(token, fields.get("username")).user()
        if verb == "fail":
            kinds = ("revoke", "restore", "conflict", "rate_limit", "break_down", "garbage", "stall", "heal")
            getattr(self, kinds[kinds.index(str(fields.pop("kind")))])(token, **fields)
            return True
        raise ValueError(verb)


def main() -> None:
    parser = argparse.ArgumentParser(description="A fake Telegram Bot API server, to try an agent without Telegram.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9091)
    parser.add_argument("--token", action="append", default=[], help="a bot token it accepts; may be repeated")
    options = parser.parse_args()
    telegram = FakeTelegram(options.host, options.port)
    for token in options.token or ["123456:fake-telegram-token"]:
        telegram.add_bot(token)
    telegram.serve()


if __name__ == "__main__":
    main()
