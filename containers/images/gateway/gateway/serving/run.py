"""Starts the gateway and ends it."""

import asyncio
import gc
import logging
import resource
import signal
import socket
import sys

import uvloop

from gateway.config import Config, read_config
from gateway.serving.gateway import open_gateway

MISCONFIGURED = 40
COLLECT_AFTER = 10_000
"""Objects that are made before rings of them are looked for. With Python's 700 that took a tenth of the processor time
of streams, and found nothing."""

logger = logging.getLogger("gateway")


def main(listening: socket.socket | None = None) -> None:
    """`listening` is at its port already."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    # The library quotes whole requests in its complaints about broken ones.
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
    raise_file_limit()
    gc.set_threshold(COLLECT_AFTER)
    try:
        uvloop.run(serve(read_config(), listening))
    except asyncio.CancelledError:
        logger.info("stopped before it was at work")
    except (OSError, ValueError) as error:
        logger.critical("The gateway cannot start: %s", error)
        sys.exit(MISCONFIGURED)


def raise_file_limit() -> None:
    """An idle poll takes two descriptors."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def serve(config: Config, listening: socket.socket | None = None) -> None:
    """Runs until SIGTERM. Raises OSError and ValueError where it cannot start, and CancelledError where it is ended
    before it is at work."""
    is_over, opening = asyncio.Event(), asyncio.current_task()

    def end() -> None:
        is_over.set()
        if opening is not None and not is_at_work:
            opening.cancel()

    is_at_work = False
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, end)
    async with open_gateway(config, listening=listening) as port:
        is_at_work = True
        logger.info("listening on port %s", port)
        await is_over.wait()
    logger.info("stopped")
