"""Answers a question in its chat."""

import json
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from telegram import Bot

from agent_contract import ProblemCode
from assistant.chatting.reading import QuestionReader
from assistant.formatting.formatted import clean, is_blank
from assistant.model.client import RefusedError
from assistant.model.completion import Completion
from assistant.model.dialogue import Dialogue, OutOfTimeError
from assistant.model.parts import Question
from assistant.storage.memory import Place
from assistant.telegram.files import UnreadableError
from assistant.telegram.incoming import Incoming
from assistant.telegram.reply import DraftSupport, Reply
from assistant.telegram.sending import send_text
from assistant.texts import Text, translate
from assistant.tools.server_problems import ServerProblems
from assistant.tools.tool import Caller
from berth_agent.status import Status

logger = logging.getLogger(__name__)


@dataclass
class PendingAnswer:
    incoming: Incoming
    reply: Reply
    remembered: str
    """The question in the form that goes into memory."""

    began: float = field(default_factory=time.monotonic)
    completion: Completion | None = None
    """The model's answer, once it is complete."""


class Answerer:
    def __init__(
        self,
        bot: Bot,
        reader: QuestionReader,
        dialogue: Dialogue,
        problems: ServerProblems,
        status: Status,
        seconds: int,
    ) -> None:
        """`seconds` is the time limit of one answer, for the sentence that says it was exceeded."""
        self._bot = bot
        self._seconds = seconds
        self._reader = reader
        self._dialogue = dialogue
        self._problems = problems
        self._status = status
        self._drafts = DraftSupport()
        self._pending: dict[Place, PendingAnswer] = {}

    async def answer(self, incoming: Incoming) -> None:
        """Raises nothing except its task's cancellation."""
        place = incoming.place
        reply = Reply(self._bot, place, reply_to=incoming.reply_to, is_private=incoming.is_private, drafts=self._drafts)
        pending = self._pending[place] = PendingAnswer(incoming, reply, incoming.question)
        try:
            if incoming.is_readable:
                await self._answer(pending)
            else:
                text = Text.ONLY_TEXT if incoming.message.effective_attachment else Text.HELLO
                await reply.finish("", translate(text, incoming.language))
        except Exception:
            logger.exception("a message could not be answered")
            await reply.finish(reply.text, translate(Text.BROKEN, incoming.language))
        finally:
            del self._pending[place]

    def hurry(self) -> None:
        """Makes drafts hurry, because the agent is being stopped."""
        self._drafts.is_in_hurry = True

    def break_off(self, place: Place, note: str) -> Coroutine[Any, Any, None]:
        """Leaves the unfinished answer in the chat, with this note below it.

        Call it while the answer is still under way; await the result once the answer's task is cancelled.
        """
        return self._break_off(place, note, self._pending.get(place))

    def find_draft(self, pressed: dict[str, Any]) -> Incoming | None:
        """Returns the question that the draft with the pressed button is answering, or None."""
        chat, draft_id = pressed.get("chat"), pressed.get("draft_id")
        chat = chat.get("id") if isinstance(chat, dict) else None
        for each in self._pending.values():
            shown = each.reply.draft_id
            if each.incoming.place.chat == chat and shown is not None and shown == draft_id:
                return each.incoming
        return None

    def find_question(self, incoming: Incoming) -> str | None:
        """Returns the question that the message asked before it was edited, or None if it is not remembered."""
        return self._dialogue.find_question(incoming.place, incoming.message.message_id)

    async def answer_again(self, incoming: Incoming) -> None:
        self._dialogue.forget_question(incoming.place, incoming.message.message_id)
        await self.answer(incoming)

    def withdraw(self, incoming: Incoming) -> Coroutine[Any, Any, None]:
        """Removes the visible part of the answer to this message. Call it in the same way as `break_off`."""
        found = self._pending.get(incoming.place)
        is_shown = found is not None and found.incoming.message.message_id == incoming.message.message_id
        return self._withdraw(found.reply if found is not None and is_shown else None)

    async def _answer(self, pending: PendingAnswer) -> None:
        incoming, reply = pending.incoming, pending.reply
        try:
            async with reply, self._reader.read(incoming) as question:
                pending.remembered = question.remembered
                text, note = await self._ask(pending, question)
        except UnreadableError as error:
            text, note = "", translate(error.text, incoming.language, **error.values)
        except RefusedError as error:  # while transcribing a sound
            text, note = "", self._explain(error, incoming.language)
        await self._leave(pending, text, note)
        if pending.completion is not None:
            _log_answer(pending.completion, time.monotonic() - pending.began)

    async def _ask(self, pending: PendingAnswer, question: Question) -> tuple[str, str]:
        """Returns the answer and the agent's own note below it, which may be empty."""
        incoming, reply = pending.incoming, pending.reply
        try:
            completion = await self._dialogue.ask(Caller(incoming.place, incoming.language), question, reply.grow)
        except RefusedError as error:
            return clean(error.completion.text), self._explain(error, incoming.language, has_files=bool(question.parts))
        except OutOfTimeError:
            return clean(reply.text), translate(Text.OUT_OF_TIME, incoming.language, seconds=self._seconds)
        self._status.note_provider(None)
        pending.completion = completion
        text = clean(completion.text)
        if is_blank(text):
            return text, translate(Text.NO_WORDS, incoming.language)
        return text, self._problems.notices_for(incoming.place, incoming.language)

    def _explain(self, error: RefusedError, language: str | None, *, has_files: bool = False) -> str:
        """Returns the sentence for the chat and updates the status. If the question had files, a provider may call the
        model unknown only because the model does not accept such files.
        """
        problem = error.problem
        if error.notice is not None:
            if problem is not None:
                self._status.note_provider(problem)
            text, values = error.notice
            return translate(text, language, **values)
        if has_files and (problem is None or problem.code is ProblemCode.PROVIDER_MODEL):
            return translate(Text.CANNOT_SEE, language)
        if problem is None:
            return translate(Text.REFUSED, language)
        self._status.note_provider(problem)
        return translate(Text.BROKEN_OFF if error.completion.text else Text(problem.code.value), language)

    async def _break_off(self, place: Place, note: str, found: PendingAnswer | None) -> None:
        if found is None or found.reply.is_final or is_blank(found.reply.text):
            await send_text(self._bot, place, note)
        else:
            await self._leave(found, clean(found.reply.text), note)

    async def _withdraw(self, reply: Reply | None) -> None:
        if reply is not None and not reply.is_final:
            await reply.withdraw()

    async def _leave(self, pending: PendingAnswer, text: str, note: str) -> None:
        incoming = pending.incoming
        self._dialogue.remember(incoming.place, pending.remembered, text, incoming.message.message_id)
        await pending.reply.finish("" if is_blank(text) else text, note)


def _log_answer(completion: Completion, seconds: float) -> None:
    """Logs how long an answer took and, if the provider reports it, its tokens. Logs neither people nor texts."""
    tokens = completion.tokens_in + completion.tokens_out
    line = {"event": "answered", "seconds": round(seconds, 1)} | ({"tokens": tokens} if tokens else {})
    print(json.dumps(line), flush=True)  # noqa: T201 - Berth shows this line of the log as a sentence
