"""Starts the gateway and ends it."""

import asyncio
import logging
import resource
import signal
import sys

import uvloop

from gateway.config import Config, read_config
from gateway.serving.gateway import open_gateway

MISCONFIGURED = 40

logger = logging.getLogger("gateway")


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    # The library quotes whole requests in its complaints about broken ones.
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
    raise_file_limit()
    try:
        uvloop.run(serve(read_config()))
    except (OSError, ValueError) as error:
        logger.critical("The gateway cannot start: %s", error)
        sys.exit(MISCONFIGURED)


def raise_file_limit() -> None:
    """An idle poll takes two descriptors."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def serve(config: Config) -> None:
    """Runs until SIGTERM. Raises OSError and ValueError where it cannot start."""
    is_over = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, is_over.set)
    async with open_gateway(config) as port:
        logger.info("listening on port %s", port)
        await is_over.wait()
    logger.info("stopped")
