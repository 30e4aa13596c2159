"""Runs an agent as a child behind the relay, from the credentials' first check to its end."""

import os
import signal
import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread

from agent_contract import AgentState, ExitCode, ProblemCode
from berth_agent.outcome import FATAL_AT_START, FatalError, Problem
from berth_agent.preflight import check_provider, check_telegram
from berth_agent.redaction import redactor
from berth_agent.relay.activity import Activity
from berth_agent.relay.addresses import Addresses
from berth_agent.relay.child import Child, Program
from berth_agent.relay.config import Config, read_config
from berth_agent.relay.provider import ProviderEndpoint
from berth_agent.relay.server import Relay
from berth_agent.relay.telegram import TelegramEndpoint
from berth_agent.relay.telegram_failures import TelegramFailures
from berth_agent.status import Status

STOP_SECONDS = 3.4  # for unfinished answers and the child's own end; the contract allows 5 s for everything
ANSWER_SECONDS = 1.8  # of these, at most, for unfinished answers, which programs drop on SIGTERM
KILLED = 128 + signal.SIGKILL

Prepare = Callable[[Config, Addresses], Program]
EndReasons = SimpleQueue[FatalError | int | None]
"""The reason for the agent's end: an error, the child's exit code, or None for a signal to stop."""


def supervise(status: Status, prepare: Prepare) -> None:
    """Returns after a signal to stop. `prepare` writes the child's configuration and returns how to start it."""
    config = read_config()
    redactor.learn(config.token, config.key)
    failures = TelegramFailures(config, status)
    _sign_in(config, failures)
    _check_provider(config, status)
    ends: EndReasons = SimpleQueue()
    _listen_for_signals(lambda: ends.put(None))
    activity = Activity()
    telegram = TelegramEndpoint(config, failures, ends.put, activity)
    provider = ProviderEndpoint(config, status, activity)
    relay = Relay({"telegram": telegram.serve, provider.path[1:]: provider.serve})
    child = Child(prepare(config, Addresses(relay.url, provider.path, config)), ends.put)
    stopping = Event()
    provider.watch(stopping)
    why = ends.get()
    stopping.set()
    telegram.close()
    until = time.monotonic() + STOP_SECONDS
    if why is None:
        activity.wait_until_idle(ANSWER_SECONDS)
    child.stop(until - time.monotonic())
    telegram.confirm()
    _raise_error(why, status)


def _listen_for_signals(end: Callable[[], None]) -> None:
    """Writes to a pipe on each signal. The system may deliver a signal to any thread, and a Python handler would only
    run in the main thread, which waits for the agent's end and would not wake up.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)

    def listen() -> None:
        os.read(read, 1)
        end()

    Thread(target=listen, daemon=True, name="signals").start()


def _sign_in(config: Config, failures: TelegramFailures) -> None:
    """Retries until Telegram answers, because not every program starts correctly while Telegram is unreachable."""
    while check_telegram(config.telegram_base, config.token) is not None:
        time.sleep(failures.note_failure())
    failures.note_success(polled=False)


def _check_provider(config: Config, status: Status) -> None:
    found = check_provider(config.provider, config.api_base, config.key, config.model)
    if found is not None and found.code in FATAL_AT_START:
        raise FatalError(FATAL_AT_START[found.code], found.code, found.detail)
    status.note_provider(found)


def _raise_error(why: FatalError | int | None, status: Status) -> None:
    """Raises the error behind the agent's end, unless it was asked to stop."""
    if isinstance(why, FatalError):
        raise why
    if why is None:
        return
    detail = "The agent's program has ended by itself; its log says more."
    if why == -signal.SIGKILL:  # by the kernel, for its memory: Berth reads this from the container's own exit code
        status.note_end(AgentState.FAILED, Problem(ProblemCode.CRASH, detail))
        os._exit(KILLED)
    raise FatalError(ExitCode.CRASH, ProblemCode.CRASH, detail)
