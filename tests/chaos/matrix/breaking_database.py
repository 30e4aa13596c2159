"""What `tests.chaos.database` does to a database, done to that of an installation."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.chaos.database.faults import FAULTS, Bench
from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.installation import Installation


def database(fault: str) -> Breaking:
    @contextmanager
    def broken(installation: Installation) -> Iterator[None]:
        with FAULTS[fault](Bench(installation.postgres, installation.direct_url)):
            yield

    return broken
