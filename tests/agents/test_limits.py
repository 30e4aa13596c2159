"""How many messages one chat may send, and how long one answer may take."""

import json
from collections.abc import Callable

import pytest

from tests.agents.agent import Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram

Ask = Callable[..., str]
LIMITS = ("messages_per_minute", "longest_message", "answer_seconds")


@pytest.mark.parametrize("per_minute", [1, 7, 60, 600])
def test_the_messages_of_a_chat_per_minute_are_limited(per_minute: int) -> None:
    from assistant.chatting.limits import RateLimiter

    at = [0.0]
    limiter = RateLimiter(per_minute, lambda: at[0])
    assert [limiter.reserve(1) for _ in range(per_minute)] == [0.0] * per_minute
    assert limiter.reserve(1) == pytest.approx(60 / per_minute)
    assert limiter.reserve(2) == 0.0
    at[0] += 60 / per_minute
    assert limiter.reserve(1) == 0.0
    assert limiter.reserve(1) > 0
    at[0] += 3600
    assert [bool(limiter.reserve(1)) for _ in range(per_minute + 1)] == [False] * per_minute + [True]


def test_the_stored_state_of_chats_is_limited() -> None:
    from assistant.chatting.limits import MOST_CHATS, RateLimiter

    at = [0.0]
    limiter = RateLimiter(1, lambda: at[0])
    for chat in range(MOST_CHATS):
        limiter.reserve(chat)
    at[0] = 61
    limiter.reserve(-1)
    assert len(limiter._free_at) == 1


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [0, -1, 10**6, True, "10", [], 1.5])
def test_an_invalid_limit_is_named(name: str, value: object) -> None:
    from assistant.chatting.limits import read_limits

    with pytest.raises(Exception, match=f"{name} must be a whole number"):
        read_limits({name: value})
    assert read_limits({name: None}) == read_limits({})
    assert read_limits({name: 100.0})._asdict()[name] == 100


def test_only_the_chat_that_writes_too_much_waits_and_is_told_once(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, ask: Ask
) -> None:
    agent.start(AGENT_SETTINGS=json.dumps({"messages_per_minute": 2, "longest_message": 100})).wait_for("running")
    assert ask("x" * 101) == "This message has 101 characters, and I may read at most 100. Please shorten it."
    assert ask("x" * 100).startswith("You said: ")
    assert ask("Third").startswith("That is more than I may answer here in one minute. Please continue in ")
    telegram.say(token, 1, "Fourth")
    assert "/reset" in ask("/help")
    assert ask("Hello", chat_id=2) == "You said: Hello"
    assert len(telegram.sent(token, 1)) == 4
    assert len(provider.asked()) == 2


def test_an_answer_that_takes_too_long_is_sent_as_far_as_it_is(agent: Agent, provider: FakeProvider, ask: Ask) -> None:
    provider.reply_in_pieces("The ship ", "sails.", let_through=1)
    agent.start(AGENT_SETTINGS=json.dumps({"answer_seconds": 1})).wait_for("running")
    assert ask("When?").startswith("The ship\n\nI stopped here: ")
    assert agent.statuses[-1]["state"] == "running"
    provider.heal()
    assert ask("And now?") == "You said: And now?"
