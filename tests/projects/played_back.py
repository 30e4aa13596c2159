"""Scenes that are set up once and used many times."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from tests.fakes.engine import MemoryEngine


@contextmanager
def played_back(engine: MemoryEngine) -> Iterator[None]:
    """Undoes everything that happens in the block, in the database and on the engine."""
    before = copy.deepcopy((engine.containers, engine.volumes, engine.volume_labels))
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    engine.containers, engine.volumes, engine.volume_labels = before
