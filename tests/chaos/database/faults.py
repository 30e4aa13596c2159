"""The faults, each with a beginning and an end."""

import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.chaos.database.postgres import MOST_CONNECTIONS, PrivatePostgres
from tests.chaos.own_network import is_in_own_network
from tests.waiting import wait_until

SERVICE = "berth_e2e_%"
"""Names of the service's databases."""

THREADS = 16
MOST_OF_SERVICE = 2 * (THREADS + 4)
"""Connections that the pools of a web worker and a watcher may have. If there are more, some have been lost."""


@dataclass(frozen=True)
class Bench:
    """The server, and the URL of the service's database on it."""

    postgres: PrivatePostgres
    url: str

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, connect_timeout=60)

    def read_heartbeat(self) -> Any:
        """Returns None if the server does not answer."""
        try:
            with self.connect() as connection:
                found = connection.execute(
                    "SELECT heartbeat_at FROM projects_watch WHERE instance = 'chaos-watcher'"
                ).fetchone()
        except psycopg.OperationalError:
            return None
        return found and found[0]

    def count_connections(self) -> int:
        """Returns the service's connections that the server knows."""
        question = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        with self.connect() as connection:
            [(number,)] = connection.execute(question).fetchall()
        return int(number)


@contextmanager
def stopped(bench: Bench) -> Iterator[None]:
    """Its port refuses connections."""
    bench.postgres.end(signal.SIGINT)
    try:
        yield
    finally:
        bench.postgres.start()


@contextmanager
def crashed(bench: Bench) -> Iterator[None]:
    bench.postgres.end(signal.SIGKILL)
    try:
        yield
    finally:
        bench.postgres.start()


@contextmanager
def restarted(bench: Bench) -> Iterator[None]:
    """It is over before any request comes; only the earlier connections are dead."""
    bench.postgres.end(signal.SIGINT)
    bench.postgres.start()
    yield


@contextmanager
def frozen(bench: Bench) -> Iterator[None]:
    bench.postgres.freeze()
    try:
        yield
    finally:
        bench.postgres.thaw()


@contextmanager
def vanished(bench: Bench) -> Iterator[None]:
    """Every packet to and from its port is dropped. Call this only in a separate network namespace."""
    assert is_in_own_network()
    rules = [["INPUT", "-p", "tcp", f"--{side}", str(bench.postgres.port), "-j", "DROP"] for side in ("dport", "sport")]
    for rule in rules:
        subprocess.run(["iptables", "-w", "-I", *rule], check=True)
    try:
        yield
    finally:
        for rule in rules:
            subprocess.run(["iptables", "-w", "-D", *rule], check=True)


@contextmanager
def read_only(bench: Bench) -> Iterator[None]:
    bench.postgres.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    bench.postgres.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        with bench.postgres.connect() as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")


@contextmanager
def standby(bench: Bench) -> Iterator[None]:
    bench.postgres.end(signal.SIGINT)
    bench.postgres.make_standby()
    bench.postgres.start()
    try:
        yield
    finally:
        bench.postgres.promote()


@contextmanager
def full(bench: Bench) -> Iterator[None]:
    """Others have all connections."""
    with ExitStack() as held:
        bench.postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE '{SERVICE}'")
        with suppress(psycopg.OperationalError):
            for _ in range(MOST_CONNECTIONS):
                held.enter_context(bench.postgres.connect())
        yield


def locking(statement: str) -> Callable[[Bench], Any]:
    @contextmanager
    def locked(bench: Bench) -> Iterator[None]:
        with bench.connect() as connection:
            connection.execute(statement.encode())
            yield
            connection.rollback()

    return locked


@contextmanager
def hanging(bench: Bench) -> Iterator[None]:
    """Each change of a project takes forever."""
    with bench.connect() as connection:
        connection.execute(
            "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS"
            " 'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';"
            "CREATE TRIGGER hang BEFORE INSERT OR UPDATE OR DELETE ON projects_project"
            " FOR EACH ROW EXECUTE FUNCTION hang()"
        )
    try:
        yield
    finally:
        bench.postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE '{SERVICE}'")

        def drop() -> bool:
            with bench.connect() as connection:
                connection.execute("DROP FUNCTION hang() CASCADE")
            return True

        wait_until(drop, within=60)


ROWS = "SELECT 1 FROM {table} FOR UPDATE"
TABLE = "LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"

FAULTS: Mapping[str, Callable[[Bench], Any]] = {
    "stopped": stopped,
    "crashed": crashed,
    "restarted": restarted,
    "frozen": frozen,
    "vanished": vanished,
    "read-only": read_only,
    "standby": standby,
    "full": full,
    "hanging": hanging,
    **{
        f"locked {kind} of {table}": locking(statement.format(table=table))
        for kind, statement in (("rows", ROWS), ("table", TABLE))
        for table in (
            "projects_project", "projects_event", "projects_plan", "projects_installation", "projects_enginehost",
            "accounts_user", "accounts_apikey", "accounts_usagecounter", "django_session",
        )
    },
}  # fmt: skip
