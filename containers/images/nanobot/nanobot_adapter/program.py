"""Starts nanobot after pointing it at the relay instead of Telegram."""

import os
from typing import Any

from nanobot_adapter.configuration import BOT_BASE, FILE_BASE


def point_at_relay(builder: Any) -> None:
    """Makes every bot built from now on use the relay. `builder` is python-telegram-bot's ApplicationBuilder."""
    take_token = builder.token

    def token(self: Any, value: str) -> Any:
        return take_token(self, value).base_url(os.environ[BOT_BASE]).base_file_url(os.environ[FILE_BASE])

    builder.token = token


def main() -> None:
    from nanobot.cli.entry import main as run  # noqa: PLC0415 - the adapter's tests run without nanobot installed
    from telegram.ext import ApplicationBuilder  # noqa: PLC0415 - the same

    point_at_relay(ApplicationBuilder)
    run()


if __name__ == "__main__":
    main()
