"""The last messages are sent in full and older ones as a summary, and both fit into the model's context window."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.agents.agent import PATIENCE, Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.waiting import wait_until

Ask = Callable[..., str]


def open_memory(folder: Path) -> Any:
    from assistant.storage.memory import Memory
    from assistant.storage.store import open_store

    return Memory(open_store(folder))


@pytest.mark.parametrize(
    ("turns", "size"), [(1, 10), (14, 10), (15, 10), (60, 10), (3, 5000), (3, 50_000), (1, 50_000)]
)
def test_the_recalled_history_is_limited_and_begins_with_a_question(tmp_path: Path, turns: int, size: int) -> None:
    from assistant.storage.memory import MOST_CHARACTERS, MOST_MESSAGES, Place

    memory, place = open_memory(tmp_path), Place(1)
    for turn in range(turns):
        memory.remember(place, f"question {turn}", "x" * size, turn)
    recalled = memory.recall(place)
    assert recalled
    assert len(recalled) <= MOST_MESSAGES
    assert sum(len(message.content) for message in recalled) <= MOST_CHARACTERS
    assert [message.role for message in recalled] == ["user", "assistant"] * (len(recalled) // 2)
    assert recalled[-2].content == f"question {turns - 1}"


def test_older_turns_become_a_summary_which_grows_and_is_forgotten_with_the_rest(tmp_path: Path) -> None:
    from assistant.storage.memory import FULL_MESSAGES, WHOLE_MESSAGES, Place

    memory, place = open_memory(tmp_path), Place(1)
    memory.remember(Place(2), "elsewhere", "yes", 1)
    for turn in range(FULL_MESSAGES // 2):
        assert memory.find_older(place) is None
        memory.remember(place, f"question {turn}", "answer", turn)
    older = memory.find_older(place)
    assert older.messages[0].content == "question 0"
    assert len(older.messages) == FULL_MESSAGES - WHOLE_MESSAGES
    memory.replace_with_summary(place, "They asked.", older)
    assert memory.find_older(place) is None
    assert (memory.summary(place), len(memory.recall(place))) == ("They asked.", WHOLE_MESSAGES)
    memory.forget(place)
    memory.remember(place, "anew", "yes", 1)
    memory.replace_with_summary(place, "Too late.", older)  # it was forgotten while the summary was written
    assert (memory.summary(place), len(memory.recall(place))) == ("", 2)
    assert len(memory.recall(Place(2))) == 2


@pytest.mark.parametrize("size", [900, 11_000])
def test_a_summary_is_made_of_no_more_than_the_model_can_read(tmp_path: Path, size: int) -> None:
    from assistant.model.client import RefusedError
    from assistant.model.dialects import Completion
    from assistant.model.summariser import Summariser
    from assistant.storage.memory import MOST_SUMMED, Place

    class ModelClient:
        asked: ClassVar[list[int]] = []

        async def answer(self, messages: Any, **_: Any) -> Any:
            self.asked.append(len(messages[0].content))
            if self.asked[-1] > 4500:
                raise RefusedError(None, Completion(), is_too_large=True)
            return Completion("They talk.")

    class UsageLog:
        def note_memory(self, *_: int) -> None: ...

    memory, place, model = open_memory(tmp_path), Place(1), ModelClient()
    model.asked.clear()
    for turn in range(30):
        memory.remember(place, f"{turn} {'x' * size}", "y" * size, turn)
    kept = len(memory._newest(place))
    asyncio.run(Summariser(model, memory, UsageLog()).summarise(place))  # type: ignore[arg-type]  # only the methods it uses
    assert MOST_SUMMED - 1000 <= model.asked[0] <= MOST_SUMMED + 1000
    assert 2500 <= model.asked[-1] <= 4500
    assert memory.summary(place) == "They talk."
    assert 0 < len(memory._newest(place)) < kept


def test_a_question_that_is_too_long_affects_the_memory_of_no_other_chat() -> None:
    from assistant.model.dialogue import Dialogue
    from assistant.storage.memory import MOST_CHARACTERS, Place

    nothing: Any = None
    dialogue = Dialogue(nothing, nothing, nothing, nothing)
    dialogue._lower_context_limit(Place(1), 1500)
    assert dialogue._context_limit(Place(1)) < dialogue._context_limit(Place(2)) == MOST_CHARACTERS


def test_a_database_of_an_earlier_version_is_migrated(tmp_path: Path) -> None:
    from assistant.storage.memory import Place

    with sqlite3.connect(tmp_path / "history.db") as db:
        db.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, chat_id INTEGER, role TEXT, content TEXT)")
        db.execute("INSERT INTO message VALUES (1, 1, 'user', 'old'), (2, 1, 'assistant', 'yes')")
    memory = open_memory(tmp_path)
    memory.remember(Place(1), "new", "yes", 5)
    assert [message.content for message in memory.recall(Place(1))] == ["old", "yes", "new", "yes"]
    assert memory.find_question(Place(1), 5) == "new"


def test_a_long_conversation_is_summarised_by_the_model_and_counted_in_usage(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str
) -> None:
    from assistant.storage.memory import FULL_CHARACTERS

    agent.start(AGENT_INSTRUCTIONS="Be brief.").wait_for("running")
    provider.reply_with("They talk of ships. " + "x" * FULL_CHARACTERS)
    telegram.say(token, 1, "Tell me everything of ships.")
    provider.wait_for_request(timeout=100)
    telegram.say(token, 1, "More.")

    def used() -> str:
        before = len(telegram.sent(token))
        telegram.say(token, 1, "/usage")
        return telegram.wait_for_message(token, after=before, containing="For memory", timeout=100).text

    wait_until(lambda: "2 tokens today" in used(), within=PATIENCE)
    provider.heal()
    telegram.say(token, 1, "And now?")
    telegram.wait_for_message(token, containing="You said: And now?", timeout=100)
    asked = next(asked for asked in provider.asked() if asked.messages[-1]["content"] == "And now?")
    earlier = "Be brief.\n\nWhat was said earlier in this chat, in short:\nThey talk of ships."
    assert (asked.system or "").startswith(earlier)
    assert "Tell me everything" not in str(asked.messages[1:])


def test_a_model_with_a_small_window_is_sent_less(agent: Agent, provider: FakeProvider, ask: Ask) -> None:
    agent.start(AGENT_WATCH_SECONDS="600").wait_for("running")
    for number in range(2):
        ask(f"{number} {'x' * 3500}")
    refusal = {
        "error": {"message": "This model's maximum context length is 5 tokens.", "code": "context_length_exceeded"}
    }
    provider.answer_with(400, refusal, "chat", times=1)
    assert ask("And now?") == "You said: And now?"
    assert len(provider.asked()[-1].messages) < len(provider.asked()[-2].messages)
