"""Runs the agent: signs in, probes the provider, then polls and answers until a signal stops it."""

import asyncio
import logging
import signal
import sqlite3
from collections.abc import Coroutine, Iterable
from contextlib import AsyncExitStack, suppress
from ssl import SSLContext
from typing import Any

from telegram import Bot
from telegram.error import TelegramError

from agent_contract import ExitCode, ProblemCode
from assistant.chatting.access import Access
from assistant.chatting.answering import Answerer
from assistant.chatting.commands import Commands, publish_commands
from assistant.chatting.conversation import Conversation
from assistant.chatting.reading import QuestionReader
from assistant.chatting.reminder_delivery import ReminderDelivery
from assistant.config import Config
from assistant.model.client import ModelClient
from assistant.model.dialogue import Dialogue
from assistant.model.monitoring import probe, watch_provider, watch_tools
from assistant.model.summariser import Summariser
from assistant.model.tool_loop import ToolLoop
from assistant.storage.memory import Memory
from assistant.storage.people import People
from assistant.storage.reminders import Reminders
from assistant.storage.store import open_store
from assistant.storage.unanswered import Unanswered
from assistant.storage.usage import UsageLog
from assistant.telegram.files import Files
from assistant.telegram.polling import Poller, RetryPolicy, sign_in
from assistant.telegram.receiving import UpdateReceiver
from assistant.telegram.requests import TelegramRequest
from assistant.telegram.updates import PollingBot
from assistant.tls import make_tls
from assistant.tools.mcp import McpServer
from assistant.tools.outbound import OutboundClient
from assistant.tools.reminder_tools import ReminderTools
from assistant.tools.server_problems import ServerProblems
from assistant.tools.toolbox import Source, Toolbox
from assistant.tools.web import WebTools
from berth_agent.outcome import FATAL_AT_START, FatalError, Problem
from berth_agent.preflight import TOKEN_REJECTED
from berth_agent.providers import is_header_safe
from berth_agent.redaction import log_loop_error
from berth_agent.status import Status

FINISH_SECONDS = 1.8  # for unfinished answers after a signal; the agent contract allows 5 s for the whole shutdown
CLOSE_SECONDS = 0.5

logger = logging.getLogger(__name__)


async def run_agent(config: Config, status: Status) -> None:
    """Runs until SIGTERM or SIGINT. Raises FatalError if the agent cannot continue."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_loop_error)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    running = asyncio.create_task(_run(config, status))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not running.done():
        running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def _run(config: Config, status: Status) -> None:
    tls = make_tls(config)
    bot = _make_bot(config, tls)
    model = ModelClient(config, tls)
    retry_policy = RetryPolicy(config, status)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(_close_quietly, bot, model)
        probing = asyncio.create_task(probe(config))
        stack.callback(probing.cancel)
        await sign_in(bot, retry_policy)
        _note_first_probe(await probing, status)
        store = _open_store(config)
        stack.callback(store.close)
        files = Files(bot, config.data_dir, tls)
        stack.push_async_callback(files.close)
        reminders = Reminders(store)
        outbound = OutboundClient(config.internal_hosts, config.proxy, config.gateway_addresses)
        stack.push_async_callback(outbound.close)
        problems = ServerProblems(status)
        toolbox = _make_toolbox(config, reminders, outbound, problems)
        receiver = _make_receiver(bot, config, model, files, toolbox, problems, store, status)
        stack.push_async_callback(receiver.close, FINISH_SECONDS)
        Unanswered(store).resume(bot, receiver.take)
        poller = Poller(bot, status, retry_policy, receiver.take)
        stack.push_async_callback(_confirm_quietly, poller)
        delivery = ReminderDelivery(bot, reminders, config.zone)
        works = [poller.run(), watch_provider(config, model, status), publish_commands(bot), delivery.run()]
        works += [watch_tools(toolbox, problems)] if config.mcp else []
        await _do_all(works, stack)


async def _do_all(works: Iterable[Coroutine[Any, Any, None]], stack: AsyncExitStack) -> None:
    tasks = [asyncio.create_task(work) for work in works]
    for task in tasks:
        stack.callback(task.cancel)
    await asyncio.gather(*tasks)


def _make_bot(config: Config, tls: SSLContext) -> PollingBot:
    if not is_header_safe(config.token):  # such a token cannot be part of a URL either
        raise FatalError(ExitCode.TELEGRAM_TOKEN, ProblemCode.TELEGRAM_TOKEN, TOKEN_REJECTED)
    return PollingBot(
        config.token,
        base_url=f"{config.telegram_base}/bot",
        base_file_url=f"{config.telegram_base}/file/bot",
        request=TelegramRequest(16, connect_timeout=10, read_timeout=15, pool_timeout=10, httpx_kwargs={"verify": tls}),
        get_updates_request=TelegramRequest(2, connect_timeout=10, httpx_kwargs={"verify": tls}),
    )


def _make_receiver(
    bot: Bot,
    config: Config,
    model: ModelClient,
    files: Files,
    toolbox: Toolbox,
    problems: ServerProblems,
    store: sqlite3.Connection,
    status: Status,
) -> UpdateReceiver:
    memory, usage_log, reminders = Memory(store), UsageLog(store), Reminders(store)
    tool_loop = ToolLoop(model, toolbox, usage_log, config.limits.answer_steps)
    dialogue = Dialogue(config, tool_loop, Summariser(model, memory, usage_log), memory)
    reader = QuestionReader(files, model, usage_log, config.limits.answer_seconds)
    conversation = Conversation(
        bot,
        Access(config, People(store), status),
        Commands(bot, config, memory, usage_log, reminders),
        Answerer(bot, reader, dialogue, problems, status, config.limits.answer_seconds),
        config.limits,
        Unanswered(store),
    )
    return UpdateReceiver(conversation, memory, reminders)


def _make_toolbox(config: Config, reminders: Reminders, outbound: OutboundClient, problems: ServerProblems) -> Toolbox:
    sources: list[Source] = []
    if config.reminders:
        sources.append(ReminderTools(reminders, config.zone).list_tools)
    sources.append(WebTools(outbound, reads=config.web, search_url=config.search_url).list_tools)
    servers = (McpServer(outbound, number, address, problems) for number, address in enumerate(config.mcp, 1))
    sources += [server.list_tools for server in servers]
    return Toolbox(config.zone, sources)


def _open_store(config: Config) -> sqlite3.Connection:
    try:
        return open_store(config.data_dir)
    except sqlite3.Error as error:
        detail = f"The chat memory in {config.data_dir} cannot be opened: {error}."
        raise FatalError(ExitCode.CONFIGURATION, ProblemCode.MEMORY_UNREADABLE, detail) from None


def _note_first_probe(problem: Problem | None, status: Status) -> None:
    if problem is not None and problem.code in FATAL_AT_START:
        raise FatalError(FATAL_AT_START[problem.code], problem.code, problem.detail)
    status.note_provider(problem)


async def _confirm_quietly(poller: Poller) -> None:
    with suppress(TelegramError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await poller.confirm()


async def _close_quietly(bot: Bot, model: ModelClient) -> None:
    with suppress(TelegramError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await model.close()
            await bot.shutdown()
