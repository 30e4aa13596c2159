"""How the leading watcher is broken while another one waits for its turn."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.installation import Installation


def beside_another(breaking: Breaking) -> Breaking:
    @contextmanager
    def broken(installation: Installation) -> Iterator[None]:
        with installation.service.another_watcher(), breaking(installation):
            yield

    return broken
