"""The limiters of several processes share one count, never grant too many requests, and lose few."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from accounts.models import UsageCounter
from accounts.throttling.rate_limits import BATCH, RateLimiter
from accounts.throttling.shared_permits import SharedPermits
from tests.accounts.throttling.rate_limiting import Clock, count_allowed


def test_a_refused_request_costs_no_further_queries(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    process = RateLimiter()
    assert count_allowed("x", 3, scope="commands", times=4, process=process) == 3
    with django_assert_num_queries(0):
        assert count_allowed("x", 3, scope="commands", times=100, process=process) == 0


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_processes_of_a_server_grant_the_whole_limit(clock: Clock, db: None, count: int) -> None:
    """Also if some of them get few requests and then none."""
    shared = SharedPermits()
    processes = [RateLimiter(shared) for _ in range(count)]
    allowed = sum(count_allowed("x", 600, times=1, process=process) for process in processes)
    for turn in range(3):
        allowed += count_allowed("x", 600, times=250 - turn, process=processes[turn % count])

    assert allowed == 600
    assert not any(count_allowed("x", 600, times=20, process=process) for process in processes)


def test_servers_on_several_machines_share_one_count_and_keep_at_most_a_batch_each(clock: Clock, db: None) -> None:
    machines = [RateLimiter() for _ in range(4)]
    allowed = 0
    for _ in range(3):
        allowed += sum(count_allowed("x", 600, times=70, process=machine) for machine in machines)

    assert 600 - len(machines) * BATCH <= allowed <= 600


def test_alternating_processes_lose_no_count(clock: Clock, db: None) -> None:
    processes = [RateLimiter() for _ in range(2)]

    assert sum(count_allowed("x", 600, times=1, process=processes[turn % 2]) for turn in range(620)) == 600


def test_a_slow_clock_does_not_get_a_separate_minute(clock: Clock, db: None) -> None:
    clock.seconds = 61
    assert count_allowed("x", 20, scope="deploys", times=15) == 15
    clock.seconds = 59
    assert count_allowed("x", 20, scope="deploys", times=15) == 5
    clock.seconds = 62
    assert count_allowed("x", 20, scope="deploys", times=15) == 0


@pytest.mark.parametrize("limit", [1, 19, 20, 21, 99, 100, 101, 119, 599, 600])
def test_any_limit_is_kept_to_the_last(clock: Clock, db: None, limit: int) -> None:
    assert count_allowed("x", limit, times=limit + 50) == limit


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("scope", "limit"), [("reads", 600), ("commands", 60), ("deploys", 20)])
def test_fifty_threads_in_five_processes_never_get_more(clock: Clock, scope: str, limit: int) -> None:
    shared = SharedPermits()
    processes = [RateLimiter(shared) for _ in range(5)]
    together = threading.Barrier(50)

    def ask(thread: int) -> int:
        together.wait()
        connection.ensure_connection()  # as in a request, which has asked who the user is
        try:
            return count_allowed("x", limit, scope=scope, times=limit // 10, process=processes[thread % 5])
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as threads:
        allowed = sum(threads.map(ask, range(50)))
    assert allowed == limit
    assert UsageCounter.objects.get().spent <= limit


def test_permits_of_an_earlier_minute_are_forgotten(clock: Clock, db: None) -> None:
    process = RateLimiter()
    for subject in "abc":
        count_allowed(subject, 5, times=1, process=process)
    clock.seconds = 70
    count_allowed("d", 5, times=1, process=process)

    assert [subject for subject, _ in process._permits] == ["d"]
