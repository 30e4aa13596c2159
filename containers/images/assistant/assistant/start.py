"""Starts the agent and turns its end into an exit code."""

from typing import NoReturn

from assistant.config import read_config
from berth_agent.redaction import redactor
from berth_agent.running import run
from berth_agent.status import Status


def main() -> NoReturn:
    run(_live)


def _live(status: Status) -> None:
    config = read_config()
    redactor.learn(config.token, config.key, config.pairing_secret, *config.given)
    import asyncio  # noqa: PLC0415 - slow to import, and a configuration error need not wait for it

    from assistant.run import live  # noqa: PLC0415 - the same

    # Not asyncio.run: it waits for the thread that may still be importing an SDK.
    asyncio.new_event_loop().run_until_complete(live(config, status))
