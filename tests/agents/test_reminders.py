"""Reminders are delivered once, on time or late, and their number is limited."""

import asyncio
import json
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.agents.agent import Agent


def open_reminders(folder: Any, now: list[float]) -> Any:
    from assistant.storage.reminders import Reminders
    from assistant.storage.store import open_store

    return Reminders(open_store(folder), lambda: now[0])


def test_reminders_due_before_a_restart_are_sent_late_and_undeliverable_ones_are_dropped(tmp_path: Any) -> None:
    from assistant.chatting.reminder_delivery import ReminderDelivery
    from assistant.storage.memory import Place
    from telegram.error import Forbidden, NetworkError, TimedOut

    said: list[str] = []
    faults: list[Exception] = [Forbidden("blocked"), NetworkError("down"), TimedOut()]

    class Bot:
        async def send_message(self, chat: int, text: str, **_: Any) -> Any:
            if faults:
                raise faults.pop(0)
            said.append(text)
            return type("Sent", (), {"message_id": 1})

    now = [1_000_000.0]
    reminders = open_reminders(tmp_path, now)
    for number in range(4):
        reminders.add(Place(number), 1_000_010 + number, f"thing {number}", None)

    async def look() -> None:
        bot: Any = Bot()
        await ReminderDelivery(bot, open_reminders(tmp_path, now), ZoneInfo("UTC"))._deliver_due()

    asyncio.run(look())
    assert (said, len(faults)) == ([], 3)
    now[0] += 3600
    asyncio.run(look())
    assert said == ["⏰ Reminder: thing 3\n\nThis comes late: it was due 1970-01-12 13:46 (UTC)."]
    asyncio.run(look())
    assert said[1:] == ["⏰ Reminder: thing 1\n\nThis comes late: it was due 1970-01-12 13:46 (UTC)."]
    assert reminders.next_due() is None
    reminders.add(Place(1), 1_500_000, "x", None)
    now[0] += 40 * 86_400
    assert reminders.due() == []


@pytest.fixture
def deliver(tmp_path: Any) -> Callable[..., tuple[Any, list[tuple[int, str]]]]:
    """Delivers one due reminder in each of two chats, with a bot that first fails with the given faults."""
    from assistant.chatting.reminder_delivery import ReminderDelivery
    from assistant.storage.memory import Place

    def begin(*faults: Exception, now: Callable[[], float] = lambda: 0.0) -> tuple[Any, list[tuple[int, str]]]:
        said: list[tuple[int, str]] = []
        left = list(faults)

        class Bot:
            async def send_message(self, chat: int, text: str, **_: Any) -> Any:
                if left:
                    raise left.pop(0)
                said.append((chat, text.removeprefix("⏰ Reminder: ")))
                return type("Sent", (), {"message_id": 1})

        reminders, bot = open_reminders(tmp_path, [1_000_000.0]), Bot()
        for number in (1, 2):
            reminders.add(Place(number), 1_000_000 - 10 + number, f"thing {number}", None)
        return ReminderDelivery(bot, reminders, ZoneInfo("UTC"), now), said  # type: ignore[arg-type]  # only the methods it uses

    return begin


def test_each_reminder_is_sent_once_while_the_disk_is_full(deliver: Any) -> None:
    delivery, said = deliver()
    db = delivery._reminders._db
    db.execute("CREATE TRIGGER full BEFORE DELETE ON reminder BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
    for _ in range(3):
        asyncio.run(delivery._deliver_due())
    assert said == [(1, "thing 1"), (2, "thing 2")]
    db.execute("DROP TRIGGER full")
    asyncio.run(delivery._deliver_due())
    assert (len(said), delivery._reminders.next_due(), delivery._done) == (2, None, {})


@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
def test_a_reminder_moves_with_its_group_and_waits_as_long_as_telegram_asks(deliver: Any) -> None:
    from telegram.error import ChatMigrated, RetryAfter

    now = [0.0]
    delivery, said = deliver(ChatMigrated(-1009), RetryAfter(40), now=lambda: now[0])
    asyncio.run(delivery._deliver_due())
    assert said == [(2, "thing 2")]
    now[0] = 39.0
    asyncio.run(delivery._deliver_due())
    assert len(said) == 1
    now[0] = 40.0
    asyncio.run(delivery._deliver_due())
    assert (said[1:], delivery._reminders.next_due()) == ([(-1009, "thing 1")], None)


@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
def test_all_reminders_move_with_their_group_and_can_be_cancelled_there(deliver: Any) -> None:
    from assistant.storage.memory import Place
    from telegram.error import ChatMigrated

    delivery, said = deliver(ChatMigrated(-1009))
    reminders = delivery._reminders
    reminders.remove(1, Place(1))
    repeating = reminders.add(Place(1, 5), 999_980, "x", None, "day 09:00:00")
    later = reminders.add(Place(1), 2_000_000, "y", None)
    asyncio.run(delivery._deliver_due())
    assert said == [(-1009, "x"), (2, "thing 2")]
    assert {reminder.number for reminder in reminders.list_for(Place(-1009))} == {repeating, later}
    assert [reminders.remove(number, Place(-1009)) for number in (repeating, later)] == [True, True]
    assert reminders.next_due() is None


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"text": " "}, {"text": "x"}, {"text": "x", "at": "tomorrow"}, {"text": "x", "at": "2001-01-01T00:00"},
        {"text": "x", "in_minutes": "many"}, {"text": "x", "in_minutes": -5}, {"text": "x", "in_minutes": 1e300},
        {"text": "x", "in_minutes": float("nan")}, {"text": "x", "at": "9999-12-31T23:59"},
        {"text": "x", "in_minutes": []}, {"text": "x", "in_minutes": 5, "every": "hour"},
        {"text": "x", "at": "2027-01-31T08:00", "every": "month"}, {"text": "x", "in_minutes": 5, "every": ["day"]},
    ],
)  # fmt: skip
def test_an_invalid_time_is_refused_in_plain_words(tmp_path: Any, arguments: dict[str, Any]) -> None:
    from assistant.model.completion import ToolCall
    from assistant.storage.memory import Place
    from assistant.tools.reminder_tools import ReminderTools
    from assistant.tools.tool import Caller
    from assistant.tools.toolbox import Toolbox

    async def use() -> str:
        reminder_tools = ReminderTools(open_reminders(tmp_path, [1_800_000_000.0]), ZoneInfo("Europe/Berlin"))
        call = ToolCall("1", "set_reminder", json.dumps(arguments))
        return await Toolbox.use(await reminder_tools.list_tools(), call, Caller(Place(1), None))

    assert asyncio.run(use()).startswith("<result>\nError: ")


def test_a_repeating_reminder_ends_with_its_chat(deliver: Any) -> None:
    from assistant.storage.memory import Place
    from telegram.error import Forbidden

    delivery, said = deliver(Forbidden("blocked"), Forbidden("blocked"), Forbidden("blocked"))
    delivery._reminders.add(Place(3), 1_000_000, "x", None, "day 09:00:00")
    asyncio.run(delivery._deliver_due())
    assert (said, delivery._reminders.next_due()) == ([], None)


def test_the_number_of_reminders_of_a_chat_is_limited(tmp_path: Any) -> None:
    from assistant.storage.memory import Place
    from assistant.storage.reminders import MOST_OF_A_CHAT

    reminders = open_reminders(tmp_path, [0.0])
    added = [reminders.add(Place(1, topic), 9, "x", None) for topic in range(MOST_OF_A_CHAT + 1)]
    assert added.index(None) == MOST_OF_A_CHAT
    assert reminders.add(Place(2), 9, "x", None)


@pytest.mark.parametrize("zone", ["Nowhere/City", "../../etc/passwd", "/etc/localtime", 5])
def test_an_invalid_time_zone_ends_the_agent_with_40(agent: Agent, zone: Any) -> None:
    from assistant.config import _read_zone

    with pytest.raises(Exception, match="time_zone must be"):
        _read_zone({"time_zone": zone})
