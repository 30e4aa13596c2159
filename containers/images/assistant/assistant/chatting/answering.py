"""Answers a question in its chat."""

import json
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from telegram import Bot

from agent_contract import ProblemCode
from assistant.chatting.reading import Reading
from assistant.formatting.formatted import clean, is_blank
from assistant.model.client import RefusedError
from assistant.model.completion import Completion
from assistant.model.dialogue import Dialogue, OutOfTimeError
from assistant.model.parts import Question
from assistant.remembering.memory import Place
from assistant.telegram.files import UnreadableError
from assistant.telegram.incoming import Incoming
from assistant.telegram.reply import Drafts, Reply
from assistant.telegram.sending import send_text
from assistant.texts import Text, say
from assistant.tools.tool import Caller
from assistant.tools.troubles import Troubles
from berth_agent.status import Status

logger = logging.getLogger(__name__)


@dataclass
class UnderWay:
    incoming: Incoming
    reply: Reply
    remembered: str
    """The question, as it is remembered."""

    began: float = field(default_factory=time.monotonic)
    completion: Completion | None = None
    """What the model has said, once it has said all."""


class Answering:
    def __init__(
        self, bot: Bot, reading: Reading, dialogue: Dialogue, troubles: Troubles, status: Status, seconds: int
    ) -> None:
        """`seconds` is what the thinking may take for one answer."""
        self._bot = bot
        self._seconds = seconds
        self._reading = reading
        self._dialogue = dialogue
        self._troubles = troubles
        self._status = status
        self._drafts = Drafts()
        self._under_way: dict[Place, UnderWay] = {}

    async def answer(self, incoming: Incoming) -> None:
        """Raises nothing but the cancellation of its task."""
        place = incoming.place
        reply = Reply(self._bot, place, reply_to=incoming.reply_to, is_private=incoming.is_private, drafts=self._drafts)
        under_way = self._under_way[place] = UnderWay(incoming, reply, incoming.question)
        try:
            if incoming.is_readable:
                await self._answer(under_way)
            else:
                text = Text.ONLY_TEXT if incoming.message.effective_attachment else Text.HELLO
                await reply.finish("", say(text, incoming.language))
        except Exception:
            logger.exception("a message could not be answered")
            await reply.finish(reply.text, say(Text.BROKEN, incoming.language))
        finally:
            del self._under_way[place]

    def hurry(self) -> None:
        """Makes drafts hurry, because the agent is being stopped."""
        self._drafts.is_in_hurry = True

    def break_off(self, place: Place, words: str) -> Coroutine[Any, Any, None]:
        """Leaves the unfinished answer in the chat, with these words below it.

        Call it while the answer is still under way; await the result once the answer's task is cancelled.
        """
        return self._break_off(place, words, self._under_way.get(place))

    def find_draft(self, pressed: dict[str, Any]) -> Incoming | None:
        """Returns the question that the draft with the pressed button is answering, or None."""
        chat, draft_id = pressed.get("chat"), pressed.get("draft_id")
        chat = chat.get("id") if isinstance(chat, dict) else None
        for each in self._under_way.values():
            shown = each.reply.draft_id
            if each.incoming.place.chat == chat and shown is not None and shown == draft_id:
                return each.incoming
        return None

    def find_question(self, incoming: Incoming) -> str | None:
        """Returns the question that the message asked before it was edited, or None if it is not remembered."""
        return self._dialogue.find_question(incoming.place, incoming.message.message_id)

    async def answer_anew(self, incoming: Incoming) -> None:
        self._dialogue.forget_question(incoming.place, incoming.message.message_id)
        await self.answer(incoming)

    def take_back(self, incoming: Incoming) -> Coroutine[Any, Any, None]:
        """Removes the visible part of the answer to this message. Call it in the same way as `break_off`."""
        found = self._under_way.get(incoming.place)
        is_shown = found is not None and found.incoming.message.message_id == incoming.message.message_id
        return self._take_back(found.reply if found is not None and is_shown else None)

    async def _answer(self, under_way: UnderWay) -> None:
        incoming, reply = under_way.incoming, under_way.reply
        try:
            async with reply, self._reading.read(incoming) as question:
                under_way.remembered = question.remembered
                text, words = await self._ask(under_way, question)
        except UnreadableError as error:
            text, words = "", say(error.text, incoming.language, **error.values)
        except RefusedError as error:  # of a sound
            text, words = "", self._explain(error, incoming.language)
        await self._leave(under_way, text, words)
        if under_way.completion is not None:
            _tell_log(under_way.completion, time.monotonic() - under_way.began)

    async def _ask(self, under_way: UnderWay, question: Question) -> tuple[str, str]:
        """The answer, and the agent's own words below."""
        incoming, reply = under_way.incoming, under_way.reply
        try:
            completion = await self._dialogue.ask(Caller(incoming.place, incoming.language), question, reply.grow)
        except RefusedError as error:
            return clean(error.completion.text), self._explain(error, incoming.language, has_files=bool(question.parts))
        except OutOfTimeError:
            return clean(reply.text), say(Text.OUT_OF_TIME, incoming.language, seconds=self._seconds)
        self._status.note_provider(None)
        under_way.completion = completion
        text = clean(completion.text)
        if is_blank(text):
            return text, say(Text.NO_WORDS, incoming.language)
        return text, self._troubles.tell(incoming.place, incoming.language)

    def _explain(self, error: RefusedError, language: str | None, *, has_files: bool = False) -> str:
        """With files a model that is said to be unknown may be one that takes none, or not of this kind."""
        problem = error.problem
        if error.notice is not None:
            if problem is not None:
                self._status.note_provider(problem)
            text, values = error.notice
            return say(text, language, **values)
        if has_files and (problem is None or problem.code is ProblemCode.PROVIDER_MODEL):
            return say(Text.CANNOT_SEE, language)
        if problem is None:
            return say(Text.REFUSED, language)
        self._status.note_provider(problem)
        return say(Text.BROKEN_OFF if error.completion.text else Text(problem.code.value), language)

    async def _break_off(self, place: Place, words: str, found: UnderWay | None) -> None:
        if found is None or found.reply.is_final or is_blank(found.reply.text):
            await send_text(self._bot, place, words)
        else:
            await self._leave(found, clean(found.reply.text), words)

    async def _take_back(self, reply: Reply | None) -> None:
        if reply is not None and not reply.is_final:
            await reply.take_back()

    async def _leave(self, under_way: UnderWay, text: str, words: str) -> None:
        incoming = under_way.incoming
        self._dialogue.remember(incoming.place, under_way.remembered, text, incoming.message.message_id)
        await under_way.reply.finish("" if is_blank(text) else text, words)


def _tell_log(completion: Completion, seconds: float) -> None:
    """That a message was answered, in how long, and for how many tokens, where the provider says; not who said what."""
    tokens = completion.tokens_in + completion.tokens_out
    line = {"event": "answered", "seconds": round(seconds, 1)} | ({"tokens": tokens} if tokens else {})
    print(json.dumps(line), flush=True)  # noqa: T201 - a line of the log that Berth tells as a sentence
