"""Scenes that prove the gateway, with counts that the caller chooses. Each scene returns its figures, and raises an
error if one of them is wrong."""

import http.client
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from gateway.periods import Period, name_of

from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.long.beside import going_on
from tests.gateway.process import PATIENCE, Gateway
from tests.waiting import wait_until

BUDGET = 1000
Figures = dict[str, float]


def stream_in_parallel(gateway: Gateway, provider: StreamingProvider, agent: Agent, *, rounds: int) -> Figures:
    """Runs twenty streams at a time, some of which the provider breaks off, with a budget that is too small for all."""
    sold, marked = 0, 0
    for number in range(rounds):
        gateway.apply(agent.entry(budget={"day_tokens": gateway_spent(agent) + BUDGET}))
        before, began = gateway_spent(agent), provider.sold()
        provider.words, provider.break_after = 120, 40 if number % 2 else None
        with ThreadPoolExecutor(20) as threads:
            list(threads.map(partial(_ask, agent), range(20)))
        wait_until(lambda: not _in_flight(agent), within=PATIENCE)
        sold, costs = provider.sold() - began, gateway_spent(agent) - before
        assert sold <= costs <= BUDGET, (sold, costs)
        assert sold == costs or number % 2, (sold, costs)
        marked += bool(number % 2)
    return {"sold in the last round": sold, "rounds with broken streams": marked}


def _ask(agent: Agent, number: int) -> None:
    with suppress(OSError, http.client.HTTPException):
        agent.chat(f"question {number}", stream=True, max_tokens=100)


def gateway_spent(agent: Agent) -> int:
    return sum(row["input"] + row["output"] for row in agent.gateway.usage(agent.project))


def _in_flight(agent: Agent) -> bool:
    """Whether the usage still changes."""
    before = gateway_spent(agent)
    time.sleep(0.3)  # of a scene, which nothing else tells that all is settled
    return gateway_spent(agent) != before


def stream_over_an_end(
    gateway: Gateway,
    provider: StreamingProvider,
    agent: Agent,
    *,
    period: Period,
    approach: Callable[[], object] = lambda: None,
) -> Figures:
    """Sends traffic across the end of a day or a month. The gateway's clock shows a moment before the end.

    Calls `approach` after the first call, which moves the clock closer to the end.
    """
    gateway.apply(agent.entry(budget={f"{period}_tokens": BUDGET}))
    provider.words = 60
    _ask(agent, 1)
    wait_until(lambda: by_period(agent, period), within=PATIENCE)
    approach()

    def has_both() -> bool:
        _ask(agent, 1)
        return len(by_period(agent, period)) == 2

    wait_until(has_both, within=PATIENCE)
    with ThreadPoolExecutor(20) as threads:
        list(threads.map(partial(_ask, agent), range(40)))
    wait_until(lambda: not _in_flight(agent), within=PATIENCE)
    spent = by_period(agent, period)
    assert all(tokens <= BUDGET for tokens in spent.values()), spent
    assert sum(spent.values()) == provider.sold(), spent
    return {f"tokens in {name}": tokens for name, tokens in spent.items()}


def by_period(agent: Agent, period: Period) -> dict[str, int]:
    found: Counter[str] = Counter()
    for row in agent.gateway.usage(agent.project):
        found[name_of(period, row["hour"])] += row["input"] + row["output"]
    return dict(found)


def kill_in_traffic(
    gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider, agent: Agent, *, kills: int, seed: int
) -> Figures:
    """Kills the gateway repeatedly while a bot answers messages and streams run alongside."""
    chance = random.Random(seed)
    budget = 400 * kills
    gateway.apply(agent.entry(budget={"month_tokens": budget}))
    provider.words = 20
    back: list[float] = []
    said = 0
    with going_on(partial(_answer_messages, agent), *[partial(_keep_asking, agent)] * 3):
        for _ in range(kills):
            for _ in range(chance.randint(1, 5)):
                said += 1
                telegram.say(agent.token, 5, f"message {said}")
            threading.Event().wait(chance.uniform(0, 0.2))  # wherever that hits it
            gateway.kill()
            began = time.monotonic()
            gateway.start()
            back.append(time.monotonic() - began)
        wait_until(lambda: len(answered(telegram, agent)) == said, within=PATIENCE)
    answers = answered(telegram, agent)
    repeats = sum(answers.values()) - said
    costs = gateway_spent(agent)
    assert repeats <= kills, answers
    assert provider.sold() <= costs <= budget
    return {
        "messages": said,
        "lost": said - len(answers),
        "repeated": repeats,
        "back after at most": max(back),
        "back, median": statistics.median(back),
        "sold": provider.sold(),
        "counted": costs,
        "budget": budget,
    }


def answered(telegram: FakeTelegram, agent: Agent) -> "Counter[str]":
    return Counter(message.text for message in telegram.sent(agent.token))


def _answer_messages(agent: Agent, is_over: threading.Event) -> None:
    """Confirms each message only once it is answered, as careful bots do."""
    offset = 0
    while not is_over.is_set():
        with suppress(OSError, http.client.HTTPException, KeyError, ValueError):
            for update in agent.bot("getUpdates", timeout=1, offset=offset).json()["result"]:
                sent = agent.bot("sendMessage", chat_id=5, text=update["message"]["text"])
                if sent.status != 200:
                    break
                offset = update["update_id"] + 1
            continue
        is_over.wait(0.02)


def _keep_asking(agent: Agent, is_over: threading.Event) -> None:
    while not is_over.is_set():
        with suppress(OSError, http.client.HTTPException):
            if agent.chat("a few words", stream=True, max_tokens=20).status == 200:
                continue
        is_over.wait(0.02)
