"""Trouble of the service causes few messages, no matter how it comes and goes."""

import random
from datetime import UTC, datetime, timedelta
from itertools import cycle

from projects.rules.service_alerts import AGAIN_WITHIN, Known, Moment, look

START = datetime(2026, 11, 23, tzinfo=UTC)


def test_a_flapping_service_causes_few_messages() -> None:
    """Beginnings and ends take turns, and from one beginning to the next but one it is an hour."""
    chance = random.Random(13)
    for _ in range(300):
        now, known = START, Known(is_wrong=False, since=START)
        told = []
        for _ in range(60):
            now += timedelta(seconds=chance.choice([15, 61, 61, 301, 301, 1200]))
            known, moment = look(known, is_wrong=chance.random() < 0.5, now=now)
            told += [(now, moment)] if moment else []
        assert all(moment is turn for (_, moment), turn in zip(told, cycle([Moment.BEGUN, Moment.ENDED]), strict=False))
        begun = [at for at, moment in told if moment is Moment.BEGUN]
        assert all(later - earlier >= AGAIN_WITHIN for earlier, later in zip(begun, begun[2:], strict=False))
