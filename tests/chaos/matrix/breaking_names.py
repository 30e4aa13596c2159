"""How the machine's name server is broken."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.installation import Installation


def names(mode: str) -> Breaking:
    @contextmanager
    def broken(installation: Installation) -> Iterator[None]:
        assert installation.names is not None
        installation.names.break_(mode)
        try:
            yield
        finally:
            installation.names.heal()

    return broken
