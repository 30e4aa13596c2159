"""An answer in steps: the model calls tools, hears what they return, and goes on until it has only words."""

import logging
import sqlite3
from collections.abc import Callable, Sequence

from assistant.model.brain import Brain, RefusedError
from assistant.model.dialects import Prompt
from assistant.model.heard import Heard, Step
from assistant.remembering.memory import Message
from assistant.remembering.spending import Spending
from assistant.tools.tool import Caller
from assistant.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)


class Stepping:
    def __init__(self, brain: Brain, toolbox: Toolbox, spending: Spending, most_steps: int) -> None:
        self._brain = brain
        self._toolbox = toolbox
        self._spending = spending
        self._most_steps = most_steps

    async def answer(
        self, messages: Sequence[Message], hear: Callable[[str], None], instructions: str, caller: Caller
    ) -> Heard:
        """All that was said, and what it took. Raises RefusedError with that."""
        tools = await self._toolbox.list_tools()
        if tools:
            instructions += self._toolbox.note()
        whole = Heard(is_complete=True)
        steps: list[Step] = []
        while True:
            said = f"{whole.text}\n\n" if whole.text else ""
            prompt = Prompt(instructions, messages, tools, tuple(steps), len(steps) < self._most_steps)
            try:
                heard = await self._ask(prompt, _behind(said, hear), caller)
            except RefusedError as error:
                _add(whole, error.heard, said)
                # What tools have done must not be done again for a smaller question.
                is_too_much = error.is_too_much and not steps and not whole.text
                raise RefusedError(error.problem, whole, is_too_much=is_too_much, words=error.words) from None
            _add(whole, heard, said)
            if not heard.calls or not tools or not prompt.may_call:
                return whole
            results = [await self._toolbox.use(tools, call, caller) for call in heard.calls]
            steps.append(Step(heard.text, heard.calls, results))

    async def _ask(self, prompt: Prompt, hear: Callable[[str], None], caller: Caller) -> Heard:
        """Notes what it took, also where it is cut off."""
        heard = Heard()
        try:
            await self._brain.answer_prompt(prompt, hear, heard)
        finally:
            self._note(heard, caller, is_first=not prompt.steps)
        return heard

    def _note(self, heard: Heard, caller: Caller, *, is_first: bool) -> None:
        """An answer counts once, with its first step."""
        if not (heard.text or heard.calls or heard.tokens_in or heard.tokens_out):
            return
        try:
            spent = {"tokens_in": heard.tokens_in, "tokens_out": heard.tokens_out, "answers": int(is_first)}
            self._spending.note(caller.place.chat, **spent)
        except sqlite3.Error:
            logger.exception("what an answer took could not be noted")


def _behind(said: str, hear: Callable[[str], None]) -> Callable[[str], None]:
    return lambda text: hear(said + text)


def _add(whole: Heard, heard: Heard, said: str) -> None:
    whole.text = said + heard.text if heard.text.strip() else whole.text
    whole.tokens_in += heard.tokens_in
    whole.tokens_out += heard.tokens_out
