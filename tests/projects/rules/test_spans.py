"""How long ago something was, in words. The script of the pages uses the same words."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from projects.rules.spans import describe_ago, describe_span
from tests.paths import ROOT

pytestmark = pytest.mark.one_database
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-50, "less than a minute"), (0, "less than a minute"), (59, "less than a minute"), (60, "1 minute"),
        (3599, "59 minutes"), (3600, "1 hour"), (7199, "1 hour"), (172799, "47 hours"), (172800, "2 days"),
        (86400 * 400, "400 days"),
    ],
)  # fmt: skip
def test_spans(seconds: int, words: str) -> None:
    assert describe_span(timedelta(seconds=seconds)) == words
    ago = describe_ago(NOW - timedelta(seconds=seconds), now=NOW)
    assert ago == ("just now" if seconds < 60 else f"{words} ago")


def test_the_script_has_the_same_units_and_words() -> None:
    script = (ROOT / "config/static/berth/times.js").read_text()
    units = re.findall(r'\[(\d+), (\d+), "(\w+)"\]', script)
    assert units == [("86400", "172800", "day"), ("3600", "3600", "hour"), ("60", "60", "minute")]
    assert all(f'"{words}"' in script for words in ("less than a minute", "just now"))
