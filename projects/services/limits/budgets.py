"""Records whether a project has reached its budget, shows that in its status, and mails the owner."""

from collections.abc import Mapping
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from accounts import clock
from accounts.errors import OutboxFullError
from accounts.moments import future, is_future, over
from accounts.services.outbox import queue_mail
from projects.errors import InvalidFieldError
from projects.models import Actor, Plan, Project, Spending
from projects.models.columns.gateway import HAS_VIRTUAL, NEXT_VERSION
from projects.models.event import SYSTEM
from projects.models.figures.usage import add_up
from projects.rules.alerts import AlertKind
from projects.rules.budget import LIMITS, REACHED, WARN_AT, Budget, Spent, find_excess, find_reset, percent_spent
from projects.rules.periods import Period, begin_of, end_of
from projects.rules.status.lifecycle import LONGEST_PERIOD
from projects.services.alerts.channels import wants_mail
from projects.services.gateway.synchronization import notify_gateway

EVENT = "budget"
MAIL = "budget"
"""The action of the events and the kind of the mails."""

_OF_NOTHING = reduce(or_, (Q(**{f"{of}{name}": 0}) for of in ("own_", "granted_", "plan__") for name in LIMITS))
"""The projects that may have a budget of 0."""

OUTCOMES = {WARN_AT: "warning", REACHED: "reached"}


def check_budget(own: Mapping[str, Any], *, ceiling: Budget) -> None:
    """Raises `InvalidFieldError` if the owner asks for more than the plan or a grant by staff allows."""
    if name := find_excess(own, ceiling):
        raise InvalidFieldError(
            f"The most that you may set here is {getattr(ceiling, name)}. Set less, or ask the staff for more.",
            field=f"budget.{name}",
            code="max_value",
        )


def settle_budget(project: Project, *, spending: Spending | None = None, refused_in: Period | None = None) -> None:
    """Records until when the budget is spent, or that it is not. `project` must have been read after the last change.

    `refused_in` is the period whose budget had no room for a call that the gateway refused.
    """
    _settle(project, spending or _read_spending(project), clock.now(), refused_in=refused_in)


@transaction.atomic
def note_spending(project: Project, sums: Mapping[Period, Spent]) -> None:
    """Stores what the project has used in the present periods, and notifies the owner once of each mark it passes."""
    now = clock.now()
    spending = _write_sums(project, sums, now)
    for period in Period:
        percent = _percent(project, spending, period, now)
        mark = next((mark for mark in (REACHED, WARN_AT) if percent >= mark), 0)
        if getattr(spending, f"{period}_told") < mark:
            _tell_owner(project, period, mark, now)
    settle_budget(project, spending=spending, refused_in=_still_refused(project, now))


@transaction.atomic
def note_refusal(project: Project, at: datetime, *, of: str | None = None) -> None:
    """Records that the gateway refused a call because of the budget. Ignores refusals that are already known.

    `of` is the period of that budget. An older gateway does not report it; then it is the period of which more is
    spent, or the day if both are alike.
    """
    now = clock.now()
    is_new = Q(budget_refused_at=None) | Q(budget_refused_at__lt=at) | future("budget_refused_at", now=now)
    if not Project.objects.filter(is_new, pk=project.pk).update(budget_refused_at=at):
        return
    spending = _write_sums(project, add_up([project.pk], now).get(project.pk, {}), now)
    shares = {period: _percent(project, spending, period, now) for period in Period}
    likely = max(shares, key=lambda period: (shares[period], _is_limited(project, period), period is Period.DAY))
    period = next((each for each in Period if each == of), likely)
    if at >= begin_of(period, now):  # not in a period that is over
        _tell_owner(project, period, REACHED, now)
        settle_budget(project, spending=spending, refused_in=period)


def note_room(project: Project, at: datetime) -> None:
    """Records that the budget had room for a call, so that earlier refusals no longer count."""
    refused_at = project.budget_refused_at
    if project.budget_until is None or refused_at is None:
        return
    if refused_at <= at or is_future(refused_at, now=clock.now()):
        settle_budget(project)


def clear_past_budgets() -> None:
    """Clears `budget_until` of budgets that have been reset, so that responses with their projects can be cached.

    A budget of 0 is spent in the next period too.
    """
    now = clock.now()
    past = Project.objects.filter(over("budget_until", at_most=LONGEST_PERIOD, now=now))
    if past.exists():
        _settle_all(past.filter(_OF_NOTHING), now)
        past.update(budget_until=None, updated_at=now)


def grant_budget(*, project: Project, granted: Budget, actor: Actor) -> None:
    """Sets the budget that staff grant one project instead of the plan's. It is in force at once."""
    values = {f"granted_{name}": getattr(granted, name) for name in LIMITS}
    with transaction.atomic():
        Project.objects.filter(pk=project.pk).update(**values, **NEXT_VERSION, updated_at=clock.now())
        project.event(actor, EVENT, "granted").save()
    project.refresh_from_db()
    settle_budget(project)
    notify_gateway(project)


def renew_budgets_of_plan(plan: Plan) -> None:
    """Puts a plan's changed budget in force for its projects. The watcher sends their entries to the gateway."""
    Project.objects.filter(HAS_VIRTUAL, plan=plan).update(**NEXT_VERSION)
    _settle_all(Project.objects.filter(plan=plan), clock.now())


def renew_all_entries() -> None:
    """Marks all entries as changed after a price changed."""
    Project.objects.filter(HAS_VIRTUAL).update(**NEXT_VERSION)


def renew_entries_of_provider(name: str) -> None:
    """Marks the entries of a provider's projects as changed after staff changed the provider."""
    Project.objects.filter(HAS_VIRTUAL, provider=name).update(**NEXT_VERSION)


def _settle_all(projects: QuerySet[Project], now: datetime) -> None:
    for project in projects.order_by().select_related("plan", "spending").defer("settings", "log_tail"):
        _settle(project, project.known_spending, now)


def _settle(project: Project, spending: Spending | None, now: datetime, *, refused_in: Period | None = None) -> None:
    spent = {period: spending.spent(period, now) for period in Period} if spending else {}
    ends = (find_reset(project.budget, spent, now), end_of(refused_in, now) if refused_in else None)
    until = max(filter(None, ends), default=None)
    if until != project.budget_until:
        Project.objects.filter(pk=project.pk).update(budget_until=until, updated_at=now)
        project.budget_until = until


def _write_sums(project: Project, sums: Mapping[Period, Spent], now: datetime) -> Spending:
    """Writes the sums. In a new period, forgets which marks the owner was notified of."""
    spending = _read_spending(project) or Spending(project=project)
    for period in Period:
        begin = begin_of(period, now).date()
        if getattr(spending, period) != begin:
            setattr(spending, period, begin)
            setattr(spending, f"{period}_told", 0)
        spent = sums.get(period, Spent())
        for name in Spent.__slots__:
            setattr(spending, f"{period}_{name}", getattr(spent, name))
    with transaction.atomic():
        spending.save()
    return spending


def _read_spending(project: Project) -> Spending | None:
    return Spending.objects.filter(pk=project.pk).first()


def _percent(project: Project, spending: Spending | None, period: Period, now: datetime) -> int:
    return percent_spent(project.budget, period, spending.spent(period, now) if spending else Spent())


def _is_limited(project: Project, period: Period) -> bool:
    return project.budget.tokens(period) is not None or project.budget.money(period) is not None


def _still_refused(project: Project, now: datetime) -> Period | None:
    """Returns the period of a refusal that still counts: until a call has room or the budget changes or is reset."""
    if project.budget_until is None or project.budget_until <= now:
        return None
    return next((period for period in Period if end_of(period, now) == project.budget_until), None)


def _tell_owner(project: Project, period: Period, mark: int, now: datetime) -> None:
    """Notifies the owner once; the row remembers the mark. If the outbox is full, the next usage tries again."""
    behind = Spending.objects.filter(**{"pk": project.pk, f"{period}_told__lt": mark})
    try:
        with transaction.atomic():
            if not behind.update(**{f"{period}_told": mark}):
                return
            project.event(SYSTEM, EVENT, OUTCOMES[mark], detail=f"of the {period}").save()
            if settings.BERTH_SENDS_MAIL and wants_mail(project.owner_id, AlertKind.BUDGET):
                until = end_of(period, now).isoformat()
                facts = {"project": str(project.pk), "period": period.value, "mark": str(mark), "until": until}
                queue_mail(kind=MAIL, user_id=project.owner_id, facts=facts)
    except OutboxFullError:
        return
