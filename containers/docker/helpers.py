"""Finds and removes short-lived helper containers, which are no agents."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.identity import is_our_helper


def find_helpers(connection: Connection, kind: str, *, volume: str = "") -> list[tuple[str, datetime]]:
    """Returns the id and the creation time of each helper that this installation may remove. `kind` is their label.

    Two installations may have the same name, so a name alone says nothing. `volume` selects helpers that use it.
    """
    filters = {"label": [f"{kind}={settings.BERTH_INSTANCE}"], **({"volume": [volume]} if volume else {})}
    with connection.call() as client, understand_answer():
        return [
            (str(row["Id"]), datetime.fromtimestamp(row["Created"], UTC))
            for row in client.containers(all=True, filters=filters)
            if is_our_helper(row["Labels"] or {}, kind)
        ]


def find_left_behind(connection: Connection, kind: str, *, after: timedelta) -> Iterator[str]:
    """Yields helpers whose process was killed before it could remove them, or that hung longer than anyone waited."""
    for helper, created in find_helpers(connection, kind):
        # The engine's clock may differ from ours, in either direction.
        if abs(datetime.now(UTC) - created) > after:
            yield helper


def remove_helper(connection: Connection, helper: str) -> None:
    """Removes the helper, even while it runs. Does nothing if it is gone or being removed."""
    with suppress(MissingError, ConflictError), connection.call(about_one=True) as client:
        client.remove_container(helper, force=True, v=True)
