"""Rows of the table (`table.py`): failures of servers and of the machine while an agent runs."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.agents.confined import MEBIBYTE, YOU, Confined
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram

Ask = Callable[[str], str]


def answers_to(telegram: FakeTelegram, bot: str, text: str) -> int:
    """Returns how many separate messages answer this text. Edits do not count."""
    sent = [each for each in telegram.sent(bot) if each.method == "sendmessage"]
    return sum(f"You said: {text}" in each.text for each in sent)


def test_after_429_it_waits_and_answers_once(agent: Confined, telegram: FakeTelegram, bot: str, ask: Ask) -> None:
    agent.start().wait_for("running")
    ask("First")
    for method in ("sendmessage", "getupdates"):
        telegram.rate_limit(bot, 3, method=method, times=1)
        began, text = time.monotonic(), f"In spite of {method}"
        ask(text)
        assert time.monotonic() - began >= (3 if method == "sendmessage" else 0)
        assert answers_to(telegram, bot, text) == 1


def test_429_and_5xx_of_the_provider_are_tried_again(agent: Confined, provider: FakeProvider, ask: Ask) -> None:
    agent.start().wait_for("running")
    ask("First")
    provider.rate_limit(1, only="chat", times=1)
    ask("Slowly")
    for status in (500, 502, 529):
        provider.break_down(status, only="chat", times=1)
        ask(f"In spite of {status}")


def test_502_of_telegram_is_tried_again(agent: Confined, telegram: FakeTelegram, bot: str, ask: Ask) -> None:
    agent.start().wait_for("running")
    ask("First")
    telegram.break_down(bot, 502, method="getupdates", times=2)
    ask("Polled again")
    assert answers_to(telegram, bot, "Polled again") == 1


def test_an_update_that_its_library_cannot_parse_blocks_no_other(
    agent: Confined, telegram: FakeTelegram, bot: str, ask: Ask
) -> None:
    agent.start().wait_for("running")
    ask("First")
    for lost in ("chat", "date", "message_id"):
        telegram.say(bot, YOU, f"Without {lost}", **{lost: None})
        ask(f"After one without its {lost}")
        assert answers_to(telegram, bot, f"After one without its {lost}") == 1


def test_an_answer_under_way_is_delivered_before_the_end(
    agent: Confined, telegram: FakeTelegram, provider: FakeProvider, bot: str, ask: Ask
) -> None:
    agent.start().wait_for("running")
    ask("First")
    provider.hold("Think long")
    before = len(provider.asked())
    telegram.say(bot, YOU, "Think long")
    provider.wait_for_request(after=before, timeout=60)
    with ThreadPoolExecutor(1) as threads:
        stopping = threads.submit(agent.client.stop, agent.name, timeout=10)
        time.sleep(0.7)  # SIGTERM has arrived
        provider.release("Think long")
        stopping.result()
    assert agent.facts["State"]["ExitCode"] == 0, agent.output
    telegram.wait_for_message(bot, containing="You said: Think long", timeout=1)


def test_a_new_container_remembers_the_last_conversation(
    agent: Confined, provider: FakeProvider, bot: str, ask: Ask
) -> None:
    """The situation after an update."""
    agent.start().wait_for("running")
    ask("My cat is called Lettuce")
    agent.client.stop(agent.name, timeout=10)
    agent.client.remove_container(agent.name)
    agent.start().wait_for("running")
    ask("What is she called")
    assert any("Lettuce" in str(asked.body) for asked in provider.asked() if "What is she called" in str(asked.body))


def test_the_engine_reports_running_out_of_memory(agent: Confined) -> None:
    """Berth turns this fact into a plain sentence (`tests/projects/rules`)."""
    agent.memory = 16 * MEBIBYTE
    agent.start()
    assert agent.wait_for_exit() != 0
    assert agent.facts["State"]["OOMKilled"], agent.output
