"""What follows from the gateway's sightings."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from projects.rules.status.sightings import (
    FIRST_POLL_WITHIN,
    OF_PROVIDER,
    OF_TELEGRAM,
    POLLS_WITHIN,
    WORDS,
    Judgement,
    find_facts,
    has_fallen_silent,
    judge,
)

pytestmark = pytest.mark.one_database

UNKNOWN = Judgement("", "")
NOTHING = (None, None)
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("telegram", "provider", "polled_at", "judged"),
    [
        (NOTHING, NOTHING, None, ("", "")),
        ((200, 50.0), NOTHING, None, ("", "telegram")),
        ((200, 50.0), (200, 50.0), 40.0, ("", "telegram polling key provider")),
        ((401, 50.0), (200, 50.0), None, ("telegram_token", "!telegram key provider")),
        ((409, 50.0), NOTHING, 40.0, ("telegram_conflict", "telegram !polling")),
        ((502, 50.0), NOTHING, 40.0, ("", "telegram polling")),
        ((404, 50.0), NOTHING, None, ("", "")),
        (NOTHING, (401, 50.0), None, ("provider_key", "!key")),
        (NOTHING, (402, 50.0), None, ("provider_credit", "key !provider")),
        ((401, 50.0), (402, 50.0), None, ("telegram_token", "!telegram key !provider")),
        ((401, 9.0), (401, 9.0), 9.0, ("", "")),
        ((429, 50.0), (503, 50.0), None, ("", "")),
        ((401, None), (402, None), None, ("", "")),
    ],
)
def test_only_certain_facts_are_concluded_from_the_statuses_of_an_older_gateway(
    telegram: Any, provider: Any, polled_at: float | None, judged: Judgement
) -> None:
    facts = find_facts(telegram=telegram, provider=provider, polled_at=polled_at)
    assert judge(UNKNOWN, facts, since=10.0) == judged


def test_each_state_of_knowledge_has_room_in_the_column_and_is_read_as_it_was_written() -> None:
    facts = ("token", "polling", "key", "permission", "credit")
    for refused in product((None, False, True), repeat=len(facts)):
        known = {fact: (each, 5.0) for fact, each in zip(facts, refused, strict=True)}
        judged = judge(UNKNOWN, known, since=5.0)
        assert len(judged.well) <= 40
        assert bool(judged.code) == (True in refused)
        assert judge(judged, {}, since=0.0) == judged
        assert judge(judged, known, since=6.0) == judged
        assert judge(judged, dict.fromkeys(facts, (None, 5.0)), since=0.0).code == judged.code
        assert judged.without(OF_TELEGRAM).without(OF_PROVIDER) == UNKNOWN
        assert judged.without(OF_TELEGRAM).code in {"", *map(str, [WORDS[word] for word in OF_PROVIDER])}


def test_a_newer_gateway_may_know_more() -> None:
    assert judge(UNKNOWN, {"humour": (True, 5.0), "key": (True, 5.0)}, since=0.0) == ("provider_key", "!key")


@pytest.mark.parametrize(
    ("since", "polled_at", "is_silent"),
    [
        (None, None, False),
        (FIRST_POLL_WITHIN / 2, None, False),
        (FIRST_POLL_WITHIN, None, True),
        (timedelta(hours=1), timedelta(seconds=5), False),
        (timedelta(hours=1), POLLS_WITHIN * 2, True),
        (timedelta(hours=-1), None, False),
        (timedelta(hours=-1), timedelta(seconds=5), False),
        (timedelta(hours=-1), POLLS_WITHIN * 2, True),
    ],
)
def test_silence_is_noticed_also_after_a_start_that_lies_in_the_future(
    since: timedelta | None, polled_at: timedelta | None, is_silent: bool
) -> None:
    """The clock was set back since."""
    begin, poll = (None if age is None else NOW - age for age in (since, polled_at))
    assert has_fallen_silent(now=NOW, since=begin, reached_at=poll, polled_at=poll) is is_silent
