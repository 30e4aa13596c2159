"""Probes the provider and the MCP servers at intervals, so that the status is right even if no user asks anything."""

import asyncio
from contextlib import suppress

from agent_contract import ProblemCode
from assistant.config import Config
from assistant.model.client import ModelClient, RefusedError
from assistant.storage.memory import Message
from assistant.tools.mcp import DOWN_SECONDS, FRESH_SECONDS
from assistant.tools.server_problems import ServerProblems
from assistant.tools.toolbox import Toolbox
from berth_agent.outcome import Problem
from berth_agent.preflight import LONGEST_PROBE, check_provider
from berth_agent.providers import problem
from berth_agent.status import Status

HEALTHY_FACTOR = 10  # multiplies the interval while nothing is wrong
# Free requests succeed in spite of these problems. Only a question to the model shows whether they are over.
ONLY_CHAT_SHOWS = (ProblemCode.PROVIDER_CREDIT, ProblemCode.PROVIDER_MODEL)


async def probe(config: Config) -> Problem | None:
    """Returns the problem with the provider, found without a question to the model; None if there is none.

    Runs in a thread, with the standard library: importing a provider's SDK takes half a second of CPU, so an agent with
    a quarter of a core would start two seconds later.
    """
    check = asyncio.to_thread(check_provider, config.provider, config.api_base, config.key, config.model)
    try:
        return await asyncio.wait_for(check, LONGEST_PROBE)
    except TimeoutError:  # resolving a host name can take longer
        return problem(ProblemCode.PROVIDER_DOWN)


async def watch_provider(config: Config, model: ModelClient, status: Status) -> None:
    last_probe = asyncio.get_running_loop().time()
    while True:
        await asyncio.sleep(config.watch_seconds)
        now = asyncio.get_running_loop().time()
        if status.provider is not None or now - last_probe >= config.watch_seconds * HEALTHY_FACTOR:
            last_probe = now
            status.note_provider(await _find_problem(config, model, status.provider))


async def watch_tools(toolbox: Toolbox, problems: ServerProblems) -> None:
    """Lists the tools immediately at first, so that the project's page shows a problem before any user asks. Checks a
    problem again after DOWN_SECONDS, also one that an answer has found in between.
    """
    while True:
        await toolbox.list_tools()
        with suppress(TimeoutError):
            await asyncio.wait_for(problems.wait(), FRESH_SECONDS)
        if problems:
            await asyncio.sleep(DOWN_SECONDS)


async def _find_problem(config: Config, model: ModelClient, known: Problem | None) -> Problem | None:
    found = await probe(config)
    if found is not None or known is None or known.code not in ONLY_CHAT_SHOWS:
        return found
    try:
        await model.answer([Message("user", "Reply with OK.")])
    except RefusedError as error:
        return error.problem or known
    return None
