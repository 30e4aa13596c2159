"""Tools that set, list and cancel reminders."""

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any

from assistant.formatting.formatted import clean, is_blank
from assistant.storage.recurrence import EVERY, first_due, format_repeat
from assistant.storage.reminders import Reminder, Reminders
from assistant.tools.tool import Caller, Tool, ToolError, schema_of

FARTHEST = timedelta(days=731)
TEXT = {"type": "string", "description": "What to remind of, in the words of the person."}
AT = {"type": "string", "description": "Local date and time, such as 2026-11-24T09:00."}
IN_MINUTES = {"type": "number", "description": "In place of `at`: minutes from now."}
REPEAT = {
    "type": "string",
    "enum": list(EVERY),
    "description": "To repeat it at the same time of day until it is taken back: every day, Monday to Friday, every "
    "week, or every month (up to the 28th). `at` is the first time. Leave it out for once.",
}


class ReminderTools:
    def __init__(self, reminders: Reminders, zone: tzinfo) -> None:
        self._reminders = reminders
        self._zone = zone

    async def list_tools(self) -> Sequence[Tool]:
        return [
            Tool(
                "set_reminder",
                "Has a message sent to this chat at a time, once or again and again.",
                schema_of(("text",), text=TEXT, at=AT, in_minutes=IN_MINUTES, every=REPEAT),
                self._set,
            ),
            Tool("list_reminders", "Lists the reminders of this chat.", schema_of(), self._list),
            Tool("cancel_reminder", "Takes a reminder back.", schema_of(("id",), id={"type": "integer"}), self._cancel),
        ]

    async def _set(self, caller: Caller, arguments: dict[str, Any]) -> str:
        text = clean(str(arguments["text"])).strip()
        if is_blank(text):
            raise ToolError("the text is empty.")
        due, every, repeat = self._read_time(arguments), arguments.get("every"), None
        if every is not None:
            due, repeat = self._read_repeat(due, str(every))
        number = self._reminders.add(caller.place, int(due.timestamp()), text, caller.language, repeat)
        if number is None:
            raise ToolError("there are too many reminders already.")
        return f"Set: reminder {number} for {self._show(due)}{_show_repeat(repeat)}."

    def _read_repeat(self, due: datetime, every: str) -> tuple[datetime, str]:
        try:
            first = first_due(due.astimezone(self._zone), every)
        except ValueError:
            known = ", ".join(EVERY)
            raise ToolError(f"`every` is one of {known}, and a month begins no later than its 28th.") from None
        return first, format_repeat(every, first)

    async def _list(self, caller: Caller, _: dict[str, Any]) -> str:
        found = self._reminders.list_for(caller.place)
        return "\n".join(map(self._describe, found)) or "There are none."

    def _describe(self, reminder: Reminder) -> str:
        return f"{reminder.number}: {self._show(reminder.due)}{_show_repeat(reminder.repeat)}: {reminder.text}"

    async def _cancel(self, caller: Caller, arguments: dict[str, Any]) -> str:
        if not self._reminders.remove(int(arguments["id"]), caller.place):
            raise ToolError("there is no such reminder in this chat.")
        return "Taken back."

    def _read_time(self, arguments: dict[str, Any]) -> datetime:
        now = datetime.fromtimestamp(self._reminders.now(), self._zone)
        try:
            if arguments.get("in_minutes") is not None:
                due = now + timedelta(minutes=float(arguments["in_minutes"]))
            else:
                due = datetime.fromisoformat(str(arguments["at"]))
        except OverflowError:
            raise ToolError("that is too far away.") from None
        due = due if due.tzinfo else due.replace(tzinfo=self._zone)
        if not now - timedelta(minutes=1) < due < now + FARTHEST:
            raise ToolError(f"that is in the past or too far away. It is {self._show(now)}.")
        return due

    def _show(self, moment: datetime | int) -> str:
        local = datetime.fromtimestamp(moment, self._zone) if isinstance(moment, int) else moment.astimezone(self._zone)
        return f"{local:%Y-%m-%d %H:%M} ({self._zone})"


def _show_repeat(repeat: str | None) -> str:
    return "" if repeat is None else f", repeated: {repeat.partition(' ')[0]}"
