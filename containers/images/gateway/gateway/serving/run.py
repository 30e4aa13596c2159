"""Runs the gateway from its settings until a signal ends it."""

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
from gateway.serving.heartbeat import Heartbeat

MISCONFIGURED = 40
COLLECT_AFTER = 10_000
"""Allocations before the garbage collector runs. With Python's default of 700 it took a tenth of the processor time of
streams and found nothing."""

logger = logging.getLogger("gateway")


def main(listening: socket.socket | None = None, heartbeat: Heartbeat | None = None) -> None:
    """`listening` is a socket that already listens at the port. `heartbeat` shows that the event loop goes on.

    Exits with 40 if the gateway cannot start.
    """
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    # The library logs malformed requests in full.
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
    raise_file_limit()
    gc.set_threshold(COLLECT_AFTER)
    gc.enable()
    try:
        uvloop.run(serve(read_config(), listening, heartbeat))
    except asyncio.CancelledError:
        logger.info("stopped before it was ready")
    except (OSError, ValueError) as error:
        logger.critical("The gateway cannot start: %s", error)
        sys.exit(MISCONFIGURED)


def raise_file_limit() -> None:
    """Raises the limit of open files to the highest allowed, because an idle poll takes two descriptors."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def serve(config: Config, listening: socket.socket | None = None, heartbeat: Heartbeat | None = None) -> None:
    """Runs until SIGTERM or SIGINT. Raises OSError or ValueError if it cannot start, and CancelledError if it is ended
    before it is ready.
    """
    is_over, opening = asyncio.Event(), asyncio.current_task()

    def end() -> None:
        is_over.set()
        if opening is not None and not is_ready:
            opening.cancel()

    is_ready = False
    beating = asyncio.ensure_future(heartbeat.keep_beating()) if heartbeat else None
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, end)
    async with open_gateway(config, listening=listening) as port:
        is_ready = True
        logger.info("listening on port %s", port)
        await is_over.wait()
    if beating is not None:
        beating.cancel()
    logger.info("stopped")
