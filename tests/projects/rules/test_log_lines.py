"""Lines of a log for people: one time each, status reports as sentences, never raw JSON."""

import json

import pytest

from containers.agent_contract import AgentState, ProblemCode
from containers.agent_text import clean
from projects.rules.log_lines import Level, read_line, read_lines

pytestmark = pytest.mark.one_database
AT = "2026-05-01T12:00:00.123456789Z"
REPORT = 'AGENT-STATUS {"v":1,"state":"%s","code":%s,"detail":%s}'


@pytest.mark.parametrize(
    ("printed", "level", "text"),
    [
        ("hello", None, "hello"),
        ("", None, ""),
        (REPORT % ("running", "null", "null"), Level.STATUS, "Ready"),
        (REPORT % ("starting", '""', '""'), Level.STATUS, "Getting ready"),
        ('AGENT-STATUS {"v":1,"state":"running","paired":0}', Level.STATUS, "Ready: nobody paired"),
        ('AGENT-STATUS {"v":1,"state":"running","paired":2}', Level.STATUS, "Ready: 2 paired"),
        (
            REPORT % ("degraded", '"provider_busy"', '"429"'),
            Level.WARNING,
            "In trouble: The provider's rate limit is reached. 429",
        ),
        (REPORT % ("failed", '"own_code"', "null"), Level.ERROR, "Given up: own code"),
        (REPORT % ("degraded", '"suspended"', "null"), Level.WARNING, "In trouble: suspended"),
        ("AGENT-STATUS {", Level.STATUS, "A report that Berth cannot read"),
        ('AGENT-STATUS {"v":2,"state":"running"}', Level.STATUS, "A report that Berth cannot read"),
        ("2026-05-01 12:00:00,120 WARNING brain: slow", Level.WARNING, "brain: slow"),
        ("[2026-05-01T12:00:00Z] INFO: up", Level.INFO, "up"),
        ("2026-05-01T12:00:00.1+02:00 plain", None, "plain"),
        ("ERROR no way", Level.ERROR, "no way"),
        ("[CRITICAL] no way", Level.ERROR, "no way"),
        ("ERRORS are many", None, "ERRORS are many"),
        ("Traceback (most recent call last):", Level.ERROR, "Traceback (most recent call last):"),
        ('{"event":"answered","seconds":1.2,"tokens":310}', None, "Answered in 1.2 s, 310 tokens"),
        ('{"msg":"answered","ms":1234,"tokens":1310,"model":"m"}', None, "Answered in 1.23 s, 1,310 tokens, model: m"),
        ('{"level":"error","message":"no","ts":1,"extra":{"a":[1,2]}}', Level.ERROR, "No, extra: a 1, 2"),
        ('{"a":1,"b":null}', None, "a: 1"),
        ("{not json}", None, "{not json}"),
        ("[1, 2]", None, "[1, 2]"),
    ],
)
def test_examples(printed: str, level: Level | None, text: str) -> None:
    line = read_line(f"{AT} {printed}")
    assert (line.stamp, line.level, line.text) == (AT, level, text)
    assert line.at is not None


def test_every_state_and_code_is_a_sentence_without_json() -> None:
    for state in AgentState:
        for code in (*ProblemCode, "", "other_code", "{exit_code}"):
            line = read_line(f"{AT} {REPORT % (state, json.dumps(code), json.dumps('why'))}")
            assert line.level is not None
            assert line.text.endswith("why")
            assert not set('"_') & set(line.text), line.text
            assert code == "{exit_code}" or "{" not in line.text


HOSTILE = [
    "{" * 4000, '{"a":' * 800 + "1" + "}" * 800, "[" * 4000, '{"message":"' + "x" * 4000 + '"}', '{"tokens":1e400}',
    '{"tokens":' + "9" * 4000 + "}", '{"seconds":NaN}', '{"ms":-1}', '{"seconds":true}', '{"level":{"a":1}}',
    '{"level":[]}', '{"message":{"message":1}}', '{"message":5}', "\x00", "\ud800".encode("utf-8", "replace").decode(),
    "AGENT-STATUS " + "{" * 4000, 'AGENT-STATUS {"v":1,"state":["running"]}', "{}", "WARN", "2026-99-99 99:99:99 x",
]  # fmt: skip


def test_nothing_that_an_agent_prints_breaks_a_page() -> None:
    for printed in HOSTILE:
        for line in (printed, f"{AT} {printed}", f"not-a-moment {printed}"):
            told = read_line(line)
            assert isinstance(told.text, str)
            assert told.level in {None, *Level}


def test_a_line_without_a_time_is_kept_whole() -> None:
    line = read_line("no moment at all")
    assert (line.stamp, line.at, line.text) == ("", None, "no moment at all")


def test_a_continuation_has_the_level_of_its_line() -> None:
    printed = ["fine", "Traceback (most recent call last):", "  File x", "ValueError: no", "INFO fine", "  more", "so"]
    told = read_lines(f"{AT} {line}" for line in printed)
    assert [line.level for line in told] == ["info", "error", "error", "error", "info", "info", "info"]


PLACES = {
    "message": {"message": "%s"},
    "value": {"message": "a", "value": "%s"},
    "name": {"message": "a", "%s": 1},
    "nested": {"message": "a", "value": {"%s": ["%s", {"%s": "%s"}]}},
    "level": {"level": "%s", "message": "harb"},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "character", ["\ud83d", "\x1b[2J", "\x9b1m", "\x07", "\n", "\r", "\u2028", "\u202e", "\u2066", "\u200b", "\u3164"]
)
def test_what_an_escape_of_json_stands_for_is_made_safe_to_show(character: str, place: str) -> None:
    escaped = json.dumps(f"harb{character}our")[1:-1]
    text = read_line(f"{AT} {json.dumps(PLACES[place]).replace('%s', escaped)}").text
    assert "harb" in text.lower()
    assert text.isprintable()
    assert clean(text) == text


def test_a_message_begins_with_a_capital_also_after_a_colour() -> None:
    assert read_line(f"{AT} {json.dumps({'message': chr(27) + '[32mready'})}").text == "Ready"
