"""Runs in a separate process: creates missing tables, Alice, her key and the type of the stub. Prints the key."""

import sys
from typing import Any

import django


def main(image: str) -> None:
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from projects.models import AgentType, Plan
    from tests.clients import make_person
    from tests.factories import ApiKeyFactory, plain_key

    if not connection.introspection.table_names():
        call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
    alice = make_person("alice")
    add_offers(AgentType, Plan, image)
    sys.stdout.write(plain_key(ApiKeyFactory.create(user=alice)))


def add_offers(types: Any, plans: Any, image: str) -> None:
    """Adds the type `stub` and the plan `chaos`: small, and for as many projects as a test may want."""
    types.objects.create(
        slug="stub",
        title="Stub",
        image=image,
        needs_telegram_token=False,
        needs_api_key=False,
        settings_schema={"type": "object"},
        min_memory_mb=32,
        stop_timeout=2,
    )
    plans.objects.create(slug="chaos", memory_mb=32, cpus="0.5", pids=32, max_projects=1000, open_to_all=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
