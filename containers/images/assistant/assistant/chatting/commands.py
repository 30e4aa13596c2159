"""Runs the commands, except /stop: it cancels answers, so the conversation runs it."""

import logging
import sqlite3

from telegram import Bot, BotCommand
from telegram.error import TelegramError

from assistant.config import Config
from assistant.storage.memory import Memory
from assistant.storage.reminders import Reminders
from assistant.storage.usage import UsageLog
from assistant.telegram.incoming import Incoming
from assistant.telegram.sending import send_text
from assistant.texts import COMMANDS, LANGUAGES, Text, translate

SENTENCES = {
    "start": Text.HELLO,
    "help": Text.HELP,
    "whoami": Text.WHOAMI,
    "model": Text.MODEL,
}

logger = logging.getLogger(__name__)


class Commands:
    def __init__(self, bot: Bot, config: Config, memory: Memory, usage_log: UsageLog, reminders: Reminders) -> None:
        self._bot = bot
        self._config = config
        self._memory = memory
        self._usage_log = usage_log
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
            logger.exception("a command failed")
            text = translate(Text.BROKEN, incoming.language)
        await send_text(self._bot, incoming.place, text, reply_to=incoming.reply_to)

    def _answer(self, incoming: Incoming) -> str:
        user, chat = incoming.user, incoming.place.chat
        if incoming.command == "reset":
            return self._forget(incoming)
        if incoming.command == "usage":
            return self._describe_usage(incoming)
        facts = {"model": self._config.model, "name": user.full_name, "user": user.id, "chat": chat}
        return translate(SENTENCES.get(incoming.command, Text.UNKNOWN_COMMAND), incoming.language, **facts)

    def _forget(self, incoming: Incoming) -> str:
        """Forgets the chat but keeps its reminders, and says so if there are any."""
        self._memory.forget(incoming.place)
        has_more = bool(self._reminders.list_for(incoming.place))
        return translate(Text.FORGOTTEN_BUT_REMINDERS if has_more else Text.FORGOTTEN, incoming.language)

    def _describe_usage(self, incoming: Incoming) -> str:
        chat = incoming.place.chat
        spent = {"today": self._usage_log.today(chat), "month": self._usage_log.this_month(chat)}
        numbers = {
            f"{span}_{name}": number
            for span, each in spent.items()
            for name, number in zip(("answers", "in", "out", "memory"), each, strict=True)
        }
        return translate(Text.USAGE, incoming.language, **numbers)


async def publish_commands(bot: Bot) -> None:
    """Publishes the menu of commands in every language."""
    for language in LANGUAGES:
        offered = [BotCommand(name, translate(text, language)) for name, text in COMMANDS.items()]
        try:
            await bot.set_my_commands(offered, language_code=None if language == "en" else language)
        except TelegramError as error:
            logger.warning("the commands were not published: %s", type(error).__name__)
            return
