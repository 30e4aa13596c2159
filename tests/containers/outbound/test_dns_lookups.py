"""Host names that no server resolves do not use up the look-ups of other users."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from containers.outbound import dns_lookups
from containers.outbound.call_limits import resolve, time_limit

pytestmark = pytest.mark.one_database
SOON, GUARD = 0.05, 40.0


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """The name servers take long to answer that there is no host called `hangs`."""
    answered, real = threading.Event(), socket.getaddrinfo

    def look_up(host: str, *args: Any, **options: Any) -> list[Any]:
        if host != "hangs":
            return real(host, *args, **options)
        answered.wait(2 * GUARD)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(dns_lookups, "_places", threading.BoundedSemaphore(dns_lookups.OF_ONE + 1))
    yield answered.set
    answered.set()


def hang(asker: str) -> None:
    with time_limit(SOON), suppress(OSError):
        resolve("hangs", 443, asker=asker)


def test_one_user_s_hosts_take_few_slots_and_release_them(answer: Callable[[], None]) -> None:
    for _ in range(dns_lookups.OF_ONE + 2):
        hang("7")
    for asker in ("", "8"):
        with time_limit(GUARD):
            assert resolve("localhost", 443, asker=asker)
    answer()
    with time_limit(GUARD), pytest.raises(socket.gaierror):
        resolve("hangs", 443, asker="7")


def test_an_address_needs_no_place(answer: Callable[[], None]) -> None:
    for asker in ("7", "7", "8"):
        hang(asker)
    hang("")
    for address in ("127.0.0.1", "::1"):
        with time_limit(GUARD):
            assert resolve(address, 443)[0][4][0] == address
    answer()
