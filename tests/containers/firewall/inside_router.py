"""Programs that run inside the namespaces of `tests.containers.firewall.router`. Standard library only."""

import asyncio
import json
import socket
import sys
import time
from contextlib import suppress
from typing import Any

PATIENCE = 4.0
"""Seconds for an answer. Refusals come at once;
there is no answer only if the kernel itself does not send such a packet."""
LONG = 30.0
"""Seconds for a connection that is held: one that only the caller gives up would still count for the kernel."""


def knock(*, addresses: list[str], port: int) -> dict[str, bool]:
    """Returns the addresses that can be reached."""

    async def reaches(address: str) -> bool:
        try:
            async with asyncio.timeout(PATIENCE):
                _, writer = await asyncio.open_connection(address, port)
        except (OSError, TimeoutError):
            return False
        writer.transport.abort()
        return True

    async def all_of_them() -> list[bool]:
        return await asyncio.gather(*map(reaches, addresses))

    return dict(zip(addresses, asyncio.run(all_of_them()), strict=True))


def knock_from(*, source: str, address: str, port: int) -> bool:
    """Returns whether the address can be reached from this one of the agent's own."""
    with suppress(OSError), socket.create_connection((address, port), PATIENCE, source_address=(source, 0)):
        return True
    return False


def hold(*, address: str, port: int, count: int) -> int:
    """Returns how many of `count` connections can be held at the same time."""

    async def call_all() -> int:
        held = await _call(address, port, count)
        for each in held:
            each.transport.abort()
        return len(held)

    return asyncio.run(call_all())


def keep(*, address: str, port: int, count: int) -> None:
    """Holds `count` connections until its input ends."""

    async def keep_all() -> None:
        held = await _call(address, port, count)
        sys.stdout.write("open\n" if len(held) == count else f"only {len(held)}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

    asyncio.run(keep_all())


async def _call(address: str, port: int, count: int) -> list[asyncio.StreamWriter]:
    async def call() -> asyncio.StreamWriter | None:
        try:
            async with asyncio.timeout(LONG):
                return (await asyncio.open_connection(address, port))[1]
        except (OSError, TimeoutError):
            return None

    return [each for each in await asyncio.gather(*(call() for _ in range(count))) if each]


def scatter(*, address: str, count: int) -> float:
    """Sends a packet to each of `count` ports. Returns the seconds that it took."""
    began = time.monotonic()
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for port in range(10_000, 10_000 + count):
            with suppress(OSError):
                sender.sendto(b"?", (address, port))
    return time.monotonic() - began


def reopen(*, address: str, port: int, rounds: int) -> float:
    """Opens and closes connections until one is refused, rests for 3 s, and begins again. Returns the seconds."""
    began = time.monotonic()
    for number in range(rounds):
        time.sleep(3 if number else 0)
        with suppress(OSError):
            for _ in range(400):
                socket.create_connection((address, port), timeout=0.3).close()
    return time.monotonic() - began


def ask(*, address: str, count: int) -> list[float]:
    """Asks the name server `count` times from one socket. Returns the number of answers, and the seconds."""
    began, answers = time.monotonic(), 0
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((address, 53))
        for _ in range(count):
            with suppress(OSError):
                sender.send(b"?")
            sender.settimeout(0.01)
            with suppress(OSError):
                answers += bool(sender.recv(10))
        sender.settimeout(0.5)
        with suppress(OSError):
            while sender.recv(10):
                answers += 1
    return [answers, time.monotonic() - began]


def answer(*, port: int) -> None:
    """Accepts every connection to the port, and answers questions to port 53, until its input ends."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await reader.read()
        writer.close()

    class Names(asyncio.DatagramProtocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def datagram_received(self, data: bytes, addr: Any) -> None:
            self.transport.sendto(data, addr)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            await asyncio.start_server(take, host, port, family=family, backlog=1024)
            await loop.create_datagram_endpoint(Names, local_addr=(NAME_SERVERS[family], 53), family=family)
        sys.stdout.write("open\n")
        sys.stdout.flush()
        await loop.run_in_executor(None, sys.stdin.read)

    asyncio.run(serve())


NAME_SERVERS = {socket.AF_INET: "9.9.9.9", socket.AF_INET6: "2620:fe::9"}

if __name__ == "__main__":
    verb, arguments = sys.argv[1:]
    said = globals()[verb](**json.loads(arguments))
    if said is not None:
        sys.stdout.write(json.dumps(said))
