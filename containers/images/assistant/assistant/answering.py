"""Answers a question in its chat."""

import logging
from collections.abc import Coroutine
from typing import Any

from telegram import Bot

from assistant.brain import RefusedError
from assistant.formatted import clean, is_blank
from assistant.incoming import Incoming
from assistant.memory import Place
from assistant.reply import Drafts, Reply
from assistant.sending import send_text
from assistant.texts import Text, say
from assistant.thinking import OutOfTimeError, Thinking
from berth_agent.status import Status

logger = logging.getLogger(__name__)


class Answering:
    def __init__(self, bot: Bot, thinking: Thinking, status: Status, seconds: int) -> None:
        """`seconds` is what the thinking may take for one answer."""
        self._bot = bot
        self._seconds = seconds
        self._thinking = thinking
        self._status = status
        self._drafts = Drafts()
        self._under_way: dict[Place, tuple[Incoming, Reply]] = {}

    async def answer(self, incoming: Incoming) -> None:
        """Raises nothing but the cancellation of its task."""
        place = incoming.place
        reply = Reply(self._bot, place, reply_to=incoming.reply_to, is_private=incoming.is_private, drafts=self._drafts)
        self._under_way[place] = (incoming, reply)
        try:
            if incoming.question:
                await self._answer(incoming, reply)
            else:
                text = Text.ONLY_TEXT if incoming.message.effective_attachment else Text.HELLO
                await reply.finish("", say(text, incoming.language))
        except Exception:
            logger.exception("a message could not be answered")
            await reply.finish(reply.text, say(Text.BROKEN, incoming.language))
        finally:
            del self._under_way[place]

    def hurry(self) -> None:
        """The agent is being stopped."""
        self._drafts.is_in_hurry = True

    def break_off(self, place: Place, words: str) -> Coroutine[Any, Any, None]:
        """Leaves in the chat what there is of the answer that is under way, and these words below.

        To be called while that is under way still; what it returns is for when its task is cancelled.
        """
        incoming, reply = self._under_way.get(place, (None, None))
        return self._break_off(place, words, incoming, reply)

    def find_draft(self, chat: object, draft_id: object) -> Incoming | None:
        """The question that is being answered by this draft."""
        for incoming, reply in self._under_way.values():
            if incoming.place.chat == chat and reply.draft_id is not None and reply.draft_id == draft_id:
                return incoming
        return None

    def find_question(self, incoming: Incoming) -> str | None:
        """What a message asked before it was edited, where that is remembered."""
        return self._thinking.find_question(incoming.place, incoming.message.message_id)

    async def answer_anew(self, incoming: Incoming) -> None:
        self._thinking.forget_question(incoming.place, incoming.message.message_id)
        await self.answer(incoming)

    def take_back(self, incoming: Incoming) -> Coroutine[Any, Any, None]:
        """Removes what was shown of the answer to this message. To be called as `break_off` is."""
        asked, reply = self._under_way.get(incoming.place, (None, None))
        is_shown = asked is not None and asked.message.message_id == incoming.message.message_id
        return self._take_back(reply if is_shown else None)

    async def _answer(self, incoming: Incoming, reply: Reply) -> None:
        text, words = "", ""
        async with reply:
            try:
                heard = await self._thinking.think(incoming.place, incoming.question, reply.grow)
            except RefusedError as error:
                text, words = clean(error.heard.text), self._explain(error, incoming.language)
            except OutOfTimeError:
                text, words = clean(reply.text), say(Text.OUT_OF_TIME, incoming.language, seconds=self._seconds)
            else:
                self._status.note_provider(None)
                text = clean(heard.text)
                words = say(Text.NO_WORDS, incoming.language) if is_blank(text) else ""
        await self._leave(incoming, reply, text, words)

    def _explain(self, error: RefusedError, language: str | None) -> str:
        if error.problem is None:
            return say(Text.REFUSED, language)
        self._status.note_provider(error.problem)
        return say(Text.BROKEN_OFF if error.heard.text else Text(error.problem.code.value), language)

    async def _break_off(self, place: Place, words: str, incoming: Incoming | None, reply: Reply | None) -> None:
        if incoming is None or reply is None or reply.is_final or is_blank(reply.text):
            await send_text(self._bot, place, words)
        else:
            await self._leave(incoming, reply, clean(reply.text), words)

    async def _take_back(self, reply: Reply | None) -> None:
        if reply is not None and not reply.is_final:
            await reply.take_back()

    async def _leave(self, incoming: Incoming, reply: Reply, text: str, words: str) -> None:
        self._thinking.remember(incoming.place, incoming.question, text, incoming.message.message_id)
        await reply.finish("" if is_blank(text) else text, words)
