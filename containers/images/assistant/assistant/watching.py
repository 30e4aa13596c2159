"""Looks at the provider again and again, so that the status heals, and sours, without anybody asking."""

import asyncio

from agent_contract import ProblemCode
from assistant.brain import Brain, RefusedError
from assistant.config import Config
from assistant.memory import Message
from assistant.outcome import Problem
from assistant.probing import probe
from assistant.status import Status

RELAXED = 10  # times rarer while nothing is wrong
# Free questions are answered although these are wrong; only asking the model tells.
ONLY_CHAT_TELLS = (ProblemCode.PROVIDER_CREDIT, ProblemCode.PROVIDER_MODEL)


async def watch_provider(config: Config, brain: Brain, status: Status) -> None:
    last_look = asyncio.get_running_loop().time()
    while True:
        await asyncio.sleep(config.watch_seconds)
        now = asyncio.get_running_loop().time()
        if status.provider is not None or now - last_look >= config.watch_seconds * RELAXED:
            last_look = now
            status.note_provider(await _look(config, brain, status.provider))


async def _look(config: Config, brain: Brain, known: Problem | None) -> Problem | None:
    found = await probe(config)
    if found is not None or known is None or known.code not in ONLY_CHAT_TELLS:
        return found
    try:
        await brain.answer([Message("user", "Reply with OK.")])
    except RefusedError as error:
        return error.problem or known
    return None
