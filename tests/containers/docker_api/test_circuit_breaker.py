"""When the engine is left alone, and when it is asked again."""

import threading

import pytest

from containers.docker_api.circuit_breaker import FAILURES, PAUSE, SHORT_PAUSE, CircuitBreaker
from containers.errors import EngineUnavailableError


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    """A breaker that has just opened."""
    made = CircuitBreaker(clock)
    for _ in range(FAILURES):
        made.admit()
        made.note_silence()
    return made


def test_the_figures_match_the_architecture() -> None:
    assert (FAILURES, PAUSE) == (3, 10.0)


def test_failures_that_are_not_consecutive_do_not_open_the_breaker(clock: Clock) -> None:
    breaker = CircuitBreaker(clock)
    for _ in range(5):
        breaker.note_silence()
        breaker.note_silence()
        breaker.note_answer()
        breaker.admit()
    assert not breaker.is_open


def test_an_open_breaker_refuses_until_the_pause_is_over(breaker: CircuitBreaker, clock: Clock) -> None:
    for passed in (0, PAUSE / 2, PAUSE - 0.01):
        clock.now = 100 + passed
        with pytest.raises(EngineUnavailableError):
            breaker.admit()


def test_after_the_pause_exactly_one_may_try(breaker: CircuitBreaker, clock: Clock) -> None:
    clock.now += PAUSE
    admitted = []

    def knock() -> None:
        try:
            breaker.admit()
        except EngineUnavailableError:
            return
        admitted.append(1)

    threads = [threading.Thread(target=knock) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == 1


def test_a_successful_attempt_closes_the_breaker(breaker: CircuitBreaker, clock: Clock) -> None:
    clock.now += PAUSE
    breaker.admit()
    breaker.note_answer()
    breaker.admit()
    breaker.admit()


def test_a_failed_attempt_opens_the_breaker_for_another_pause(breaker: CircuitBreaker, clock: Clock) -> None:
    clock.now += PAUSE
    breaker.admit()
    clock.now += 5
    breaker.note_silence()
    clock.now += PAUSE - 0.01
    with pytest.raises(EngineUnavailableError):
        breaker.admit()


def test_an_endless_attempt_blocks_nobody_for_longer_than_a_pause(breaker: CircuitBreaker, clock: Clock) -> None:
    clock.now += PAUSE
    breaker.admit()
    clock.now += PAUSE
    breaker.admit()


def test_an_inconclusive_attempt_is_repeated_soon_by_its_caller_only(breaker: CircuitBreaker, clock: Clock) -> None:
    """For example at a container at which the engine is stuck, while it would answer a list."""
    breaker.note_nothing()  # of a call that began earlier
    clock.now += PAUSE - 0.01
    with pytest.raises(EngineUnavailableError):
        breaker.admit()
    clock.now += 0.01
    breaker.admit()
    another = threading.Thread(target=breaker.note_nothing)
    another.start()
    another.join()
    clock.now += SHORT_PAUSE
    with pytest.raises(EngineUnavailableError):
        breaker.admit()
    breaker.note_nothing()
    clock.now += SHORT_PAUSE
    breaker.admit()


def test_an_immediate_failure_is_retried_soon(breaker: CircuitBreaker, clock: Clock) -> None:
    """For example at a socket that nobody listens on while the engine restarts."""
    clock.now += PAUSE
    for _ in range(3):
        breaker.note_silence(breaker.admit())
        clock.now += SHORT_PAUSE - 0.01
        with pytest.raises(EngineUnavailableError):
            breaker.admit()
        clock.now += 0.01


def test_impatient_callers_retry_soon_and_one_at_a_time(breaker: CircuitBreaker, clock: Clock) -> None:
    """A watcher notices within a second that a silent engine answers again, and no request has waited for that."""
    clock.now += SHORT_PAUSE
    with pytest.raises(EngineUnavailableError):
        breaker.admit()
    breaker.admit(is_waited_for=False)
    clock.now += PAUSE - 0.01
    for is_waited_for in (True, False):
        with pytest.raises(EngineUnavailableError):
            breaker.admit(is_waited_for=is_waited_for)
    breaker.note_silence()
    clock.now += SHORT_PAUSE
    breaker.admit(is_waited_for=False)
    breaker.note_answer()
    breaker.admit()
