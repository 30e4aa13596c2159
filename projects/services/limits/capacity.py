"""Reserves memory for agents: in total, the memory of the engine's host times `BERTH_OVERCOMMIT`.

A project that should run holds the memory with which it was started, also while it crashes or is suspended. A stopped
one holds none. If staff change a plan's memory, each start reserves the new amount; a container never gets memory that
was not reserved. If the engine does not report its host's memory, nothing is refused.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from accounts import clock
from accounts.database.compiled_query import CompiledQuery
from accounts.moments import lasts
from containers.engine.images import HostFacts
from containers.errors import EngineError
from containers.get_engine import get_engine
from projects.errors import NoCapacityError
from projects.models import EngineHost, Plan, Project
from projects.models.processes.engine_host import lock_host, read_host
from projects.rules.sizes import MIB

ASK_EVERY = timedelta(hours=1)
ASK_AGAIN_AFTER_SILENCE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Memory in MB. `host` and `limit` are None if the engine has not reported its host's memory."""

    host: int | None
    limit: int | None
    promised: int

    @property
    def left(self) -> int | None:
        """The memory that may still be promised, or None if it is unknown."""
        return None if self.limit is None else max(0, self.limit - self.promised)


def learn_host_memory(*, at_once: bool = False) -> EngineHost:
    """Asks the engine about its host if the last answer is old, or `at_once`, and returns what is known.

    Keeps the former facts and raises no error if the engine does not answer. Call it before a transaction, never inside
    one.
    """
    now = clock.now()
    host = read_host()
    if host is not None and not at_once and lasts(host.ask_again_at, at_most=ASK_EVERY, now=now):
        return host
    try:
        with get_engine().read_deadline():
            facts = get_engine().describe_host()
    except EngineError:
        facts = HostFacts()
    columns = {"memory": facts.memory, "cpus": facts.cpus, "engine_version": facts.version}
    known = {name: value for name, value in columns.items() if value}
    again = now + (ASK_EVERY if facts.memory else ASK_AGAIN_AFTER_SILENCE)
    values: dict[str, Any] = {**known, "ask_again_at": again}
    if facts.memory:
        values["lacks"] = " ".join(facts.lacks)
    if facts.memory or facts.nodes:
        values["nodes"] = dict(facts.nodes)
    return EngineHost.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults=values)[0]


def measure_capacity() -> Capacity:
    """Returns the present capacity without asking the engine."""
    host = read_host()
    return Capacity(
        host=host.memory // MIB if host and host.memory else None,
        limit=_limit(host),
        promised=_promised(Project.objects.holding_memory()),
    )


def check_capacity(*, project_id: UUID, plan: Plan, host: EngineHost) -> None:
    """Raises `NoCapacityError` if the host has no room for the project on this plan next to all others.

    The project keeps what it already holds, even if the host has become too small since.
    """
    _check(project_id, plan, host)


def reserve_memory(*, project_id: UUID, plan: Plan) -> dict[str, Any]:
    """Checks like `check_capacity`, and locks out other reservations until the transaction ends.

    Returns the columns to write before that.
    """
    _check(project_id, plan, lock_host())
    return {"memory_mb": plan.memory_mb}


def reserve_for_change(*, project_id: UUID, plan: Plan) -> dict[str, Any]:
    """Reserves memory for another plan. A running agent keeps what it holds until its next start.

    A stopped agent holds none, so nothing is checked.
    """
    host = lock_host()
    held = _promised(Project.objects.holding_memory().filter(pk=project_id))
    if held:
        _check(project_id, plan, host)
    return {"memory_mb": max(held, plan.memory_mb)}


def _check(project_id: UUID, plan: Plan, host: EngineHost | None) -> None:
    limit = _limit(host)
    if limit is None:
        return
    own, others = next(iter(_held_beside(settings.BERTH_INSTANCE).rows(project_id)), (0, 0))
    if plan.memory_mb > own and others + plan.memory_mb > limit:
        raise NoCapacityError(
            f"The host has no {plan.memory_mb} MB of memory left for an agent on the {plan.slug} plan. "
            "Stop another agent, choose a smaller plan, or ask the staff for more room."
        )


@lru_cache
def _held_beside(instance: str) -> CompiledQuery:
    """Compiles the query for what a project and all others of this instance hold. Every deploy runs it twice."""

    def write(project_id: UUID) -> "QuerySet[Project, Any]":
        memory, own = Coalesce("memory_mb", "plan__memory_mb"), Q(pk=project_id)
        held = Project.objects.holding_memory().filter(instance=instance).order_by().values("instance")
        return held.annotate(
            own=Sum(memory, filter=own, default=0), others=Sum(memory, filter=~own, default=0)
        ).values_list("own", "others")

    return CompiledQuery(write, uuid4())


def _limit(host: EngineHost | None) -> int | None:
    return int(host.memory * settings.BERTH_OVERCOMMIT) // MIB if host and host.memory else None


def _promised(rows: QuerySet[Project]) -> int:
    found: int | None = rows.aggregate(sum=Sum(Coalesce("memory_mb", "plan__memory_mb")))["sum"]
    return found or 0
