"""A Bot API server that behaves as Telegram's, for bots a test adds and users a test plays.

`python -m tests.fakes.telegram --port 9091 --token 123456:abc` runs it as a program with a small control API:
POST /control/say {chat_id, text}, GET /control/sent, /control/wait?containing=…, /control/polls, POST /control/fail.
"""

import argparse
import json
import re
import time
from dataclasses import asdict
from typing import Any

from tests.fakes.messages import Answer, Request
from tests.fakes.telegram_bot import Bot, Call
from tests.fakes.telegram_dials import TelegramDials
from tests.fakes.telegram_errors import CONFLICT, CONFLICT_HOOK, CONFLICT_POLL, ApiError
from tests.fakes.telegram_files import download
from tests.fakes.telegram_methods import call_method

LONGEST_POLL = 50  # seconds, as Telegram's


class FakeTelegram(TelegramDials):
    def answer(self, request: Request) -> Answer | None:
        if request.path.startswith("/control/"):
            return self._control(request.path.removeprefix("/control/"), request.fields())
        file = re.fullmatch(r"/file/bot(\d+:[\w-]+)/(.+)", request.path)
        match = file or re.fullmatch(r"/bot(\d+:[\w-]+)/(?:test/)?(\w+)", request.path)
        if match is None:
            return ApiError(404, "Not Found").answer
        token, method = match[1], match[2].lower()
        try:
            bot = self._authenticated(token)
            return download(bot, match[2]) if file else self._call(bot, method, request)
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
            result, words = call_method(bot, method, fields)
            self.changed.notify_all()
        return Answer.json(200, {"ok": True, "result": result} | ({"description": words} if words else {}))

    def _get_updates(self, bot: Bot, fields: dict[str, Any], request: Request) -> Answer | None:
        asked_for = fields.get("allowed_updates")
        allowed = json.loads(asked_for) if isinstance(asked_for, str) else asked_for
        offset, limit = int(fields.get("offset") or 0), int(fields.get("limit") or 100)
        until = time.monotonic() + min(int(float(fields.get("timeout") or 0)), LONGEST_POLL)
        with self.changed:
            if bot.webhook:
                raise ApiError(409, CONFLICT_HOOK)
            bot.allowed = frozenset(allowed) if allowed else bot.allowed
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

    def _control(self, verb: str, fields: dict[str, Any]) -> Answer:
        """The same for a program in another process. `token` may be omitted while there is one bot."""
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
