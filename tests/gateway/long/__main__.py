"""Proves the gateway as a process: budgets, midnights, kills, and hostile agents.

    python -m tests.gateway.long [--kills 50] [--handovers 20] [--rounds 20] [--seed 1]      takes about six minutes

The fuzz is a command of its own (`python -m tests.gateway.fuzz`), as is what ends engines
(`python -m pytest tests/gateway/long/engine_restarts.py`), and what
searches whole images (`…/canary.py`), and what kills a whole Berth (`python -m tests.gateway.long.whole`).
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable
from tests.fakes.streaming import StreamingProvider
from tests.fakes.telegram import FakeTelegram
from tests.gateway.agents import Agent
from tests.gateway.process import Gateway
from tests.gateway.unpacked import unpack_image

numbers = count(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--handovers", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    from gateway.periods import Period

    from tests.gateway.long import handover, hostile, scenes

    with opened() as (gateway, _, provider, agent):
        show("parallel streams", scenes.stream_in_parallel(gateway, provider, agent, rounds=options.rounds))
    for period, moment in ((Period.DAY, "2026-11-22 23:59:40"), (Period.MONTH, "2026-11-30 23:59:40")):
        with opened(moment) as (gateway, _, provider, agent):
            show(f"the end of a {period}", scenes.stream_over_an_end(gateway, provider, agent, period=period))
    with opened() as (gateway, telegram, provider, agent):
        found = scenes.kill_in_traffic(gateway, telegram, provider, agent, kills=options.kills, seed=options.seed)
        show("kills", found)
    with opened() as (gateway, telegram, provider, agent), tempfile.TemporaryDirectory() as folder:
        gateway.kill()
        gateway.env["GATEWAY_SUPERVISED"] = "1"
        other, image = new_agent(gateway.start(), telegram, provider), Path(gateway.env["PYTHONPATH"])
        options_of = {"rounds": options.handovers, "seed": options.seed}
        show("handovers", handover.hand_over(gateway, image, Path(folder), telegram, agent, other, **options_of))
    with opened() as (gateway, telegram, provider, agent):
        other = new_agent(gateway, telegram, provider)
        show("slower by", hostile.slow_others(other, agent, provider, rounds=2 * options.rounds))


@contextmanager
def opened(moment: str = "") -> Iterator[tuple[Gateway, FakeTelegram, StreamingProvider, Agent]]:
    """Starts a separate gateway, whose clock shows `moment` (UTC) at its start."""
    with tempfile.TemporaryDirectory() as folder, FakeTelegram() as telegram, StreamingProvider() as provider:
        gateway = Gateway(unpack_image(Path(folder) / "image"), Path(folder))
        if moment:
            (library,) = Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")
            gateway.env |= {
                "LD_PRELOAD": str(library),
                "FAKETIME": f"@{moment}",
                "TZ": "UTC",
                "DONT_FAKE_MONOTONIC": "1",
            }
        try:
            gateway.start()
            yield gateway, telegram, provider, new_agent(gateway, telegram, provider)
            failures = [line for line in gateway.lines if "failed" in line or "CANARY" in line]
            assert not failures, failures
        finally:
            gateway.kill()


def new_agent(gateway: Gateway, telegram: FakeTelegram, provider: StreamingProvider) -> Agent:
    agent = Agent(gateway, telegram, provider, number=next(numbers))
    gateway.apply(agent.entry(limits={"requests": 10**9}))
    return agent


def show(title: str, figures: dict[str, float]) -> None:
    sys.stdout.write(f"{title}\n" + "".join(f"    {name}: {value:.6g}\n" for name, value in figures.items()))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
