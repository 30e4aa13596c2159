"""Logs, usage and events, on every engine."""

import threading
from datetime import datetime, timedelta

import pytest

from tests.containers.engine_fixtures import EngineUnderTest, deploy
from tests.waiting import wait_until


def texts(lines: list[bytes]) -> list[str]:
    return [line.decode().partition(" ")[2] for line in lines]


@pytest.fixture
def chatty(under_test: EngineUnderTest) -> EngineUnderTest:
    deploy(under_test, mode="chatty")
    wait_until(lambda: "line 100" in texts(list(under_test.engine.logs(under_test.key))))
    return under_test


def test_the_log_has_every_line_with_its_time(chatty: EngineUnderTest) -> None:
    lines = list(chatty.engine.logs(chatty.key))
    assert [text for text in texts(lines) if text.startswith("line")] == [f"line {n}" for n in range(1, 101)]
    for line in lines:
        assert datetime.fromisoformat(line.split(b" ")[0].decode()).tzinfo


def test_the_tail_has_the_requested_length(chatty: EngineUnderTest) -> None:
    assert len(list(chatty.engine.logs(chatty.key, tail=3))) == 3
    assert list(chatty.engine.logs(chatty.key, tail=0)) == []


def test_the_log_begins_at_a_moment(chatty: EngineUnderTest) -> None:
    lines = list(chatty.engine.logs(chatty.key))
    middle = datetime.fromisoformat(lines[50].split(b" ")[0].decode())
    assert lines[-1] in list(chatty.engine.logs(chatty.key, since=middle))
    assert list(chatty.engine.logs(chatty.key, since=middle + timedelta(hours=1))) == []


def test_a_missing_container_has_no_log(under_test: EngineUnderTest) -> None:
    assert list(under_test.engine.logs(under_test.key)) == []
    assert list(under_test.engine.logs(under_test.key, follow=True)) == []


def test_a_follower_gets_the_lines_and_ends_with_the_container(chatty: EngineUnderTest) -> None:
    stopper = threading.Timer(0.5, chatty.engine.stop, args=(chatty.key,), kwargs={"timeout": 5})
    stopper.start()
    lines = list(chatty.engine.logs(chatty.key, follow=True))
    stopper.join()
    assert "line 100" in texts(lines)


def test_a_follower_hears_of_silence_and_misses_and_repeats_nothing(
    chatty: EngineUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    chatty.set_silence(monkeypatch)
    lines = chatty.engine.logs(chatty.key, follow=True)
    heard: list[bytes] = []
    # The stream is reopened after a silence. Repeated lines would come before the next silence.
    while heard[-2:] != [b"", b""] or "line 100" not in texts(heard):
        heard.append(next(lines))
        assert len(heard) < 1000, heard
    lines.close()  # type: ignore[attr-defined]  # followers are generators
    assert b"" in heard
    said = [text for text in texts([line for line in heard if line]) if text.startswith("line")]
    assert said == [f"line {n}" for n in range(1, 101)]


def test_a_running_container_has_usage_and_a_stopped_one_has_none(under_test: EngineUnderTest) -> None:
    deploy(under_test)
    usage = under_test.engine.stats(under_test.key)
    assert usage
    assert 0 < usage.memory < usage.memory_limit
    assert usage.pids > 0
    assert usage.cpu_percent >= 0
    found = under_test.engine.inspect(under_test.key)
    assert found
    by_id = under_test.engine.usage_of(found.container_id, started_at=found.started_at)
    assert by_id
    assert by_id.memory_limit == usage.memory_limit
    assert by_id.network_received is not None
    assert usage.network_received is not None
    assert by_id.network_received >= usage.network_received
    under_test.engine.stop(under_test.key, timeout=5)
    assert under_test.engine.stats(under_test.key) is None
    assert under_test.engine.usage_of(found.container_id, started_at=found.started_at) is None
    assert under_test.engine.usage_of("f" * 64, started_at=None) is None


def test_events_come_in_order_and_end_when_nothing_happens(under_test: EngineUnderTest) -> None:
    events = under_test.engine.events({"berth.project": under_test.key}, timeout=2)
    deploy(under_test)
    under_test.engine.stop(under_test.key, timeout=5)
    stopped = under_test.engine.inspect(under_test.key)
    under_test.engine.remove(under_test.key)
    heard = list(events)
    assert stopped is not None
    assert {each.container_id for each in heard} == {stopped.container_id}
    assert [each.exit_code for each in heard if each.action == "die"] == [stopped.exit_code]
    assert {each.exit_code for each in heard if each.action != "die"} == {None}
    assert {each.key for each in heard} == {under_test.key}
    order = [each.action for each in heard if each.action in {"create", "start", "die", "destroy"}]
    assert order == ["create", "start", "die", "destroy"]
    assert all(each.at.tzinfo for each in heard)
    within, first, last = {"berth.project": under_test.key}, heard[0].at, heard[-1].at
    again = under_test.engine.events(within, timeout=0.3, after=heard[-3].at)
    assert [each.action for each in again] == [each.action for each in heard[-2:]]
    found = under_test.engine.find_newest_event(within, since=first, until=last + timedelta(milliseconds=1))
    assert found == last
    assert under_test.engine.find_newest_event({"berth.project": "other"}, since=first, until=last) is None


def test_events_of_others_are_not_heard(under_test: EngineUnderTest) -> None:
    events = under_test.engine.events({"berth.project": "other"}, timeout=0.5)
    deploy(under_test)
    assert list(events) == []


def test_since_before_all_time_is_the_whole_log(chatty: EngineUnderTest) -> None:
    long_ago = datetime.fromisoformat("0001-01-01T00:00:00+14:00")
    assert list(chatty.engine.logs(chatty.key, since=long_ago)) == list(chatty.engine.logs(chatty.key))
