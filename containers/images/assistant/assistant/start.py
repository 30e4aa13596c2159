"""Starts the agent and turns its end into an exit code."""

from typing import NoReturn

from assistant.config import read_config
from berth_agent.redaction import redactor
from berth_agent.running import run
from berth_agent.status import Status


def main() -> NoReturn:
    run(_start)


def _start(status: Status) -> None:
    config = read_config()
    redactor.learn(config.token, config.key, config.pairing_secret, *config.gateway_addresses)
    import asyncio  # noqa: PLC0415 - slow to import, so a configuration error is reported before

    from assistant.run import run_agent  # noqa: PLC0415 - the same

    # Not asyncio.run: it waits for the thread that may still be importing an SDK.
    asyncio.new_event_loop().run_until_complete(run_agent(config, status))
