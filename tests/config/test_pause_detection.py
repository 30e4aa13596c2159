"""A process that stood still: a time-out during that time says nothing about the database, and a read is repeated."""

from collections.abc import Callable

import pytest
from django.http import HttpRequest, HttpResponse
from psycopg import OperationalError

from config import pause_detection
from config.database import gate
from config.database.gate import Gate
from config.database.limits import seconds_left
from config.http import middleware
from config.http.middleware import AGAIN_WITHIN, ARRIVED_AT, TimeLimitMiddleware
from config.pause_detection import LONGEST, PauseDetector
from config.serving.worker import worker
from tests.config.serving.looping import TICKS

pytestmark = pytest.mark.one_database


class Clock:
    """The clock of the modules under test."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


class NoConnections:
    """The connections of a thread that has used none."""

    def close_all(self) -> None:
        pass


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (pause_detection, middleware):
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> PauseDetector:
    """The detector that the service asks. It has ticked once."""
    own = PauseDetector()
    for module in (middleware, gate):
        monkeypatch.setattr(module, "PAUSE_DETECTOR", own)
    monkeypatch.setattr(middleware, "connections", NoConnections())
    own.tick()
    return own


def test_a_ticking_process_is_not_considered_paused(clock: Clock) -> None:
    own = PauseDetector()
    assert not own.paused_since(0.0)  # it has never ticked
    for _ in range(5):
        own.tick()
        clock.now += LONGEST
        assert not own.paused_since(0.0)


def test_a_pause_is_known_before_and_after_the_next_tick(clock: Clock) -> None:
    own = PauseDetector()
    own.tick()
    began, clock.now = clock.now, clock.now + 2 * LONGEST
    assert own.paused_since(began)
    assert not own.paused_since(clock.now)
    own.tick()
    clock.now += 1.0
    own.tick()
    assert own.paused_since(began)
    assert not own.paused_since(clock.now)


def stop(own: PauseDetector) -> None:
    """Simulates a stop since its last tick."""
    own._ticked_at -= 2 * LONGEST  # type: ignore[operator]  # it has ticked


def served(answers: Callable[[], int], *, method: str = "GET", since: float = 0.0) -> tuple[list[int], HttpResponse]:
    """The statuses that were answered inside, and what the client gets."""
    request, statuses = HttpRequest(), list[int]()
    request.method = method
    if since:
        request.META[ARRIVED_AT] = since

    def get_response(_request: HttpRequest) -> HttpResponse:
        statuses.append(answers())
        return HttpResponse(status=statuses[-1])

    return statuses, TimeLimitMiddleware(get_response)(request)


@pytest.mark.parametrize("failed", [502, 503, 504])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_only_a_read_that_failed_during_a_pause_is_repeated(still: PauseDetector, method: str, failed: int) -> None:
    outcomes = iter([failed, 200])

    def answers() -> int:
        stop(still)
        return next(outcomes)

    statuses, answer = served(answers, method=method)
    assert statuses == ([failed, 200] if method in {"GET", "HEAD"} else [failed])
    assert answer.status_code == statuses[-1]


def test_a_read_is_repeated_only_once(still: PauseDetector) -> None:
    def answers() -> int:
        stop(still)
        return 503

    assert served(answers)[0] == [503, 503]


@pytest.mark.parametrize("status", [200, 404, 429, 500])
def test_other_answers_are_kept(still: PauseDetector, status: int) -> None:
    def answers() -> int:
        stop(still)
        return status

    assert served(answers)[0] == [status]


def test_a_read_of_a_process_that_went_on_is_asked_once(clock: Clock, still: PauseDetector) -> None:
    assert served(lambda: 503)[0] == [503]


def test_the_repetition_has_some_time_in_any_case(still: PauseDetector) -> None:
    left = list[float | None]()

    def answers() -> int:
        left.append(seconds_left())
        return 503

    stop(still)
    served(answers, since=0.1)  # at the start of the machine
    assert left[0] == 0.0
    assert left[1] is not None
    assert left[1] > AGAIN_WITHIN - 1


def fail(stopped: PauseDetector | None) -> None:
    if stopped is not None:
        stop(stopped)
    raise OperationalError("refused")


def test_a_connection_that_failed_during_a_pause_closes_no_gate(still: PauseDetector) -> None:
    own = Gate()
    for is_over in (True, False):
        with pytest.raises(OperationalError, match="refused"), own.passing(is_patient=True):
            fail(still if is_over else None)
        still.tick()
        assert own._is_shut is not is_over


def test_a_worker_of_a_test_does_not_have_later_tests_stand_still() -> None:
    """A worker ticks as long as it runs. Later tests in the same process must not seem to stand still."""
    assert vars(worker)["PAUSE_DETECTOR"] is TICKS
    assert not pause_detection.PAUSE_DETECTOR.paused_since(0.0)
