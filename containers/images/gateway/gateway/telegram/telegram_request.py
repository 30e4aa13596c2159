"""An agent's HTTP request to the Bot API."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from aiohttp import web

from gateway.entries.entry import Bot, Entry
from gateway.rules.paths import TelegramPath
from gateway.rules.refusals import RefusedError, Why
from gateway.telegram.methods import check_method, is_poll, is_webhook_removal


@dataclass(frozen=True, slots=True)
class TelegramRequest:
    """A request and the agent that sent it."""

    http: web.BaseRequest
    entry: Entry
    bot: Bot
    path: TelegramPath
    find: Callable[[], tuple[Entry, Bot, TelegramPath]]
    """Returns the agent's current entry and bot, and the path. Raises RefusedError if there are none."""

    @property
    def method(self) -> str:
        """The Bot API's method. Empty for a file."""
        return "" if self.path.is_file else self.path.rest

    @property
    def is_poll(self) -> bool:
        return is_poll(self.method)

    @property
    def is_webhook_removal(self) -> bool:
        return is_webhook_removal(self.method)

    @property
    def url(self) -> str:
        """The address at Telegram, with the real token."""
        if self.path.is_file:
            return f"{self.bot.base}/file/bot{self.bot.token}/{self.path.rest}"
        return f"{self.bot.base}/bot{self.bot.token}/{self.path.rest}" + (
            f"?{self.path.query}" if self.path.query else ""
        )

    @property
    def secret(self) -> str:
        """The part of the token that is not the bot's public number."""
        return self.bot.token.partition(":")[2]

    def check(self) -> None:
        """Raises RefusedError if agents may not make this call."""
        if self.http.method not in (("GET",) if self.path.is_file else ("GET", "POST")):
            raise RefusedError(Why.NOT_FOUND, "Not Found")
        check_method(self.method)

    def renewed(self) -> "TelegramRequest":
        """Returns the same request with the agent's current entry, whose token may have changed while the request was
        read. Raises RefusedError if it is no longer allowed.
        """
        entry, bot, path = self.find()
        return replace(self, entry=entry, bot=bot, path=path)
