"""Runs the proxy: `python -m containers.socket_proxy`, with its settings in the environment."""

import asyncio
import logging
import os
import resource
import signal
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path

from containers.socket_proxy.engine import Engine
from containers.socket_proxy.requests import HEAD_SIZE
from containers.socket_proxy.server import Server
from containers.socket_proxy.settings import engine_path, listen_path, read_scope

PROFILE = Path(__file__).parents[1] / "seccomp.json"
_CONNECTIONS = 1024
_BACKLOG = 256


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else 65536, hard))
    engine = Engine(engine_path(), read_scope())
    asyncio.run(run(Server(engine, PROFILE.read_text(), most=_CONNECTIONS), listen_path()))


async def run(server: Server, path: Path) -> None:
    """Serves until the process gets a signal to end."""
    listener = await asyncio.start_unix_server(server.serve, sock=_listen(path), limit=HEAD_SIZE, backlog=_BACKLOG)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    logging.getLogger(__name__).info("The socket proxy listens at %s.", path)
    await ended.wait()
    listener.close()
    with suppress(FileNotFoundError):
        path.unlink()


def _listen(path: Path) -> socket.socket:
    """Returns a listening socket for its own user and group only. Removes one that a killed process has left behind."""
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o117)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    return listener


if __name__ == "__main__":
    main()
