"""Turns events into messages that wait to be sent, or adds them to a waiting message.

A flapping agent causes few messages: the same alert is sent once an hour. If the alerts alternate, a few are sent at
once; then one message waits for a while and also covers the events that follow.
"""

import logging
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet

from accounts import clock
from accounts.moments import recent
from containers.agent_contract import ProblemCode
from projects.models import AlertChannel, AlertDelivery, DeliveryState, Event
from projects.rules.alerts import (
    DEGRADED,
    FLAPS_WITHIN,
    MAILED_ALREADY,
    MOST_AT_ONCE,
    RECOVER,
    SAME_AGAIN_AFTER,
    SAME_TOOLS_AFTER,
    AlertKind,
    Way,
)
from projects.rules.event_sentences import describe_event
from projects.rules.service_alerts import Moment, Part

log = logging.getLogger(__name__)

MOST_WAITING = 100
"""The most messages that wait for one receiver. Further alerts are dropped: it has not answered for long."""

KEPT = 100
"""How many ended messages the log of a channel keeps."""


def place(event: Event, kind: AlertKind, *, name: str) -> None:
    """Creates the messages for an event. Call it in the transaction that advances the cursor.

    `name` is the project's name.
    """
    facts = {
        "project": name,
        "sentence": describe_event(event.action, event.outcome, event.detail),
        "code": event.outcome,
        "at": event.at.isoformat(),
    }
    chosen = AlertChannel.objects.filter(user_id=event.owner_id, user__is_active=True, **{kind.value: True})
    for channel in chosen:
        if _is_ready(channel, kind):
            _place_in(channel, event, kind, facts)


def place_of_service(part: Part, moment: Moment, *, sentence: str, name: str) -> None:
    """Creates the messages about the service. Call it in the transaction that records the trouble.

    `name` is the installation's name.
    """
    now = clock.now()
    facts = {"project": name, "sentence": sentence, "code": part.value, "moment": moment.value, "at": now.isoformat()}
    kind = AlertKind.SERVICE
    chosen = AlertChannel.objects.filter(user__is_active=True, user__is_staff=True, **{kind.value: True})
    for channel in chosen:
        rows = AlertDelivery.objects.filter(channel=channel)
        if _is_ready(channel, kind) and _has_room(channel, rows):
            AlertDelivery.objects.create(channel=channel, kind=kind, facts=facts, created_at=now, next_try_at=now)
            forget_old(rows)


def _has_room(channel: AlertChannel, rows: QuerySet[AlertDelivery]) -> bool:
    if rows.filter(state=DeliveryState.WAITING).count() < MOST_WAITING:
        return True
    log.warning("The alerts %s have not been accepted for a long time; one is dropped.", channel.pk)
    return False


def _is_ready(channel: AlertChannel, kind: AlertKind) -> bool:
    if channel.way == Way.MAIL:
        return settings.BERTH_SENDS_MAIL and kind not in MAILED_ALREADY
    return bool(channel.target)


def _place_in(channel: AlertChannel, event: Event, kind: AlertKind, facts: dict[str, Any]) -> None:
    rows = AlertDelivery.objects.filter(channel=channel)
    now = clock.now()
    at = now
    if rows.filter(event_id=event.pk).exists():
        return
    if kind is not AlertKind.BUDGET:
        of_project = rows.filter(project_id=event.project_id).exclude(kind=AlertKind.BUDGET)
        if _join(of_project, event, kind, facts) or _is_told(of_project, event, kind, facts):
            return
        lately = of_project.filter(recent("created_at", within=FLAPS_WITHIN, now=now))
        at = now + FLAPS_WITHIN if lately.count() >= MOST_AT_ONCE else now
    if not _has_room(channel, rows):
        return
    AlertDelivery.objects.create(
        channel=channel,
        event_id=event.pk,
        project_id=event.project_id,
        kind=kind,
        facts=facts,
        created_at=now,
        next_try_at=at,
    )
    forget_old(rows)


def _join(rows: QuerySet[AlertDelivery], event: Event, kind: AlertKind, facts: dict[str, Any]) -> bool:
    """Adds the event to the message that waits for the flapping to end. Returns False if there is none."""
    held = rows.filter(state=DeliveryState.WAITING, attempts=0, next_try_at__gt=clock.now())
    newest = held.order_by("-created_at").values_list("pk", flat=True).first()
    if newest is None:
        return False
    return bool(held.filter(pk=newest).update(event_id=event.pk, kind=kind, facts=facts, batched=F("batched") + 1))


def _is_told(rows: QuerySet[AlertDelivery], event: Event, kind: AlertKind, facts: dict[str, Any]) -> bool:
    """Returns whether the last message that was not refused said the same a short while ago."""
    of_tools = _is_of_tools(event)
    if of_tools and kind is AlertKind.DEGRADED:  # even if there were other messages since
        rows = rows.filter(kind=kind, facts__code=facts["code"])
    last = rows.exclude(state=DeliveryState.REFUSED).order_by("-created_at").first()
    if last is None or last.kind != kind or last.facts.get("code") != facts["code"]:
        return False
    within = SAME_TOOLS_AFTER if of_tools else SAME_AGAIN_AFTER
    return rows.filter(recent("created_at", within=within, now=clock.now()), pk=last.pk).exists()


def _is_of_tools(event: Event) -> bool:
    """Returns whether the event is the trouble of a tool server, or the end of such trouble."""
    if event.action == DEGRADED:
        return event.outcome == ProblemCode.TOOLS_REFUSED
    if event.action != RECOVER:
        return False
    troubles = Event.objects.filter(project_id=event.project_id, action__in=["crash", DEGRADED], pk__lt=event.pk)
    newest = troubles.order_by("-pk").values_list("action", "outcome").first()
    return newest == (DEGRADED, str(ProblemCode.TOOLS_REFUSED))


def forget_old(rows: QuerySet[AlertDelivery]) -> None:
    """Deletes surplus ended messages of a channel (`rows`). Call it with each new message: it deletes up to `KEPT`."""
    ended = rows.exclude(state=DeliveryState.WAITING).order_by("-created_at", "id")
    if surplus := list(ended.values_list("pk", flat=True)[KEPT : 2 * KEPT]):
        AlertDelivery.objects.filter(pk__in=surplus).delete()
