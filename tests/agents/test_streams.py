"""Answers are shown while they are written, and no part of one is lost."""

from collections.abc import Callable

import pytest

from tests.agents.agent import PATIENCE, Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.provider_dials import BREAK
from tests.fakes.telegram import FakeTelegram
from tests.waiting import wait_until

Ask = Callable[..., str]


def wait_for_draft(telegram: FakeTelegram, token: str, text: str) -> None:
    def shown() -> bool:
        draft = telegram.draft(token, 1)
        return draft is not None and draft.can_stop and draft.text == text

    wait_until(shown, within=PATIENCE, what=lambda: f"no draft {text!r}: {telegram.draft(token, 1)}")


@pytest.mark.parametrize("key", ["sk-some-key", "sk-ant-some-key"])
def test_an_answer_grows_as_a_draft_and_ends_as_a_message(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, key: str, ask: Ask
) -> None:
    provider.add_key(key)
    agent.secrets["agent_api_key"] = key
    provider.reply_in_pieces("A **ship", "** sails. `Ahoy`", let_through=0)
    agent.start().wait_for("running")
    telegram.say(token, 1, "Where?")
    wait_for_draft(telegram, token, "")  # which Telegram shows as "Thinking…"
    provider.let_through(1)
    wait_for_draft(telegram, token, "A **ship")
    provider.let_through()
    [said] = [telegram.wait_for_message(token, timeout=100)]
    assert said.text == "A ship sails. Ahoy"
    assert '"bold"' in str(said.fields["entities"])
    assert telegram.draft(token, 1) is None
    provider.heal()
    assert ask("And now?") == "You said: And now?"
    assert "A **ship** sails. `Ahoy`" in str(provider.asked()[-1].messages)
    assert "2 answers, 2 tokens in, 2 out" in ask("/usage")


def test_the_stop_button_ends_the_answer_and_keeps_its_text_so_far(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    provider.reply_in_pieces("Half an ", "answer", let_through=1)
    agent.start().wait_for("running")
    telegram.say(token, 1, "one")
    telegram.say(token, 1, "two")
    wait_for_draft(telegram, token, "Half an")
    telegram.press_stop(token, 1)
    assert telegram.wait_for_message(token, timeout=100).text == "Half an\n\nStopped."
    provider.let_through()
    assert telegram.wait_for_message(token, after=1, timeout=100).text == "Half an answer"  # it had waited
    assert [each["content"] for each in provider.asked()[-1].messages][1:] == ["one", "Half an ", "two"]


def test_sigterm_keeps_the_text_of_an_answer_so_far(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str
) -> None:
    provider.reply_in_pieces("Half an ", "answer", let_through=1)
    agent.start().wait_for("running")
    telegram.say(token, 1, "Hello?")
    wait_for_draft(telegram, token, "Half an")
    assert agent.stop() == 0, agent.output
    [said] = telegram.sent(token)
    assert said.text.startswith("Half an\n\nI am being stopped")


def test_a_broken_stream_keeps_its_text_so_far_and_degrades_the_agent(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    provider.reply_in_pieces("Half an ", BREAK)
    agent.start(AGENT_WATCH_SECONDS="600").wait_for("running")
    assert ask("Hello?") == "Half an\n\nMy model provider stopped here before the end."
    agent.wait_for("degraded", "provider_down")
    assert len(provider.asked()) == 1, "it was asked again although it had begun to answer"


def test_a_provider_that_does_not_stream_works_too(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    provider.streams = False
    agent.start().wait_for("running")
    assert ask("Hello?") == "You said: Hello?"
    words = "Your organization must be verified to stream this model."
    refusal = {"error": {"message": words, "type": "invalid_request_error", "param": "stream"}}
    provider.answer_with(400, refusal, "chat", times=1)
    assert ask("And now?") == "You said: And now?"
    assert ask("Again?") == "You said: Again?"
    assert ["stream" in asked.body for asked in provider.asked()] == [True, True, False, False]
