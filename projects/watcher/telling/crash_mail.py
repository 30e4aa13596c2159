"""Tells an owner by email that an agent needs them: it crashed for good, or could not be made again.

It reads the events with a cursor of its own, so that no crash is forgotten when the process dies after recording one.
"""

import logging
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string

from accounts import clock
from accounts.errors import OutboxFullError
from accounts.models import OutgoingMail, User
from accounts.moments import not_recent
from accounts.services.outbox import Letter, queue_mail
from containers.vocabulary import ContainerState
from projects.models import Event, EventCursor, Project
from projects.models.event import SYSTEM
from projects.models.event_cursor import newest_event_id
from projects.rules.alerts import AlertKind
from projects.rules.status.lifecycle import Desired, Operation
from projects.rules.status.reasons import Reason
from projects.rules.status.remedies import Remedy
from projects.services.alerts.channels import wants_mail
from projects.services.credentials.bot_claims import VERIFY
from projects.services.limits.disk import EVENT, FULL
from projects.watcher.failures import concerns_all

log = logging.getLogger(__name__)

KIND = "agent"
AT_MOST_EVERY = timedelta(hours=1)
BATCH = 200
"""Events that a round reads at most."""

NEEDS_THE_OWNER = {(Remedy.GIVE_UP.value, "done"), (Remedy.DECLARE_FAILED.value, "done")} | {
    *((remedy.value, "failed") for remedy in Remedy),
    (VERIFY, "failed"),
    (EVENT, FULL),
}
"""Action and outcome of the watcher's events that make a mail."""


def open_cursor() -> EventCursor:
    return EventCursor.named(f"{settings.BERTH_INSTANCE} crash mail")


def queue_crash_mails(cursor: EventCursor) -> None:
    """Reads on from the cursor and leaves the owners' mails in the outbox. Without a mail server it passes over all.

    A mail and the step of the cursor are one transaction, so that a process that dies loses none and makes none twice.
    Where the outbox is full the events wait.
    """
    if not settings.BERTH_SENDS_MAIL:
        cursor.advance(newest_event_id())
        return
    for event in cursor.unread(limit=BATCH):
        try:
            notice = _find_notice(event) if _needs_the_owner(event) else None
            with transaction.atomic():
                if notice is not None:
                    _queue(*notice, event=event)
                cursor.advance(event.pk)
        except OutboxFullError as error:
            log.warning("The crash notice for project %s waits: %s", event.project_id, error)
            return
        except Exception as error:
            if concerns_all(error):
                raise
            # Others get theirs.
            log.exception("The crash notice for project %s broke; it is passed over.", event.project_id)
            cursor.advance(event.pk)


def render_crash_mail(mail: OutgoingMail, _user: User) -> Letter | None:
    """The log is read now: what an agent printed lies in no second place. Of a deleted project there is no mail."""
    project = Project.objects.filter(pk=UUID(mail.facts["project"]), owner_id=mail.user_id).first()
    if project is None:
        return None
    facts = {
        "project": project,
        "reason": mail.facts["reason"],
        "at": mail.facts["at"],
        "link": f"{settings.BERTH_PUBLIC_URL}/projects/{project.pk}",
    }
    return Letter(subject=f"{project.name} needs you", text=render_to_string("projects/crash_mail.txt", facts))


def _needs_the_owner(event: Event) -> bool:
    return event.source == SYSTEM.source and (event.action, event.outcome) in NEEDS_THE_OWNER


def _find_notice(event: Event) -> tuple[Project, Reason] | None:
    """The project and why it needs its owner; None where it is gone or well again.

    The row tells, which was written with the event. An engine that is busy could only say that it does not answer.
    """
    rows = Project.objects.filter(pk=event.project_id, instance=settings.BERTH_INSTANCE)
    project = rows.select_related("owner", "plan", "agent_type").first()
    if project is None:
        return None
    _pass_over_our_stop(project)
    facts = project.facts()
    reason = project.explain(facts._replace(checked_at=facts.now))
    return None if reason is None else (project, reason)


def _pass_over_our_stop(project: Project) -> None:
    """An agent that is given up may still be on its way down: what ended by itself is told, and not that."""
    is_given_up = project.gave_up_at is not None and project.desired == Desired.RUNNING
    if not (is_given_up and project.operation == Operation.STOP):
        return
    project.operation, project.container_state = Operation.NONE, ContainerState.EXITED
    if project.ended_at is not None:
        for field, value in project.last_end().items():
            setattr(project, field, value)


def _queue(project: Project, reason: Reason, *, event: Event) -> None:
    """At most one mail for each project and hour, to an owner who wants it. Raises `OutboxFullError`."""
    if not wants_mail(project.owner_id, AlertKind.CRASH):
        return
    now = clock.now()
    due = Project.objects.filter(not_recent("noticed_at", within=AT_MOST_EVERY, now=now), pk=project.pk)
    if due.update(noticed_at=now):
        at = f"{event.at:%Y-%m-%d %H:%M}"
        facts = {"project": str(project.pk), "reason": reason.message, "at": at}
        queue_mail(kind=KIND, user_id=project.owner_id, facts=facts)
