"""Handles each message: checks access and limits, runs commands, and queues questions to the model."""

import asyncio
import logging
import math
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

from telegram import Bot, Message, Update, User

from assistant.chatting.access import Access
from assistant.chatting.answering import Answerer
from assistant.chatting.commands import Commands
from assistant.chatting.limits import Limits, RateLimiter
from assistant.chatting.recent_messages import RecentMessage, RecentMessages, split_album
from assistant.chatting.turns import QueuedQuestion, TurnQueue
from assistant.storage.memory import Place
from assistant.storage.unanswered import Unanswered
from assistant.telegram.albums import Albums
from assistant.telegram.incoming import Incoming
from assistant.telegram.sending import send_text
from assistant.texts import Text, translate

FAREWELL_SECONDS = 1.4
MOST_LANGUAGES = 1000
LATE = timedelta(hours=1)  # an edit this long after the message is not answered if the message is not remembered

logger = logging.getLogger(__name__)


class Conversation:
    def __init__(
        self, bot: Bot, access: Access, commands: Commands, answerer: Answerer, limits: Limits, unanswered: Unanswered
    ) -> None:
        self._bot = bot
        self._limits = limits
        self._rate_limiter = RateLimiter(limits.messages_per_minute)
        self._access = access
        self._commands = commands
        self._answerer = answerer
        self._unanswered = unanswered
        self._turns, self._recent = TurnQueue(), RecentMessages()
        self._albums = Albums(self._take_album)
        self._languages: dict[Place, str | None] = {}
        self._asked_to_wait: set[Place] = set()
        self._small_tasks: set[asyncio.Task[None]] = set()

    def take(self, update: Update) -> None:
        """Starts to handle an update and returns immediately."""
        message = update.message or update.edited_message
        if message is None:
            self._stop_draft(update.api_kwargs.get("stopped_message_generation"))
        elif message.from_user is not None and update.message is None:
            self._take_edited(message, message.from_user)
        elif message.from_user is not None and not self._albums.add(message):
            self._take(Incoming(message, message.from_user, self._bot.bot))

    async def close(self, patience: float) -> None:
        """Waits `patience` seconds for answers to finish, then cancels the rest and says so in their chats.

        Also waits for the agent's other messages, because Telegram does not send the updates again that they answer.
        """
        self._albums.finish()
        self._answerer.hurry()
        late = await self._turns.finish(patience)
        farewells: dict[asyncio.Task[None], list[Message]] = {}
        for place, left in late.items():
            note = translate(Text.INTERRUPTED, self._languages.get(place))
            farewells[asyncio.create_task(self._answerer.break_off(place, note))] = left
        if being_said := {*farewells, *self._small_tasks}:
            await asyncio.wait(being_said, timeout=FAREWELL_SECONDS)
        self._unanswered.keep(each for farewell, left in farewells.items() if not farewell.done() for each in left)

    def _take(self, incoming: Incoming) -> None:
        code = self._access.read_code(incoming.argument) if incoming.command == "start" else None
        if code is not None:
            self._send_notice(incoming, self._access.redeem_code(code, incoming.user, is_private=incoming.is_private))
        elif not self._is_for_me(incoming):
            return
        elif not self._access.admits(incoming.user):
            self._send_notice(incoming, self._access.refuse(incoming.user), user=incoming.user.id)
        elif incoming.command == "stop":
            self._stop(incoming)
        elif incoming.command:
            self._run_command(incoming)
        else:
            self._ask(incoming)

    def _take_album(self, messages: list[Message]) -> None:
        """Raises nothing, because its caller is a timer, the agent's shutdown or the handling of another message."""
        try:
            first, others = split_album(messages)
            if first.from_user is not None:
                album = Incoming(first, first.from_user, self._bot.bot, others=others)
                self._recent.keep(album, None)
                self._take(album)
        except Exception:
            logger.exception("an album could not be handled")

    def _take_edited(self, message: Message, user: User) -> None:
        """Answers again if the edit changes the question. Telegram also reports an added link preview as an edit."""
        if self._albums.replace(message):
            return
        first, others = self._recent.edit(message)
        incoming = Incoming(first, user, self._bot.bot, is_edited=True, others=others)
        if incoming.text.startswith("/") or not self._is_for_me(incoming) or not self._access.admits(incoming.user):
            return
        if self._asks_something_new(incoming, self._recent.find(message)):
            self._ask(incoming)

    def _ask(self, incoming: Incoming) -> None:
        if not self._is_within_limits(incoming):
            return
        self._recent.keep(incoming, incoming.question)
        if incoming.is_edited:
            withdrawal = self._answerer.withdraw(incoming)
            self._turns.cancel(incoming.place, incoming.message.message_id)
            self._start_task(withdrawal)
        self._wait_for_turn(incoming, self._answerer.answer_again if incoming.is_edited else self._answerer.answer)

    def _asks_something_new(self, incoming: Incoming, before: RecentMessage | None) -> bool:
        if not incoming.is_readable:  # such as a live location, which changes all the time
            return False
        question = self._turns.find_question(incoming.place, incoming.message.message_id)
        question = question if question is not None or before is None else before.question
        if question is not None:
            return question != incoming.question
        if (remembered := self._answerer.find_question(incoming)) is not None:
            return not incoming.matches_remembered(remembered)
        edited, sent_at = incoming.message.edit_date, incoming.message.date
        return edited is not None and edited - sent_at < LATE

    def _is_within_limits(self, incoming: Incoming) -> bool:
        """Returns whether the message may be answered. If not, says why; asks to wait once, until an answer follows."""
        if wait := self._rate_limiter.reserve(incoming.place.chat):
            self._ask_to_wait(incoming, Text.TOO_OFTEN, seconds=math.ceil(wait))
            return False
        length, most = len(incoming.text), self._limits.longest_message
        if length > most:
            self._send_notice(incoming, Text.MESSAGE_TOO_LONG, length=length, most=most)
        return length <= most

    def _stop(self, incoming: Incoming) -> None:
        """Stops all answers of this place. The unfinished answer stays in the chat."""
        if self._turns.cancel(incoming.place):
            self._start_task(self._answerer.break_off(incoming.place, translate(Text.STOPPED, incoming.language)))
        else:
            self._send_notice(incoming, Text.NOTHING_TO_STOP)

    def _stop_draft(self, pressed: object) -> None:
        """Stops the answer whose draft has the pressed button. The library does not know this update yet."""
        found = self._answerer.find_draft(pressed if isinstance(pressed, dict) else {})
        if found is not None and self._turns.cancel(found.place, found.message.message_id):
            self._start_task(self._answerer.break_off(found.place, translate(Text.STOPPED, found.language)))

    def _is_for_me(self, incoming: Incoming) -> bool:
        """Returns False for messages between people in a group, and for unknown commands of other bots there."""
        if incoming.text.startswith("/") and incoming.message.text:
            known = self._commands.knows(incoming.command)
            return bool(incoming.command) and (known or incoming.is_private or incoming.names_me)
        has_content = bool(incoming.text) or incoming.message.effective_attachment is not None
        return has_content and incoming.is_for_me

    def _run_command(self, incoming: Incoming) -> None:
        if self._commands.changes_memory(incoming.command):  # after the answers that are under way
            self._wait_for_turn(incoming, self._commands.run)
        else:
            self._start_task(self._commands.run(incoming))

    def _wait_for_turn(self, incoming: Incoming, work: Any) -> None:
        place = incoming.place
        queued = QueuedQuestion(incoming.message.message_id, incoming.question, incoming.replayable)
        if self._turns.add(place, lambda: work(incoming), queued):
            self._asked_to_wait.discard(place)
            if len(self._languages) >= MOST_LANGUAGES:
                self._languages.clear()
            self._languages[place] = incoming.language
        else:
            self._ask_to_wait(incoming, Text.ONE_AT_A_TIME)

    def _ask_to_wait(self, incoming: Incoming, text: Text, **values: object) -> None:
        if incoming.place not in self._asked_to_wait and len(self._asked_to_wait) < MOST_LANGUAGES:
            self._asked_to_wait.add(incoming.place)
            self._send_notice(incoming, text, **values)

    def _send_notice(self, incoming: Incoming, text: Text | None, **values: object) -> None:
        if text is not None:
            self._start_task(self._send_text(incoming, translate(text, incoming.language, **values)))

    async def _send_text(self, incoming: Incoming, text: str) -> None:
        await send_text(self._bot, incoming.place, text, reply_to=incoming.reply_to)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._small_tasks.add(task)
        task.add_done_callback(self._small_tasks.discard)
