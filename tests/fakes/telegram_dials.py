"""What a test sets up, reads and breaks at the fake Telegram: bots, people and failures."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from tests.fakes.http_server import FakeServer
from tests.fakes.messages import BAD_GATEWAY, GARBAGE, Answer, Fault
from tests.fakes.telegram_bot import Bot, Call, Draft, Polls, Sent
from tests.fakes.telegram_errors import CONFLICT, ApiError

T = TypeVar("T")


class TelegramDials(FakeServer):
    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host, port)
        self._bots: dict[str, Bot] = {}

    # Bots and people.

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
        language: str | None = None,
        **extra: Any,
    ) -> int:
        """A user writes to the bot. Returns the update id. `extra` adds or (with None) drops fields of the message.

        A chat with a number below 0 is a group, as at Telegram. There `user_id` says who speaks.
        """
        who: dict[str, Any] = {"id": user_id or chat_id, "is_bot": False, "first_name": username or "Ada"}
        who |= {"username": username} if username else {}
        who |= {"language_code": language} if language else {}
        chat = {"id": chat_id, "type": "private", "first_name": who["first_name"]}
        if chat_id < 0:
            chat = {"id": chat_id, "type": "supergroup", "title": "Group"}
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
            return self._update(bot, "message", {k: v for k, v in message.items() if v is not None})

    def edit(self, token: str, update_id: int, text: str) -> int:
        """A user changes the text or the caption of this update's message to another one, which may be the same."""
        with self.changed:
            bot = self._bots[token]
            message = bot.history[update_id]
            message = message | {"text" if message.get("text") else "caption": text, "edit_date": int(time.time())}
            return self._update(bot, "edited_message", message)

    def press_stop(self, token: str, chat_id: int) -> int:
        """A user presses the button of the draft that the chat shows."""
        with self.changed:
            bot = self._bots[token]
            draft = bot.drafts[chat_id]
            assert draft.can_stop, "this draft has no button"
            pressed = {"chat": bot.chats[chat_id], "draft_id": draft.draft_id}
            return self._update(bot, "stopped_message_generation", pressed)

    def _update(self, bot: Bot, kind: str, what: dict[str, Any]) -> int:
        """If the bot has said which kinds of updates it wants, it gets no others."""
        number = bot.next_update
        bot.next_update += 1
        bot.history[number] = what
        if bot.allowed is None or kind in bot.allowed:
            bot.updates.append({"update_id": number, kind: what})
        self.changed.notify_all()
        return number

    # Reads.

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
        """Returns the first of `sent(token, chat_id)[after:]` that contains the words.
        Raises TimeoutError if none comes."""

        def found() -> Sent | None:
            return next((sent for sent in self.sent(token, chat_id)[after:] if containing in sent.text), None)

        return self._wait(found, timeout, f"no message containing {containing!r}")

    def wait_for_poll(self, token: str, *, after: int = 0, timeout: float = 10) -> Polls:
        """Waits until more than `after` getUpdates requests have come."""

        def found() -> Polls | None:
            return self._polls(token) if len(self._bots[token].polls) > after else None

        return self._wait(found, timeout, "no poll")

    def draft(self, token: str, chat_id: int) -> Draft | None:
        """Returns what the chat shows of an unfinished message."""
        with self.changed:
            return self._bots[token].drafts.get(chat_id)

    def polls(self, token: str) -> Polls:
        with self.changed:
            return self._polls(token)

    def calls(self, token: str, method: str | None = None) -> list[Call]:
        with self.changed:
            return [c for c in self._bots[token].calls if method is None or c.method == method.lower()]

    def pending(self, token: str) -> int:
        """Returns the updates that the bot has not confirmed."""
        with self.changed:
            return len(self._bots[token].updates)

    # Failures. `method` limits a failure to one API method; `times` to this many requests.

    def revoke(self, token: str) -> None:
        self._set(token, revoked=True)

    def restore(self, token: str) -> None:
        self._set(token, revoked=False)

    def block(self, token: str, chat_id: int) -> None:
        with self.changed:
            self._bots[token].blocked.add(chat_id)

    def conflict(self, token: str, times: int | None = None) -> None:
        """Another program polls this bot all the time."""
        self._fault(token, CONFLICT, "getUpdates", times)

    def rate_limit(self, token: str, retry_after: int = 1, method: str | None = None, times: int | None = None) -> None:
        error = ApiError(429, f"Too Many Requests: retry after {retry_after}", retry_after=retry_after)
        self._fault(token, error.answer, method, times)

    def break_down(self, token: str, status: int = 502, method: str | None = None, times: int | None = None) -> None:
        self._fault(token, Answer(status, BAD_GATEWAY, {"Content-Type": "text/html"}), method, times)

    def garbage(
        self, token: str, method: str | None = None, times: int | None = None, body: bytes = GARBAGE.body
    ) -> None:
        """Answers 200 with something that the Bot API never sends."""
        self._fault(token, Answer(200, body), method, times)

    def stall(self, token: str, method: str | None = None, times: int | None = None) -> None:
        """Accepts requests and never answers."""
        self._fault(token, None, method, times)

    def heal(self, token: str) -> None:
        """Ends every failure, a revocation, blocks and a webhook included."""
        with self.changed:
            self._bots[token].faults.clear()
            self._bots[token].blocked.clear()
        self._set(token, revoked=False, webhook="")

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
