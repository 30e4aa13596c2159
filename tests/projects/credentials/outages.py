"""Ways in which Telegram is out of order, and the results of a creation then."""

from collections.abc import Callable
from typing import Any

from projects.models import Event, IdempotencyRecord, Project
from tests.canaries import CANARY_TELEGRAM_TOKEN
from tests.fakes.engine import MemoryEngine
from tests.fakes.telegram import FakeTelegram

TOKEN = CANARY_TELEGRAM_TOKEN


def warnings_of(answer: Any) -> list[str]:
    """Returns the codes of the warning events of the new project."""
    assert answer.status_code == 201, answer.content
    details = Event.objects.filter(project_id=answer.json()["id"], outcome="warning").values_list("detail", flat=True)
    return sorted(detail.partition(":")[0] for detail in details)


def assert_nothing_made(engine: MemoryEngine) -> None:
    assert not Project.objects.exists()
    assert not IdempotencyRecord.objects.exists()
    assert not engine.containers
    assert not [verb for verb, _ in engine.calls if verb == "deploy"]


def conflict(telegram: FakeTelegram) -> None:
    telegram.conflict(TOKEN)
    for fault in telegram._bots[TOKEN].faults:
        fault.only = None


def not_an_object(telegram: FakeTelegram) -> None:
    telegram.garbage(TOKEN, body=b"[1, 2]")


def hang_up(telegram: FakeTelegram) -> None:
    telegram.stop()


OUTAGES: dict[str, Callable[[FakeTelegram], object]] = {
    "409": conflict,
    "429": lambda telegram: telegram.rate_limit(TOKEN),
    "500": lambda telegram: telegram.break_down(TOKEN, 500),
    "502 in HTML": lambda telegram: telegram.break_down(TOKEN, 502),
    "403 in HTML": lambda telegram: telegram.break_down(TOKEN, 403),
    "302": lambda telegram: telegram.break_down(TOKEN, 302),
    "200 in HTML": lambda telegram: telegram.break_down(TOKEN, 200),
    "garbage": lambda telegram: telegram.garbage(TOKEN),
    "a list": not_an_object,
    "silence": lambda telegram: telegram.stall(TOKEN),
    "nobody there": hang_up,
}
