"""The commands, all but /stop, which ends others' work."""

import logging
import sqlite3

from telegram import Bot, BotCommand
from telegram.error import TelegramError

from assistant.config import Config
from assistant.remembering.memory import Memory
from assistant.remembering.reminders import Reminders
from assistant.remembering.spending import Spending
from assistant.telegram.incoming import Incoming
from assistant.telegram.sending import send_text
from assistant.texts import COMMANDS, LANGUAGES, Text, say

SENTENCES = {
    "start": Text.HELLO,
    "help": Text.HELP,
    "whoami": Text.WHOAMI,
    "model": Text.MODEL,
}

logger = logging.getLogger(__name__)


class Commands:
    def __init__(self, bot: Bot, config: Config, memory: Memory, spending: Spending, reminders: Reminders) -> None:
        self._bot = bot
        self._config = config
        self._memory = memory
        self._spending = spending
        self._reminders = reminders

    @staticmethod
    def knows(command: str) -> bool:
        return command in COMMANDS or command == "start"

    @staticmethod
    def changes_memory(command: str) -> bool:
        return command == "reset"

    async def run(self, incoming: Incoming) -> None:
        try:
            text = self._answer(incoming)
        except sqlite3.Error:
            logger.exception("a command could not be obeyed")
            text = say(Text.BROKEN, incoming.language)
        await send_text(self._bot, incoming.place, text, reply_to=incoming.reply_to)

    def _answer(self, incoming: Incoming) -> str:
        user, chat = incoming.user, incoming.place.chat
        if incoming.command == "reset":
            return self._forget(incoming)
        if incoming.command == "usage":
            return self._describe_usage(incoming)
        facts = {"model": self._config.model, "name": user.full_name, "user": user.id, "chat": chat}
        return say(SENTENCES.get(incoming.command, Text.UNKNOWN_COMMAND), incoming.language, **facts)

    def _forget(self, incoming: Incoming) -> str:
        """Reminders are not what was said: they stay, and that is said."""
        self._memory.forget(incoming.place)
        has_more = bool(self._reminders.of(incoming.place))
        return say(Text.FORGOTTEN_BUT_REMINDERS if has_more else Text.FORGOTTEN, incoming.language)

    def _describe_usage(self, incoming: Incoming) -> str:
        chat = incoming.place.chat
        spent = {"today": self._spending.today(chat), "month": self._spending.this_month(chat)}
        numbers = {
            f"{span}_{name}": number
            for span, each in spent.items()
            for name, number in zip(("answers", "in", "out", "memory"), each, strict=True)
        }
        return say(Text.USAGE, incoming.language, **numbers)


async def publish_commands(bot: Bot) -> None:
    """Has the clients of all languages offer the commands."""
    for language in LANGUAGES:
        offered = [BotCommand(name, say(text, language)) for name, text in COMMANDS.items()]
        try:
            await bot.set_my_commands(offered, language_code=None if language == "en" else language)
        except TelegramError as error:
            logger.warning("the commands were not published: %s", type(error).__name__)
            return
