"""What was spent, as the gateway is told it, because the gateway may have lost its own counts and the database not."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Q, Sum

from accounts import clock
from containers.gateway.entries import Spent
from projects.models import HourlyUsage, Project
from projects.rules.budget import LIMITS
from projects.rules.periods import Period, begin_of

_NAMES = {Period.DAY: "%Y-%m-%d", Period.MONTH: "%Y-%m"}
MOST = 2**53 - 1


def read_spent(projects: Iterable[Project], *, read_from: str = "") -> dict[UUID, tuple[Spent, ...]]:
    """Returns what projects with a budget have spent in the present day and month, by store, with one query.

    `read_from` is the store that the service reads now. If it is given, it occurs in each answer, which tells a gateway
    that has lost counts that nothing of its former stores is missing.
    """
    all_limited = [each for each in projects if _is_limited(each)]
    limited, now = [each.pk for each in all_limited if not each.is_known_to_be_new], clock.now()
    nothing = Spent(store=read_from, period=begin_of(Period.DAY, now).strftime(_NAMES[Period.DAY]), tokens=0, money=0)
    found: dict[UUID, list[Spent]] = {each.pk: [nothing] for each in all_limited if read_from}
    if not limited:
        return {pk: tuple(each) for pk, each in found.items()}
    for row in _add_up(limited, now):
        for period in Period:
            tokens, money = row[f"{period}_tokens"], row[f"{period}_money"]
            if tokens or money:
                name = begin_of(period, now).strftime(_NAMES[period])
                spent = Spent(store=row["store"], period=name, tokens=min(tokens, MOST), money=min(money, MOST))
                found.setdefault(row["project_id"], []).append(spent)
    return {pk: tuple(each) for pk, each in found.items()}


def _is_limited(project: Project) -> bool:
    budget = project.budget
    return any(getattr(budget, name) is not None for name in LIMITS)


def _add_up(ids: list[UUID], now: datetime) -> Any:
    sums: dict[str, Sum] = {}
    for period in Period:
        there = Q(hour__gte=begin_of(period, now))
        sums[f"{period}_tokens"] = Sum(F("input") + F("output"), default=0, filter=there)
        sums[f"{period}_money"] = Sum("money", default=0, filter=there)
    rows = HourlyUsage.objects.filter(hour__gte=begin_of(Period.MONTH, now), project_id__in=ids).order_by()
    return rows.values("project_id", "store").annotate(**sums)
