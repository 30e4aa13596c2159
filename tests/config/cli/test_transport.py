"""Where a token is sent, and how often a call is repeated."""

from collections.abc import Callable, Iterator

import pytest

from berth_cli.addresses import is_loopback, read_address
from berth_cli.errors import UsageError
from tests.config.cli.conftest import Berth
from tests.config.cli.other_end import PROJECT_ID, OtherEnd, refuse
from tests.fakes.messages import Answer, Request, Streamed
from tests.ports import reserve_port

pytestmark = pytest.mark.one_database

At = Callable[[OtherEnd], None]


@pytest.fixture
def other_end() -> Iterator[OtherEnd]:
    with OtherEnd() as server:
        yield server


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    """Names the installation in the environment."""

    def go(server: OtherEnd) -> None:
        monkeypatch.setenv("BERTH_URL", server.url)
        monkeypatch.setenv("BERTH_TOKEN", "berth_of-these-tests")

    return go


def refuse_first(status: int, code: str, **headers: str) -> Callable[[Request], Answer | None]:
    answers = iter([refuse(status, code, "Not now.", **headers)])
    return lambda _: next(answers, None)


@pytest.mark.parametrize(("status", "code"), [(429, "throttled"), (503, "engine_unavailable")])
def test_a_read_is_retried_when_the_server_says(
    berth: Berth, other_end: OtherEnd, at: At, monkeypatch: pytest.MonkeyPatch, status: int, code: str
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("berth_cli.api.time.sleep", waited.append)
    at(other_end)
    other_end.respond = refuse_first(status, code, Retry_After="7")
    done = berth("list")
    assert (done.code, waited, len(other_end.seen)) == (0, [7.0], 2)
    assert done.err == "Not now. Trying again in 7 s.\n"


def test_a_deploy_is_retried_with_the_same_key(
    berth: Berth, other_end: OtherEnd, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("berth_cli.api.time.sleep", lambda _: None)
    cut = [Answer(201, body, {"Content-Length": "300"}) for body in (b"", b'{"id": ')]
    answers = iter([refuse(503, "overloaded", "Not now.", Retry_After="1"), Answer(502, b"<html>"), *cut, None])
    other_end.respond = lambda _: next(answers, None)
    at(other_end)
    assert berth("deploy", "Harbour pilot").code == 0
    keys = {request.headers["idempotency-key"] for request in other_end.seen}
    assert (len(other_end.seen), len(keys)) == (5, 1)


@pytest.mark.parametrize(("status", "code", "tries"), [(429, "throttled", 2), (503, "overloaded", 1)])
def test_a_command_is_retried_only_if_it_was_not_begun(
    berth: Berth, other_end: OtherEnd, at: At, monkeypatch: pytest.MonkeyPatch, status: int, code: str, tries: int
) -> None:
    monkeypatch.setattr("berth_cli.api.time.sleep", lambda _: None)
    other_end.respond = refuse_first(status, code, Retry_After="1")
    at(other_end)
    berth("restart", PROJECT_ID)
    assert len(other_end.seen) == tries


def test_a_retry_after_an_hour_is_not_waited_for(berth: Berth, other_end: OtherEnd, at: At) -> None:
    other_end.respond = refuse_first(503, "maintenance", Retry_After="600")
    at(other_end)
    assert berth("list").code == 1
    assert len(other_end.seen) == 1


def test_a_token_goes_to_no_other_host(berth: Berth, other_end: OtherEnd, at: At) -> None:
    with OtherEnd() as thief:
        other_end.respond = lambda _: Answer(307, b"", {"Location": f"{thief.url}/api/projects"})
        at(other_end)
        for words in (["list"], ["deploy", "Harbour pilot"], ["logs", "-f", PROJECT_ID]):
            assert berth(*words).code == 1
        assert thief.requests == []
    assert len(other_end.seen) == 3


def test_requests_to_this_machine_use_no_proxy(
    berth: Berth, other_end: OtherEnd, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OtherEnd() as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        at(other_end)
        assert berth("list").code == 0
        monkeypatch.setenv("BERTH_URL", "http://berth.invalid")
        assert berth("list", "--insecure-http").code == 0  # by the proxy, which answers instead of it
        assert len(proxy.seen) == 1


def test_an_unreachable_server_is_reported_at_once(berth: Berth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_URL", f"http://127.0.0.1:{reserve_port()}")
    monkeypatch.setenv("BERTH_TOKEN", "berth_x")
    for words in (["list"], ["deploy", "x"], ["stop", PROJECT_ID], ["logs", "-f", PROJECT_ID]):
        done = berth(*words)
        assert done.code == 1
        assert "Nothing answers at http://127.0.0.1:" in done.err
        assert "carried out" not in done.err


def test_silence_ends(berth: Berth, other_end: OtherEnd, at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth_cli.transport.ANSWER_WITHIN", 0.1)
    other_end.respond = other_end.hang
    at(other_end)
    read, command = berth("list"), berth("stop", PROJECT_ID)
    assert (read.code, command.code) == (1, 1)
    assert "has not answered within" in read.err
    assert "It may have been carried out." in command.err


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("berth.example.org", "https://berth.example.org"),
        ("https://Berth.example.org/", "https://berth.example.org"),
        ("https://berth.example.org:8443", "https://berth.example.org:8443"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://localhost", "http://localhost"),
    ],
)
def test_an_address(typed: str, address: str) -> None:
    assert read_address(typed, allows_http=False) == address


@pytest.mark.parametrize(
    "typed",
    [
        "http://berth.example.org", "ftp://berth.example.org", "https://a:b@berth.example.org", "https://berth/path",
        "https://berth?x=1", "https://berth:x", "", "https://", "https://be rth", "http://127.0.0.1.example.org",
        "http://localhost.example.org", "https://berth\r\nX: 1",
    ],
)  # fmt: skip
def test_invalid_and_unencrypted_urls_are_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        read_address(typed, allows_http=False)


def test_only_loopback_counts_as_this_machine() -> None:
    assert is_loopback("http://127.8.8.8")
    assert not is_loopback("http://10.0.0.1")
    assert not is_loopback("http://localhost.example.org")


def test_a_log_is_followed_across_connections_that_break(berth: Berth, other_end: OtherEnd, at: At) -> None:
    """Each line once, in order, although the second connection repeats the last second."""
    lines = [f"2026-01-01T00:00:0{second}Z Line {second}." for second in range(5)]
    parts = iter([lines[:2], [], [*lines[:2], *lines[2:3]], lines[2:]])

    def stream(request: Request) -> Answer:
        part = next(parts)
        events = [f"data: {line}\n\n".encode() for line in part]
        if part[-1:] == lines[-1:]:
            events.append(b"event: end\ndata: the log has ended\n\n")
        return Streamed(200, b"", {"Content-Type": "text/event-stream"}, pieces=[b": still here\n\n", *events])

    other_end.respond = stream
    at(other_end)
    done = berth("logs", "-f", "--tail", "2", PROJECT_ID)
    assert done.code == 0, done.err
    assert done.out.splitlines() == lines
    asked = [request.query for request in other_end.seen]
    assert asked[0] == {"tail": "2", "follow": "true"}
    assert asked[1] == {"since": "2026-01-01T00:00:01Z", "follow": "true"}


def test_the_reason_of_a_stream_s_end_is_shown(berth: Berth, other_end: OtherEnd, at: At) -> None:
    said = b"event: error\ndata: The token is not valid.\n\n"
    other_end.respond = lambda _: Answer(200, said, {"Content-Type": "text/event-stream"})
    at(other_end)
    done = berth("logs", "-f", PROJECT_ID)
    assert (done.code, done.err) == (1, "berth: The token is not valid.\n")


def test_a_server_that_stays_away_ends_a_log(berth: Berth, other_end: OtherEnd, at: At) -> None:
    other_end.respond = lambda _: Answer(200, b": still here\n\n", {"Content-Type": "text/event-stream"})
    at(other_end)
    done = berth("logs", "-f", PROJECT_ID)
    assert done.code == 1
    assert len(other_end.seen) == 10
