"""The events on a project's page, each as a sentence."""

from typing import NamedTuple

from django.db.models import QuerySet

from projects.models import Event, Project
from projects.models.rows.page_versions import SHOWN_EVENTS
from projects.rules.event_sentences import describe_event


class ShownEvent(NamedTuple):
    event: Event
    sentence: str


class ShownEvents(NamedTuple):
    """The newest events, all or those of one action, and all existing actions."""

    newest: list[ShownEvent]
    actions: list[str]
    action: str


def read_events(project: Project, action: str) -> ShownEvents:
    rows = Event.objects.filter(project_id=project.pk)
    actions = sorted(rows.order_by().values_list("action", flat=True).distinct())
    action = action if action in actions else ""
    newest = of_action(rows, action)[:SHOWN_EVENTS]
    shown = [ShownEvent(event, describe_event(event.action, event.outcome, event.detail)) for event in newest]
    return ShownEvents(shown, actions, action)


def of_action(rows: "QuerySet[Event]", action: str) -> "QuerySet[Event]":
    """Returns the rows of this action, or all if it is empty."""
    return rows.filter(action=action) if action else rows
