"""What the gateway costs, against a direct connection, a relay of bytes and a bare pass-through, in turn in one run.

    python -m tests.benchmarks.gateway [--streams 100] [--pieces 50] [--seconds 10] [--pollers 1000] [--rounds 3]
        [--before CHECKOUT] [--python PATH]

Each stream is of so many pieces a second. `first byte` is the time to the first piece of an answer, `delay` the time of
each piece since it was sent; what is shown is added to the direct connection's. Processor time is that of the process
in between, in percent of one core, and of each piece in microseconds. The relay does not read what it passes on, so its
processor time is that of the kernel and the event loop. The pollers wait for messages that do not come. Medians of the
rounds. `--before` is a worktree of another version, whose gateway is measured in the same rounds.
`--python` runs the pass-through and the gateway with another interpreter that has the image's requirements.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import aiohttp
import uvloop

from tests.benchmarks.gateway_servers import KEY, PROJECTS, TOKEN, gateway, running
from tests.benchmarks.harness import percentile, print_row
from tests.gateway.unpacked import unpack_image

TITLES = ("first byte", "p99", "delay", "p99 of delays", "cpu %", "µs a piece", "idle cpu %", "PSS MB", "RSS MB")
WHERE_ITS_MODULES_ARE = ("containers/images/gateway", "containers")
"""Of a checkout."""
BODY = {"model": "model-a", "messages": [{"role": "user", "content": "hello"}], "stream": True, "max_tokens": 4096}
ADDRESSES = 50
"""Of the pollers. Each project has an address of its own, as agents have, because an address, too, has a twentieth."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--pieces", type=int, default=50, help="of a stream in a second")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--pollers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="a checkout of another version")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of what is measured")
    options = parser.parse_args()
    with ExitStack() as stack:
        upstream, _ = stack.enter_context(running("upstream", options.pieces, options.seconds))
        bare = stack.enter_context(running("bare", upstream, python=options.python))
        relay = stack.enter_context(running("relay", upstream, python=options.python))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        images = {"gateway": str(unpack_image(folder / "image"))}
        if options.before:
            images["before"] = ":".join(str(options.before.resolve() / each) for each in WHERE_ITS_MODULES_ARE)
        ways: dict[str, tuple[str, str, int]] = {
            "direct": (f"http://127.0.0.1:{upstream}/v1", f"http://127.0.0.1:{upstream}", 0),
            "relay": (f"http://127.0.0.1:{relay[0]}/v1", f"http://127.0.0.1:{relay[0]}", relay[1]),
            "pass-through": (f"http://127.0.0.1:{bare[0]}/v1", f"http://127.0.0.1:{bare[0]}", bare[1]),
        }
        for name, image in images.items():
            port, pid = stack.enter_context(gateway(image, upstream, options))
            ways[name] = f"http://127.0.0.1:{port}/llm/v1", f"http://127.0.0.1:{port}/tg", pid
        found: dict[str, list[list[float]]] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, (provider, telegram, pid) in ways.items():
                found[name].append(uvloop.run(measure(provider, telegram, pid, options)))
    report(found, options)


def report(found: dict[str, list[list[float]]], options: argparse.Namespace) -> None:
    sys.stdout.write(f"{options.streams} streams of {options.pieces} pieces a second, {options.pollers} pollers, ms\n")
    print_row("way", *TITLES)
    for name, rounds in found.items():
        added = [[value - (found["direct"][at][column] if column < 4 and name != "direct" else 0)
                  for column, value in enumerate(values)] for at, values in enumerate(rounds)]  # fmt: skip
        print_row(name, *(f"{statistics.median(column):.2f}" for column in zip(*added, strict=True)))


async def measure(provider: str, telegram: str, pid: int, options: argparse.Namespace) -> list[float]:
    first: list[float] = []
    delays: list[float] = []
    async with AsyncExitStack() as stack:
        owners = [await stack.enter_async_context(client_at(f"127.1.0.{1 + each}")) for each in range(PROJECTS)]
        others = [await stack.enter_async_context(client_at(f"127.2.0.{1 + each}")) for each in range(ADDRESSES)]

        async def stream(number: int) -> None:
            await asyncio.sleep(number / options.streams)
            began = time.monotonic()
            owner = number % PROJECTS
            async with owners[owner].post(
                f"{provider}/chat/completions", json=BODY, headers={"Authorization": f"Bearer {KEY}{owner}"}
            ) as answer:
                if answer.status != 200:
                    raise SystemExit(await answer.text())
                is_first = True
                async for line in answer.content:
                    now = time.monotonic()
                    _, _, sent = line.partition(b'"at": ')
                    if sent:
                        if is_first:
                            is_first = False
                            first.append((now - began) * 1000)
                        delays.append((now - float(sent.rstrip(b"}\n"))) * 1000)

        began = processor_time(pid)
        used = await share(pid, lambda: asyncio.gather(*map(stream, range(options.streams))))
        each_took = 1e6 * (processor_time(pid) - began) / max(1, len(delays))
        polls = [
            asyncio.ensure_future(poll(others[number % ADDRESSES], telegram, number))
            for number in range(options.pollers)
        ]
        await asyncio.sleep(2 + options.pollers / 500)  # until all of them wait
        idle = await share(pid, lambda: asyncio.sleep(options.seconds))
        memory = [memory_of(pid, name) / 1024 for name in ("Pss:", "Rss:")]
        for each in polls:
            each.cancel()
        await asyncio.wait(polls)
    middles = [statistics.median(first), percentile(first, 0.99), statistics.median(delays), percentile(delays, 0.99)]
    return [*middles, used, each_took, idle, *memory]


def client_at(address: str) -> aiohttp.ClientSession:
    """Returns a client that connects from this address of the loopback interface."""
    connector = aiohttp.TCPConnector(limit=0, local_addr=(address, 0))
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None))


async def poll(client: aiohttp.ClientSession, telegram: str, number: int) -> None:
    await asyncio.sleep(number / 500)
    async with client.get(f"{telegram}/bot1:{TOKEN.format(number)}/getUpdates?timeout=50") as answer:
        await answer.read()


async def share(pid: int, act: Callable[[], Awaitable[object]]) -> float:
    """Percent of one core that the process took meanwhile."""
    before, began = processor_time(pid), time.monotonic()
    await act()
    return 100 * (processor_time(pid) - before) / (time.monotonic() - began)


def processor_time(pid: int) -> float:
    if not pid:
        return 0.0
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int, name: str) -> int:
    """Kilobytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if pid else []
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)


if __name__ == "__main__":
    main()
