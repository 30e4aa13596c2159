"""Notifies operators about the service itself, by the channels that they have chosen for their alerts."""

from dataclasses import asdict
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts import clock
from projects.models import ServiceTrouble
from projects.rules.service_alerts import Known, Moment, Part, look
from projects.services.alerts.queueing import place_of_service
from projects.services.alerts.service_health import find_troubles

_COLUMNS = ("is_wrong", "since", "is_told", "flaps", "told_at")


def note_service() -> None:
    """Checks each part and creates the messages that follow. Several processes may do so at the same moment.

    Raises `DatabaseError`.
    """
    wrong = find_troubles()
    rows = {row.part: row for row in ServiceTrouble.objects.filter(instance=settings.BERTH_INSTANCE)}
    for part in Part:
        if part in rows:
            _note(rows[part], wrong.get(part, ""))
        elif part in wrong:
            _begin(part)


def _begin(part: Part) -> None:
    try:
        with transaction.atomic():
            ServiceTrouble.objects.create(instance=settings.BERTH_INSTANCE, part=part, since=clock.now())
    except IntegrityError:
        return  # another process did it


def _note(row: ServiceTrouble, sentence: str) -> None:
    """Updates the row and creates the message in one transaction. Only one process finds the row unchanged."""
    known = Known(**{name: getattr(row, name) for name in _COLUMNS})
    after, moment = look(known, is_wrong=bool(sentence), now=clock.now())
    if after == known:
        return
    with transaction.atomic():
        as_it_was = ServiceTrouble.objects.filter(pk=row.pk, **asdict(known))
        if as_it_was.update(**asdict(after)) and moment is not None:
            part = Part(row.part)
            text = sentence if moment is Moment.BEGUN else f"{part.label}."
            host = urlsplit(settings.BERTH_PUBLIC_URL).hostname
            place_of_service(part, moment, sentence=text.rstrip("."), name=f"Berth at {host}")
