"""Agents' reports are read, and invalid ones do no harm."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers.agent_contract import LONGEST_DETAIL
from containers.agent_reports import newest_report, parse_report, parse_time
from containers.vocabulary import AgentReport

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def line(at: datetime, state: str = "running", **fields: object) -> bytes:
    said = json.dumps({"v": 1, "state": state, **fields})
    return f"{at.isoformat().replace('+00:00', 'Z')} AGENT-STATUS {said}".encode()


def test_a_status_line_is_read() -> None:
    text = 'AGENT-STATUS {"v":1,"state":"degraded","code":"provider_key","detail":"It was rejected."}'
    assert parse_report(text) == AgentReport(state="degraded", code="provider_key", detail="It was rejected.")


def test_the_output_of_a_health_probe_is_read() -> None:
    assert parse_report('{"v":1,"state":"starting"}\n') == AgentReport(state="starting")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AGENT-STATUS",
        "AGENT-STATUS running",
        "AGENT-STATUS {",
        "AGENT-STATUS []",
        "AGENT-STATUS null",
        'AGENT-STATUS {"state":"running"}',
        'AGENT-STATUS {"v":2,"state":"running"}',
        'AGENT-STATUS {"v":1}',
        'AGENT-STATUS {"v":1,"state":"great"}',
        'AGENT-STATUS {"v":1,"state":["running"]}',
        'AGENT-STATUS {"v":1,"state":{"a":1}}',
        'AGENT-STATUS {"v":1,"state":null}',
        'AGENT-STATUS {"v":' + "1" * 4000 + "}",
        "AGENT-STATUS " + '{"a":' * 700 + "1" + "}" * 700,
        'AGENT-STATUS {"v":1,"state":"running","detail":"' + "x" * 5000 + '"}',
    ],
)
def test_other_lines_are_no_reports(text: str) -> None:
    assert parse_report(text) is None


@pytest.mark.parametrize("value", [1, None, [], {}, True, ["x"]])
def test_fields_of_a_wrong_type_are_empty(value: object) -> None:
    said = parse_report(json.dumps({"v": 1, "state": "failed", "code": value, "detail": value}))
    assert said == AgentReport(state="failed")


def test_control_and_formatting_characters_are_left_out() -> None:
    said = parse_report(json.dumps({"v": 1, "state": "failed", "detail": "a\x1b[31mb\r\nc\u202ed\x00e\u200bf\ud800g"}))
    assert said
    assert said.detail == "ab  cdefg"


def test_long_details_are_cut() -> None:
    said = parse_report(json.dumps({"v": 1, "state": "failed", "code": "c" * 1000, "detail": "d" * 1000}))
    assert said
    assert (len(said.code), len(said.detail)) == (40, LONGEST_DETAIL)


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(noise: bytes) -> None:
    for text in (noise, b"AGENT-STATUS " + noise, b"2026-11-20T12:00:00Z AGENT-STATUS " + noise):
        parse_report(text)
        newest_report([text], since=AT)


def test_the_newest_report_of_the_run_counts() -> None:
    lines = [line(AT), b"", b"noise", line(AT + timedelta(seconds=1), "degraded", code="provider_key"), b"x y z"]
    found = newest_report(lines, since=AT)
    assert found == (AT + timedelta(seconds=1), AgentReport(state="degraded", code="provider_key"))


def test_a_report_of_an_earlier_run_does_not_count() -> None:
    assert newest_report([line(AT - timedelta(seconds=1))], since=AT) is None


def test_a_line_that_only_mentions_a_report_is_no_report() -> None:
    assert newest_report([b'2026-11-20T12:00:00Z user said AGENT-STATUS {"v":1,"state":"failed"}'], since=None) is None


@pytest.mark.parametrize("text", ["", "yesterday", "0001-01-01T00:00:00Z", "2026-11-20T12:00:00"])
def test_unreadable_and_zero_times_are_none(text: str) -> None:
    assert parse_time(text) is None
