"""The shown rows of a list of projects."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2s
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Subquery

from projects.models import Event, Project
from projects.rules.bot import Bot
from projects.rules.event_sentences import describe_event
from projects.rules.status.statuses import Status
from projects.rules.status.traits import Condition
from projects.services.lists.selection import Known


class LastEvent(NamedTuple):
    at: datetime
    sentence: str
    actor: str


class Row(NamedTuple):
    """What a list shows of a project. `up_since` is None if it does not run."""

    id: str
    name: str
    status: Status
    reason: str
    bot: Bot | None
    plan: str
    up_since: datetime | None
    last: LastEvent | None

    @property
    def seen(self) -> str:
        """A digest that differs if the row looks different. It depends on no credential."""
        return make_digest(self)

    @property
    def level(self) -> str:
        return self.status.traits.reason_level


def make_digest(value: Any) -> str:
    return blake2s(repr(value).encode(), digest_size=6).hexdigest()


def show_rows(known: Sequence[Known[Project]]) -> list[Row]:
    events = _read_last_events([each.row.pk for each in known])
    return [_show_row(each, events.get(each.row.pk)) for each in known]


def _read_last_events(ids: Sequence[UUID]) -> dict[UUID, Event]:
    newest = Event.objects.filter(project_id=OuterRef("pk")).values("pk")[:1]
    last = Project.objects.order_by().filter(pk__in=ids).values(last=Subquery(newest))
    return {event.project_id: event for event in Event.objects.order_by().filter(pk__in=last)}


def _show_row(known: Known[Project], event: Event | None) -> Row:
    project, facts, status, _ = known
    reason = project.explain(facts)
    is_up = status.traits.condition == Condition.UP
    return Row(
        id=str(project.pk),
        name=project.name,
        status=status,
        reason=reason.message if reason else "",
        bot=project.bot,
        plan=project.plan_id,
        up_since=facts.started_at if is_up else None,
        last=_describe_event(event) if event else None,
    )


def _describe_event(event: Event) -> LastEvent:
    return LastEvent(event.at, describe_event(event.action, event.outcome, event.detail), event.actor_for_owner)
