"""Runs in a separate process: creates the type `bot`, whose agents are stubs and whose credentials are checked."""

import sys

import django


def main(image: str) -> None:
    django.setup()
    add_bot_type(image)


def add_bot_type(image: str) -> None:
    from projects.models import AgentType

    AgentType.objects.create(
        slug="bot",
        title="Bot",
        image=image,
        needs_telegram_token=True,
        needs_api_key=True,
        settings_schema={"type": "object"},
        min_memory_mb=32,
        stop_timeout=2,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
