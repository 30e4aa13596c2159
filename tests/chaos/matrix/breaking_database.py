"""The faults of `tests.chaos.database`, for the database of an installation,
and those that need a whole installation."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from tests.chaos.clock import faked_clock, set_clock
from tests.chaos.database.faults import FAULTS, Bench
from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.installation import Installation


def database(fault: str) -> Breaking:
    @contextmanager
    def broken(installation: Installation) -> Iterator[None]:
        with FAULTS[fault](Bench(installation.postgres, installation.direct_url)):
            yield

    return broken


def database_clock(by: timedelta) -> Breaking:
    """The database's server has been moved to a machine whose clock is wrong, and comes back."""

    @contextmanager
    def wrong(installation: Installation) -> Iterator[None]:
        postgres, file = installation.postgres, installation.clock.with_name("clock of the database")
        set_clock(file, by)
        file.chmod(0o644)
        file.parent.chmod(0o755)
        postgres.end(signal.SIGINT)
        postgres.environment = faked_clock(file)
        postgres.start()
        try:
            yield
        finally:
            postgres.end(signal.SIGINT)
            postgres.environment = {}
            postgres.start()

    return wrong


OTHER_SETTINGS = {
    "timezone": "Pacific/Kiritimati",
    "datestyle": "German, DMY",
    "intervalstyle": "sql_standard",
    "bytea_output": "escape",
    "extra_float_digits": "-2",
    "default_transaction_isolation": "serializable",
    "client_min_messages": "debug1",
}


@contextmanager
def other_settings(installation: Installation) -> Iterator[None]:
    """Someone has changed the server's defaults for other programs."""
    for name, value in OTHER_SETTINGS.items():
        installation.postgres.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    _apply(installation)
    try:
        yield
    finally:
        for name in OTHER_SETTINGS:
            installation.postgres.execute(f"ALTER SYSTEM RESET {name}")
        _apply(installation)


def _apply(installation: Installation) -> None:
    """For new connections. The others end."""
    installation.postgres.execute("SELECT pg_reload_conf()")
    installation.postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
