"""Repeating reminders come at the same time of day, and missed ones are delivered once."""

import asyncio
import json
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from tests.agents.test_reminders import open_reminders


@pytest.mark.parametrize(
    ("every", "first", "then"),
    [
        # Clocks go forward on 2027-03-28 at two, and back on 2027-10-31 at three.
        ("day", "2027-03-26T02:30", ["03-27 02:30", "03-28 03:30", "03-29 02:30", "03-30 02:30"]),
        ("day", "2027-10-30T08:00", ["10-31 08:00", "11-01 08:00"]),
        ("weekdays", "2027-01-16T08:00", ["01-18 08:00", "01-19 08:00", "01-20 08:00", "01-21 08:00", "01-22 08:00",
                                          "01-25 08:00"]),
        ("week", "2027-03-24T08:00", ["03-31 08:00", "04-07 08:00"]),
        ("month", "2027-01-28T23:59", ["02-28 23:59", "03-28 23:59", "04-28 23:59"]),
    ],
)  # fmt: skip
def test_a_repeating_reminder_keeps_its_time_of_day(tmp_path: Any, every: str, first: str, then: list[str]) -> None:
    """Each is delivered once, and the last one late, in place of all that were missed. Then it can be cancelled."""
    from assistant.chatting.reminder_delivery import ReminderDelivery
    from assistant.model.completion import ToolCall
    from assistant.storage.memory import Place
    from assistant.storage.recurrence import next_due
    from assistant.tools.reminder_tools import ReminderTools
    from assistant.tools.tool import Caller
    from assistant.tools.toolbox import Toolbox

    zone, said = ZoneInfo("Europe/Berlin"), []
    now = [datetime(2027, 1, 1, tzinfo=zone).timestamp()]

    class Bot:
        async def send_message(self, *_: Any, **__: Any) -> Any:
            said.append(f"{datetime.fromtimestamp(now[0], zone):%m-%d %H:%M}")
            return type("Sent", (), {"message_id": 1})

    async def use(name: str, **arguments: Any) -> str:
        return await Toolbox.use(
            await tools.list_tools(), ToolCall("1", name, json.dumps(arguments)), Caller(Place(1), None)
        )

    async def live() -> None:
        assert f"repeated: {every}" in await use("set_reminder", text="Stretch", at=first, every=every)
        delivery = ReminderDelivery(bot, reminders, zone)
        for _ in range(len(then) + (every != "weekdays")):
            now[0] = float(reminders.next_due() or 0)
            await delivery._deliver_due()
        now[0] += 45 * 86_400
        for _ in range(3):
            await delivery._deliver_due()
        assert f"repeated: {every}: Stretch" in await use("list_reminders")
        assert "Taken back" in await use("cancel_reminder", id=1)

    reminders, bot = open_reminders(tmp_path, now), cast("Any", Bot())
    tools = ReminderTools(reminders, zone)
    asyncio.run(live())
    begun = [] if every == "weekdays" else [f"{datetime.fromisoformat(first):%m-%d %H:%M}"]
    assert (said[:-1], len(said)) == ([*begun, *then], len(begun) + len(then) + 1)
    assert reminders.next_due() is None
    assert next_due(0, f"{every} 08:00:00", now[0], zone) > now[0]
