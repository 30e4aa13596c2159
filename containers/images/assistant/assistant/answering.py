"""Answers a question with the model."""

import asyncio
import logging

from telegram import Bot

from assistant.brain import Brain, RefusedError
from assistant.incoming import Incoming
from assistant.memory import Memory, Message
from assistant.sending import send_text, typing
from assistant.spending import Spending
from assistant.splitting import clean
from assistant.texts import Text, say
from berth_agent.status import Status

MOST_AT_ONCE = 8  # questions to the model

logger = logging.getLogger(__name__)


class Answering:
    def __init__(self, bot: Bot, brain: Brain, memory: Memory, spending: Spending, status: Status) -> None:
        self._bot = bot
        self._brain = brain
        self._memory = memory
        self._spending = spending
        self._status = status
        self._questions = asyncio.Semaphore(MOST_AT_ONCE)

    async def answer(self, incoming: Incoming) -> None:
        """Raises nothing but the cancellation of its task."""
        try:
            text = await self._ask(incoming)
        except Exception:
            logger.exception("a message could not be answered")
            text = say(Text.BROKEN, incoming.language)
        await send_text(self._bot, incoming.place, text, reply_to=incoming.reply_to)

    async def _ask(self, incoming: Incoming) -> str:
        """What there is to say, and be it why there is no answer."""
        question, language = incoming.question, incoming.language
        if not question:
            return say(Text.ONLY_TEXT if incoming.message.effective_attachment else Text.HELLO, language)
        messages = [*self._memory.recall(incoming.place), Message("user", question)]
        try:
            async with typing(self._bot, incoming.place), self._questions:
                answer = await self._brain.answer(messages)
        except RefusedError as error:
            if error.problem is None:
                return say(Text.REFUSED, language)
            self._status.note_provider(error.problem)
            return say(Text(error.problem.code.value), language)
        self._status.note_provider(None)
        self._spending.note(incoming.place.chat, tokens_in=answer.tokens_in, tokens_out=answer.tokens_out)
        text = clean(answer.text)
        if not text.strip():
            return say(Text.NO_WORDS, language)
        self._memory.remember(incoming.place, question, text)
        return text
