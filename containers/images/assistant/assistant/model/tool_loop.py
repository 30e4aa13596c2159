"""Runs the tools that the model calls and sends it their results, until it answers without calling any."""

import logging
import sqlite3
from collections.abc import Callable, Sequence

from assistant.model.client import ModelClient, RefusedError
from assistant.model.completion import Completion, Step
from assistant.model.dialects import Prompt
from assistant.storage.memory import Message
from assistant.storage.usage import UsageLog
from assistant.tools.tool import Caller
from assistant.tools.toolbox import Toolbox

logger = logging.getLogger(__name__)


class ToolLoop:
    def __init__(self, model: ModelClient, toolbox: Toolbox, usage_log: UsageLog, most_steps: int) -> None:
        self._model = model
        self._toolbox = toolbox
        self._usage_log = usage_log
        self._most_steps = most_steps

    async def answer(
        self, messages: Sequence[Message], on_text: Callable[[str], None], instructions: str, caller: Caller
    ) -> Completion:
        """Returns the texts of all steps as one answer, with all tokens. Raises RefusedError with the same."""
        tools = await self._toolbox.list_tools()
        if tools:
            instructions += self._toolbox.note()
        whole = Completion(is_complete=True)
        steps: list[Step] = []
        while True:
            prefix = f"{whole.text}\n\n" if whole.text else ""
            prompt = Prompt(instructions, messages, tools, tuple(steps), len(steps) < self._most_steps)
            try:
                completion = await self._ask(prompt, _with_prefix(prefix, on_text), caller)
            except RefusedError as error:
                _add(whole, error.completion, prefix)
                # A shorter question would run the tools a second time.
                is_too_large = error.is_too_large and not steps and not whole.text
                raise RefusedError(error.problem, whole, is_too_large=is_too_large, notice=error.notice) from None
            _add(whole, completion, prefix)
            if not completion.calls or not tools or not prompt.may_call:
                return whole
            results = [await self._toolbox.use(tools, call, caller) for call in completion.calls]
            steps.append(Step(completion.text, completion.calls, results))

    async def _ask(self, prompt: Prompt, on_text: Callable[[str], None], caller: Caller) -> Completion:
        """Records the tokens used, even if the answer is cut off."""
        completion = Completion()
        try:
            await self._model.answer_prompt(prompt, on_text, completion)
        finally:
            self._note(completion, caller, is_first=not prompt.steps)
        return completion

    def _note(self, completion: Completion, caller: Caller, *, is_first: bool) -> None:
        """Counts an answer once, with its first step."""
        if not (completion.text or completion.calls or completion.tokens_in or completion.tokens_out):
            return
        try:
            spent = {"tokens_in": completion.tokens_in, "tokens_out": completion.tokens_out, "answers": int(is_first)}
            self._usage_log.note(caller.place.chat, **spent)
        except sqlite3.Error:
            logger.exception("the tokens of an answer could not be recorded")


def _with_prefix(prefix: str, on_text: Callable[[str], None]) -> Callable[[str], None]:
    return lambda text: on_text(prefix + text)


def _add(whole: Completion, completion: Completion, prefix: str) -> None:
    whole.text = prefix + completion.text if completion.text.strip() else whole.text
    whole.tokens_in += completion.tokens_in
    whole.tokens_out += completion.tokens_out
