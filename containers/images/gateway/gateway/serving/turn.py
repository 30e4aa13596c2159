"""Of two gateways with the same state one is at work at a time: the other one waits, with all that it has to import."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

LOOK_EVERY = 0.02


@asynccontextmanager
async def taken_turn(state: Path) -> AsyncIterator[None]:
    """Waits until nobody else is at work with this folder. The kernel ends the turn of a process that is gone."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(state / "turn", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not _try_to_take(descriptor):
            await asyncio.sleep(LOOK_EVERY)
        yield
    finally:
        os.close(descriptor)


def _try_to_take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
