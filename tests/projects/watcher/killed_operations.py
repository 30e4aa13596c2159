"""Every operation of a project, and a process that is killed at each of its steps."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from django.db import connection, transaction
from rest_framework.test import APIClient

from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Project
from projects.watcher.reconcile.full import reconcile
from tests.canaries import CANARY_TELEGRAM_TOKEN
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.other_databases import grow_old

ROUNDS = 2
MOST = 80
"""More effects than any operation has."""


STEPS = (
    *("image_exists", "describe_host", "highest_user", "has_user", "inspect", "observe", "deploy", "deploy.create"),
    *("deploy.confirm", "deploy.start", "stop", "remove", "logs", "list_volumes", "read_secrets", "quarantine"),
)


OF_GATEWAY = ("agents_network", "ensure_gateway", "gateway")
WRITES = ("INSERT", "UPDATE", "DELETE")


class KilledError(BaseException):
    """The process is gone. Nothing in it catches this."""


@contextmanager
def killed_at(number: int, engine: MemoryEngine, steps: Sequence[str] = STEPS) -> Iterator[list[str]]:
    """The effect with this number no longer happens. The list has the effects up to then."""
    effects: list[str] = []

    def count(effect: str) -> None:
        effects.append(effect)
        if len(effects) == number:
            raise KilledError

    def execute(run: Callable[..., Any], sql: str | bytes, *arguments: Any) -> Any:
        text = sql if isinstance(sql, str) else sql.decode()  # compiled reads on PostgreSQL
        if text.startswith(WRITES):
            count(text.split(maxsplit=1)[0])
        return run(sql, *arguments)

    for step in steps:
        engine.slow(step, lambda step=step: count(step))
    try:
        with connection.execute_wrapper(execute), suppress(KilledError):
            yield effects
    finally:
        transaction.set_rollback(False)  # what was killed in a transaction is undone already; the test's own continues
        for step in steps:
            engine.slow(step, None)


def new_body() -> dict[str, Any]:
    token = CANARY_TELEGRAM_TOKEN.replace(CANARY_TELEGRAM_TOKEN.partition(":")[0], "811111111")
    return PROJECT | {"telegramToken": token}


def create(api: APIClient, engine: MemoryEngine) -> None:
    api.post("/api/projects", new_body(), headers={"Idempotency-Key": "one"})


def create_refused(api: APIClient, engine: MemoryEngine) -> None:
    engine.fail_start_after_create(EngineRefusedError("It cannot be started."))
    create(api, engine)


def create_silent(api: APIClient, engine: MemoryEngine) -> None:
    engine.fail("deploy.start", EngineUnavailableError)
    create(api, engine)


def create_broken(api: APIClient, engine: MemoryEngine) -> None:
    """An unforeseen error, for which no outcome is recorded."""
    engine.fail("deploy.start", RuntimeError("Nobody foresaw it."))
    with suppress(RuntimeError):
        create(api, engine)


def delete(api: APIClient, engine: MemoryEngine) -> None:
    api.delete(f"/api/projects/{mine().pk}")


def delete_silent(api: APIClient, engine: MemoryEngine) -> None:
    engine.fail("remove", EngineUnavailableError)
    delete(api, engine)


def command(action: str) -> Callable[[APIClient, MemoryEngine], object]:
    return lambda api, engine: api.post(f"/api/projects/{mine().pk}/control", {"action": action})


def restart_silent(api: APIClient, engine: MemoryEngine) -> None:
    engine.fail("deploy.start", EngineUnavailableError)
    command("restart")(api, engine)


def mend(api: APIClient, engine: MemoryEngine) -> None:
    """The watcher itself, with an agent to be recreated and one to be deleted."""
    engine.vanish(mine().container_name)
    reconcile()
    Project.objects.filter(pk=mine().pk).update(desired="deleted")
    reconcile()


def put_away(api: APIClient, engine: MemoryEngine) -> None:
    """The watcher, with an agent that a mistake has left without a row."""
    Project.objects.filter(pk=mine().pk).delete()
    grow_old(engine)
    reconcile()


OPERATIONS: dict[str, Callable[[APIClient, MemoryEngine], object]] = {
    "create": create,
    "create, refused by the engine": create_refused,
    "create, with a silent engine": create_silent,
    "create, with an unforeseen error": create_broken,
    "delete": delete,
    "delete, with a silent engine": delete_silent,
    "restart": command("restart"),
    "restart, with a silent engine": restart_silent,
    "stop": command("stop"),
    "mend": mend,
    "put away": put_away,
}


def mine() -> Project:
    return Project.objects.get(owner__email="alice@example.com")
