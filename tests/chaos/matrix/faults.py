"""The faults of each process, each as something that begins and ends."""

import os
import random
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import psycopg

from tests.chaos.clock import set_clock
from tests.chaos.matrix.installation import Installation

Breaking = Callable[[Installation], AbstractContextManager[None]]

STOPS = (5.0, 30.0, 120.0)
"""Seconds for which a process is stopped."""


@dataclass(frozen=True)
class Fault:
    """`lasts` is in seconds, at least. `mutes`: while it lasts, the server itself may give no answer."""

    breaking: Breaking
    lasts: float = 3.0
    mutes: bool = False


def stopping(process: str) -> Breaking:
    """SIGSTOP: everything of it stays where it is, and nothing moves."""

    @contextmanager
    def stopped(installation: Installation) -> Iterator[None]:
        pids = installation.service.pids(process)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):  # its parent may have had enough of it
                    os.kill(pid, signal.SIGCONT)

    return stopped


def killing(process: str) -> Breaking:
    @contextmanager
    def killed(installation: Installation) -> Iterator[None]:
        for pid in installation.service.pids(process):
            os.kill(pid, signal.SIGKILL)
        yield

    return killed


@contextmanager
def serve_killed(installation: Installation) -> Iterator[None]:
    """With all of its children, as by the kernel that ends a unit's processes. It is started again afterwards."""
    installation.service.kill()
    try:
        yield
    finally:
        installation.service.start()


@contextmanager
def database_killed(installation: Installation) -> Iterator[None]:
    installation.postgres.end(signal.SIGKILL)
    try:
        yield
    finally:
        installation.postgres.start()


@contextmanager
def database_stopped(installation: Installation) -> Iterator[None]:
    installation.postgres.freeze()
    try:
        yield
    finally:
        installation.postgres.thaw()


@contextmanager
def engine_killed(installation: Installation) -> Iterator[None]:
    installation.engine.end(signal.SIGKILL)
    try:
        yield
    finally:
        installation.engine.start()


@contextmanager
def engine_stopped(installation: Installation) -> Iterator[None]:
    os.kill(installation.engine.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(installation.engine.pid, signal.SIGCONT)


@contextmanager
def database_full(installation: Installation) -> Iterator[None]:
    """Without room for its journal PostgreSQL crashes, and cannot recover until there is some. Then it is started."""
    assert installation.postgres.disk is not None
    with installation.postgres.disk.full():
        with suppress(psycopg.Error):
            for _ in range(8):  # until it needs a new file
                installation.postgres.execute("SELECT pg_logical_emit_message(false, 'chaos', 'x'), pg_switch_wal()")
        yield
    installation.postgres.start_again()


@contextmanager
def engine_full(installation: Installation) -> Iterator[None]:
    with installation.engine_disk.full():
        yield


def engine_answering(mode: str) -> Breaking:
    @contextmanager
    def faulty(installation: Installation) -> Iterator[None]:
        installation.proxy.break_(mode)
        if mode in {"refuse", "hang"}:
            installation.proxy.cut_streams()
        try:
            yield
        finally:
            installation.proxy.heal()

    return faulty


def relay(to: str, mode: str) -> Breaking:
    @contextmanager
    def broken(installation: Installation) -> Iterator[None]:
        installation.relays[to].break_(mode)
        try:
            yield
        finally:
            installation.relays[to].heal()

    return broken


def telegram_answering(dial: str) -> Breaking:
    @contextmanager
    def faulty(installation: Installation) -> Iterator[None]:
        with installation.telegram.changed:
            tokens = list(installation.telegram._bots)
        for token in tokens:
            getattr(installation.telegram, dial)(token)
        try:
            yield
        finally:
            for token in tokens:
                installation.telegram.heal(token)

    return faulty


def provider_answering(dial: str) -> Breaking:
    @contextmanager
    def faulty(installation: Installation) -> Iterator[None]:
        getattr(installation.provider, dial)()
        try:
            yield
        finally:
            installation.provider.heal()

    return faulty


@contextmanager
def mail_refused(installation: Installation) -> Iterator[None]:
    installation.mail.misbehave["MAIL"] = "451 later"
    try:
        yield
    finally:
        installation.mail.misbehave.clear()


def stepping(by: timedelta) -> Breaking:
    @contextmanager
    def stepped(installation: Installation) -> Iterator[None]:
        set_clock(installation.clock, by)
        try:
            yield
        finally:
            set_clock(installation.clock)

    return stepped


def _of_a_server(name: str) -> dict[str, Fault]:
    """Of one behind a relay."""
    return {
        f"{name}/kill": Fault(relay(name, "refuse")),
        **{f"{name}/stop {seconds:.0f} s": Fault(relay(name, "hang"), seconds) for seconds in STOPS},
        f"{name}/drip": Fault(relay(name, "drip")),
        f"{name}/half answers": Fault(relay(name, "half")),
    }


def _of_a_process(name: str, *, mutes: bool) -> dict[str, Fault]:
    return {
        f"{name}/kill": Fault(killing(name), mutes=mutes),
        **{f"{name}/stop {seconds:.0f} s": Fault(stopping(name), seconds, mutes) for seconds in STOPS},
    }


FAULTS: Mapping[str, Fault] = {
    **_of_a_process("web worker", mutes=True),
    **_of_a_process("watcher", mutes=False),
    **_of_a_process("serve", mutes=False),
    "serve/kill": Fault(serve_killed, mutes=True),
    "database/kill": Fault(database_killed),
    **{f"database/stop {seconds:.0f} s": Fault(database_stopped, seconds) for seconds in STOPS},
    "database/hang after connect": Fault(relay("database", "hang"), 10.0),
    "database/drip": Fault(relay("database", "drip"), 10.0),
    "database/half answers": Fault(relay("database", "half")),
    "database/disk full": Fault(database_full),
    "engine/kill": Fault(engine_killed),
    **{f"engine/stop {seconds:.0f} s": Fault(engine_stopped, seconds) for seconds in STOPS},
    "engine/hang after connect": Fault(engine_answering("hang"), 10.0),
    "engine/drip": Fault(engine_answering("drip"), 10.0),
    "engine/half answers": Fault(engine_answering("hang in mid-body"), 10.0),
    "engine/lost answers": Fault(engine_answering("lost")),
    "engine/5xx": Fault(engine_answering("500")),
    "engine/wrong JSON": Fault(engine_answering("bad json")),
    "engine/disk full": Fault(engine_full),
    **_of_a_server("telegram"),
    "telegram/5xx": Fault(telegram_answering("break_down")),
    "telegram/wrong JSON": Fault(telegram_answering("garbage")),
    **_of_a_server("provider"),
    "provider/5xx": Fault(provider_answering("break_down")),
    "provider/wrong JSON": Fault(provider_answering("garbage")),
    **_of_a_server("mail"),
    "mail/4xx": Fault(mail_refused),
    **{
        f"clock/{by.total_seconds():+.0f} s": Fault(stepping(by), 10.0)
        for by in (timedelta(minutes=-10), timedelta(minutes=10), timedelta(days=-1), timedelta(days=1))
    },
}
"""`process/fault`. Those of the clock need an installation with libfaketime."""

ELSEWHERE = {
    "mail/wrong answers": "tests/accounts/outbox has seven faults at seven steps of the conversation",
}
"""Cells that are not tried here, and why."""


def draw(number: int, chance: random.Random) -> list[str]:
    """Some faults by chance, none of which lasts for minutes, or needs an installation of its own."""
    return chance.sample(
        [name for name in FAULTS if FAULTS[name].lasts <= 30 and not name.startswith("clock/")], number
    )
