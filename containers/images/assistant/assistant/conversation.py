"""Handles the messages of a chat: the allow-list, commands, and questions to the model."""

import asyncio
import logging
import time
from collections import defaultdict

from telegram import Bot, Update, User
from telegram import Message as Incoming

from assistant.brain import Brain, RefusedError
from assistant.config import Config
from assistant.memory import Memory, Message
from assistant.providers import CHAT_SENTENCES, REFUSED_SENTENCE
from assistant.sending import send_text, typing
from assistant.splitting import clean
from berth_agent.status import Status

MOST_WAITING = 10  # questions of one chat
MOST_AT_ONCE = 8  # questions to the model
STRANGER_PAUSE = 3600.0  # seconds until a stranger gets another answer, so that strangers cannot flood a chat

HELLO = "Hello! Write to me and I will answer. /help shows what else I can do."
HELP = "Write to me and I will answer.\n\n/reset: I forget what was said in this chat\n/help: this list"
FORGOTTEN = "Done: I have forgotten what was said in this chat."
UNKNOWN_COMMAND = "I do not know this command. /help shows the ones I know."
ONLY_TEXT = "I can only read text."
ONE_AT_A_TIME = "That is more than I can answer at once. Please wait for my answers first."
NO_WORDS = "My model gave an empty answer. Please ask in other words."
BROKEN = "Something went wrong while I was answering. Please try again."
INTERRUPTED = "I am being stopped and could not finish my answer. Please ask again later."

logger = logging.getLogger(__name__)


class Conversation:
    def __init__(self, bot: Bot, config: Config, brain: Brain, memory: Memory, status: Status) -> None:
        self._bot = bot
        self._config = config
        self._brain = brain
        self._memory = memory
        self._status = status
        self._turns: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._waiting: defaultdict[int, int] = defaultdict(int)
        self._questions = asyncio.Semaphore(MOST_AT_ONCE)
        self._strangers: dict[int, float] = {}
        self._tasks: dict[asyncio.Task[None], int] = {}

    def take(self, update: Update) -> None:
        """Begins to answer. Messages of one chat are answered one after the other, several chats at once."""
        message = update.message
        if message is not None and message.from_user is not None:
            task = asyncio.create_task(self._answer_in_turn(message, message.from_user))
            self._tasks[task] = message.chat_id
            task.add_done_callback(self._tasks.pop)

    async def close(self, patience: float) -> None:
        """Waits `patience` seconds for answers to finish, then cancels the rest and says so in their chats."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=patience)
        chats = {self._tasks[task] for task in late if task in self._tasks}
        for task in late:
            task.cancel()
        farewells = [asyncio.create_task(send_text(self._bot, chat, INTERRUPTED)) for chat in chats]
        if farewells:
            await asyncio.wait(farewells, timeout=1.0)

    async def _answer_in_turn(self, message: Incoming, user: User) -> None:
        chat = message.chat_id
        self._waiting[chat] += 1
        try:
            if self._waiting[chat] > MOST_WAITING:
                await self._send(chat, ONE_AT_A_TIME)
                return
            async with self._turns[chat]:
                await self._answer(message, user)
        except Exception:
            logger.exception("a message could not be answered")
            await self._send(chat, BROKEN)
        finally:
            self._waiting[chat] -= 1
            if not self._waiting[chat]:
                del self._waiting[chat]
                self._turns.pop(chat, None)

    async def _answer(self, message: Incoming, user: User) -> None:
        if not self._is_allowed(user):
            await self._turn_away(message.chat_id, user)
        elif message.text is None:
            await self._answer_attachment(message)
        elif message.text.startswith("/"):
            await self._run_command(message.chat_id, message.text)
        else:
            await self._ask_model(message.chat_id, message.text)

    async def _answer_attachment(self, message: Incoming) -> None:
        if message.caption:
            await self._ask_model(message.chat_id, message.caption)
        elif message.effective_attachment is not None:  # not a notice that somebody joined or a title changed
            await self._send(message.chat_id, ONLY_TEXT)

    def _is_allowed(self, user: User) -> bool:
        allowed = self._config.allowed_users
        return not allowed or str(user.id) in allowed or (user.username or "").lower() in allowed

    async def _turn_away(self, chat: int, user: User) -> None:
        now = time.monotonic()
        self._strangers = {who: at for who, at in self._strangers.items() if now - at < STRANGER_PAUSE}
        if user.id not in self._strangers:
            self._strangers[user.id] = now
            await self._send(chat, f"Sorry, my owner has not put you (id {user.id}) on the list of people I talk to.")

    async def _run_command(self, chat: int, text: str) -> None:
        command, _, addressee = text.split(maxsplit=1)[0].lower().partition("@")
        if addressee and addressee != self._bot.username.lower():
            return
        if command == "/reset":
            self._memory.forget(chat)
        answers = {"/start": HELLO, "/help": HELP, "/reset": FORGOTTEN}
        await self._send(chat, answers.get(command, UNKNOWN_COMMAND))

    async def _ask_model(self, chat: int, question: str) -> None:
        messages = [*self._memory.recall(chat), Message("user", question)]
        try:
            async with typing(self._bot, chat), self._questions:
                answer = clean(await self._brain.answer(messages))
        except RefusedError as error:
            if error.problem is None:
                await self._send(chat, REFUSED_SENTENCE)
                return
            self._status.note_provider(error.problem)
            await self._send(chat, CHAT_SENTENCES[error.problem.code])
            return
        self._status.note_provider(None)
        if answer.strip():
            self._memory.remember(chat, question, answer)
        await self._send(chat, answer if answer.strip() else NO_WORDS)

    async def _send(self, chat: int, text: str) -> None:
        await send_text(self._bot, chat, text)
