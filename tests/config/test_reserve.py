"""The reserve of a process for the time in which the kernel gives it no more resources."""

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from config import reserve
from config.reserve import DESCRIPTORS, Reserve, is_starvation


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reserve]:
    made = Reserve()
    monkeypatch.setattr(reserve, "RESERVE", made)
    assert made.fill()
    yield made
    made.spend()


@contextmanager
def no_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def following(error: BaseException, cause: BaseException) -> BaseException:
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "Too many open files"),
        OSError(errno.ENFILE, "Too many open files in system"),
        MemoryError(),
        following(KeyError("library"), OSError(errno.ENOMEM, "Cannot allocate memory")),
        following(KeyError("library"), following(ValueError(), MemoryError())),
    ],
)
def test_an_error_that_follows_from_the_limit_spends_the_reserve(kept: Reserve, error: BaseException) -> None:
    assert is_starvation(error)
    assert kept.is_spent
    assert kept.fill()
    assert not kept.is_spent


@pytest.mark.parametrize(
    "error", [None, KeyError(), OSError(errno.ENOENT, "No"), RuntimeError("another"), TimeoutError()]
)
def test_other_errors_do_not_use_the_reserve(kept: Reserve, error: BaseException | None) -> None:
    assert not is_starvation(error)
    assert not kept.is_spent


def test_a_missing_thread_is_reported_without_the_reserve(kept: Reserve) -> None:
    assert is_starvation(following(KeyError(), RuntimeError("can't start new thread")))
    assert not kept.is_spent


def test_an_error_without_its_cause_is_recognised(kept: Reserve) -> None:
    with no_descriptors():
        told = is_starvation(ValueError("connection is bad"))
    assert told
    assert kept.is_spent


def test_the_reserve_is_complete_or_absent(kept: Reserve) -> None:
    assert not Reserve().is_spent
    kept.spend()
    with no_descriptors():
        is_whole = kept.fill()
    assert not is_whole
    assert kept.is_spent
    assert DESCRIPTORS > 0
    assert not kept._descriptors
