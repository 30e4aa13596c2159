"""What agents of each type cost while nobody speaks to them: image, start, memory and processor, many at once.

    python -m tests.benchmarks.agents [--types assistant nanobot hermes] [--count 30] [--idle 60]

In real containers, confined as Berth confines them, of the images that are on the engine. Starts are all asked for at
once, so that the processors are what they wait for; the first column of times is of one agent alone.
"""

import argparse
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

from tests.agents.confined import TYPES, YOU, Confined
from tests.benchmarks.harness import print_row
from tests.engines import address_of_host, connect
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.instances import note_instance
from tests.waiting import wait_until

KEY = "sk-benchmark-of-agents"
MIB = 1024 * 1024


def measure(client: Any, kind: str, *, count: int, idle: float) -> None:
    """Prints the row of one type."""
    host = address_of_host()
    with FakeTelegram(host=host) as telegram, FakeProvider(host=host) as provider:
        provider.add_key(KEY)
        instance = note_instance(f"t-{uuid4().hex[:8]}")
        agents = [_make(client, instance, kind, telegram, provider, number) for number in range(count + 1)]
        try:
            alone = _start(agents[0])
            with ThreadPoolExecutor(count) as threads:
                among = list(threads.map(_start, agents[1:]))
            time.sleep(10)  # what they do once, when they have started
            used, began = [_processor(agent) for agent in agents], time.monotonic()
            time.sleep(idle)
            spent = [now - before for before, now in zip(used, map(_processor, agents), strict=True)]
            share = statistics.median(spent) / (time.monotonic() - began)
            memory = sorted(_memory(agent) for agent in agents)
            size = client.inspect_image(f"berth/{kind}:latest")["Size"] / 1e6
            print_row(
                kind,
                f"{size:.0f} MB",
                f"{alone:.1f} s",
                f"{statistics.median(among):.1f} s",
                f"{max(among):.1f} s",
                f"{statistics.median(memory) / MIB:.0f} MiB",
                f"{memory[-1] / MIB:.0f} MiB",
                f"{share:.2%}",
            )
        finally:
            for agent in agents:
                agent.remove()


def _make(
    client: Any, instance: str, kind: str, telegram: FakeTelegram, provider: FakeProvider, number: int
) -> Confined:
    token = f"{710_000_000 + number}:benchmark-of-agents-benchmark-of-agents"
    telegram.add_bot(token)
    environment = {
        "TELEGRAM_API_BASE": telegram.url,
        "AGENT_API_BASE": provider.api_base,
        "AGENT_MODEL": "gpt-5.4-mini",
        "AGENT_ALLOWED_USERS": str(YOU),
    }
    agent = Confined(client, instance, kind, environment, {"telegram_bot_token": token, "agent_api_key": KEY})
    agent.make()
    return agent


def _start(agent: Confined) -> float:
    """Seconds until the agent reports that it is running. Each thread has its own connection."""
    agent.client = connect()
    began = time.monotonic()
    agent.client.start(agent.name)
    wait_until(
        lambda: any(report["state"] == "running" for report in agent.reports),
        within=600,
        what=lambda: f"{agent.name} does not run:\n{agent.output}",
        every=0.5,
    )
    return time.monotonic() - began


def _processor(agent: Confined) -> float:
    """Seconds of processor time since its start."""
    return (
        float(agent.client.stats(agent.name, stream=False, one_shot=True)["cpu_stats"]["cpu_usage"]["total_usage"])
        / 1e9
    )


def _memory(agent: Confined) -> int:
    """Bytes, without the file cache that the kernel may drop at any time, as `docker stats` counts them."""
    found = agent.client.stats(agent.name, stream=False, one_shot=True)["memory_stats"]
    return int(found["usage"] - found["stats"].get("inactive_file", found["stats"].get("total_inactive_file", 0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", nargs="*", default=list(TYPES))
    parser.add_argument("--count", type=int, default=30, help="at once, beside one alone")
    parser.add_argument("--idle", type=float, default=60, help="seconds for which the processor time is counted")
    options = parser.parse_args()
    client = connect()
    print_row("type", "image", "one starts", f"{options.count} start", "the last", "memory", "most", "idle")
    for kind in options.types:
        measure(client, kind, count=options.count, idle=options.idle)
    client.close()


if __name__ == "__main__":
    main()
