"""What the gateway costs, against a direct connection and a bare pass-through. All in one run, in turn.

    python -m tests.benchmarks.gateway [--streams 100] [--pieces 50] [--seconds 10] [--pollers 1000] [--rounds 3]
        [--before CHECKOUT] [--python PATH]

Each stream is of so many pieces a second. `first byte` is the time to the first piece of an answer, `delay` the time of
each piece since it was sent; what is shown is added to the direct connection's. Processor time is that of the process
in between, in percent of one core, and of each piece in microseconds. The pollers wait for messages that do not come.
Medians of the rounds. `--before` is a worktree of another version, whose gateway is measured in the same rounds.
`--python` runs the pass-through and the gateway with another interpreter that has the image's requirements.
"""

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID

import aiohttp
import uvloop

from tests.benchmarks.harness import percentile, print_row
from tests.gateway.process import Gateway, digest
from tests.gateway.unpacked import unpack_image
from tests.ports import reserve_port
from tests.waiting import wait_until

TITLES = ("first byte", "p99", "delay", "p99 of delays", "cpu %", "µs a piece", "idle cpu %", "PSS MB", "RSS MB")
WHERE_ITS_MODULES_ARE = ("containers/images/gateway", "containers")
"""Of a checkout."""
BODY = {"model": "model-a", "messages": [{"role": "user", "content": "hello"}], "stream": True, "max_tokens": 4096}
KEY, TOKEN = "bvk_benchmark", "benchmark{:06}"

PROJECTS = 4
"""That share the streams: one alone has 32 at a time, and a twentieth of the processor for its answers."""


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
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        images = {"gateway": str(unpack_image(folder / "image"))}
        if options.before:
            images["before"] = ":".join(str(options.before.resolve() / each) for each in WHERE_ITS_MODULES_ARE)
        ways: dict[str, tuple[str, str, int]] = {
            "direct": (f"http://127.0.0.1:{upstream}/v1", f"http://127.0.0.1:{upstream}", 0),
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
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as client:

        async def stream(number: int) -> None:
            await asyncio.sleep(number / options.streams)
            began = time.monotonic()
            async with client.post(
                f"{provider}/chat/completions", json=BODY, headers={"Authorization": f"Bearer {KEY}{number % PROJECTS}"}
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
        polls = [asyncio.ensure_future(poll(client, telegram, number)) for number in range(options.pollers)]
        await asyncio.sleep(2 + options.pollers / 500)  # until all of them wait
        idle = await share(pid, lambda: asyncio.sleep(options.seconds))
        memory = [memory_of(pid, name) / 1024 for name in ("Pss:", "Rss:")]
        for each in polls:
            each.cancel()
        await asyncio.wait(polls)
    middles = [statistics.median(first), percentile(first, 0.99), statistics.median(delays), percentile(delays, 0.99)]
    return [*middles, used, each_took, idle, *memory]


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


def can_connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


@contextmanager
def running(what: str, *rest: object, python: str = sys.executable) -> Iterator[tuple[int, int]]:
    """Yields the port and the process."""
    port = reserve_port()
    words = [python, "-m", "tests.benchmarks.gateway_ends", what, str(port), *map(str, rest)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)  # it complains of polls that are given up
    try:
        wait_until(lambda: can_connect(port))
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def gateway(image: str, upstream: int, options: argparse.Namespace) -> Iterator[tuple[int, int]]:
    """With a budget, so that every call is reserved on the disk."""
    base = f"http://127.0.0.1:{upstream}"
    with tempfile.TemporaryDirectory() as folder:
        ours = Gateway(Path(image), Path(folder))
        ours.env["GATEWAY_CONNECTIONS"] = "1000000"
        ours.python = options.python
        ours.start()
        try:
            provider = {"key": "sk-real", "kind": "openai", "base": f"{base}/v1"}
            limits = {"parallel": 10**6, "requests": 10**6}
            ours.apply(*[
                {"project": f"streams-{number}", "limits": limits, "budget": {"day_tokens": 2**50},
                 "provider": provider | {"virtual": digest(f"{KEY}{number}")}}
                for number in range(PROJECTS)
            ])  # fmt: skip
            ours.apply(*[
                {"project": str(UUID(int=number)),
                 "telegram": {"virtual": digest(TOKEN.format(number)), "token": f"{number + 1}:real", "base": base}}
                for number in range(options.pollers)
            ])  # fmt: skip
            yield ours.port, ours.pid
        finally:
            ours.kill()


if __name__ == "__main__":
    main()
