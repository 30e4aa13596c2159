"""Numbers about the service as a whole, from the database alone. No number is about a single person."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from math import inf

from django.conf import settings
from django.db.models import Count

from accounts import clock, moments
from projects.models import AgentType, Event, EventCursor, ServiceTrouble, Tally
from projects.models.figures.tally import CALLS, Labels, Subject
from projects.models.processes.engine_host import read_host
from projects.models.processes.watcher import is_beating, read_heartbeat
from projects.rules.service_alerts import Part
from projects.rules.settings.berth_settings import PROVIDERS
from projects.rules.status.lifecycle import Action
from projects.rules.status.reasons import REPORTED_CODES
from projects.rules.status.remedies import Remedy
from projects.rules.status.statuses import Status
from projects.services.staff.status_counts import count_projects

CURSOR = "tallies"
"""The name of the event cursor with which the watcher counts."""

OTHER = "other"

OPERATIONS = frozenset(
    {"deploy", "delete", "update", "suspend", "lift suspension", "clear memory", *map(str, Action), *map(str, Remedy)}
)
REASONS = ("crash", "crash_unseen", "exited", "killed", "out_of_memory", "terminated", *sorted(REPORTED_CODES))
"""The codes that `projects.rules.status.reasons.code_of_end` returns."""

_OUTCOMES = frozenset({"done", "failed", "recorded", "nothing to do"})
_READ_AGAIN = 3

Counts = dict[Labels, int]

_NO_TOKENS: Counts = {Labels(provider, direction): 0 for provider in PROVIDERS for direction in ("input", "output")}
_NO_CALLS: Counts = dict.fromkeys(CALLS, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Counts of `projects` by type and status, `operations` by action and outcome, `tokens` by provider and direction,
    and `gateway` calls by upstream and outcome. `heartbeat_age` is in seconds: infinite for a heartbeat in the future,
    None if there has never been a watcher. `engines` says whether each engine answers, by the name of the Swarm's node
    or the instance of a single host.
    """

    projects: Counts
    operations: Counts
    crashes: dict[str, int]
    tokens: Counts
    gateway: Counts
    heartbeat_age: float | None
    engines: dict[str, bool]
    wrong: dict[Part, bool]


def read_metrics() -> Metrics:
    """Reads all metrics. Raises `DatabaseError`."""
    tallies, heartbeat, wrong = _read_tallies(), read_heartbeat(), _read_wrong()
    is_beaten = heartbeat is not None and is_beating(heartbeat)
    return Metrics(
        projects=_count_projects(),
        operations=_count_operations(tallies[Subject.EVENTS]),
        crashes=_count_crashes(tallies[Subject.EVENTS]),
        tokens=_NO_TOKENS | tallies[Subject.TOKENS],
        gateway=_NO_CALLS | tallies[Subject.GATEWAY],
        heartbeat_age=_find_age(heartbeat),
        engines=_find_engines(is_up=is_beaten or not wrong[Part.ENGINE]),
        wrong=wrong,
    )


def _count_projects() -> Counts:
    """Counts projects, with zeros for statuses without projects, because a missing number looks like an unknown one."""
    slugs = AgentType.objects.order_by("slug").values_list("slug", flat=True)
    none = {Labels(slug, str(status)): 0 for slug in slugs for status in Status}
    return none | {Labels(slug, str(status)): number for (slug, status), number in count_projects().items()}


def _read_tallies() -> dict[Subject, Counts]:
    """Reads the tallies and adds later events, because the watcher counts only twice a minute.

    If the watcher counts between the two queries, they are repeated.
    """
    for _ in range(_READ_AGAIN):
        read = _read_cursor()
        found: dict[Subject, Counts] = {subject: {} for subject in Subject}
        for subject, first, second, number in Tally.objects.values_list("subject", "first", "second", "number"):
            found[Subject(subject)][Labels(first, second)] = number
        if read == _read_cursor():
            break
    later = Event.objects.filter(pk__gt=read).order_by().values_list("action", "outcome").annotate(number=Count("pk"))
    events = Counter(found[Subject.EVENTS])
    events.update({Labels(action, outcome): number for action, outcome, number in later})
    return found | {Subject.EVENTS: dict(events)}


def _read_cursor() -> int:
    return EventCursor.objects.filter(pk=CURSOR).values_list("last_event_id", flat=True).first() or 0


def _count_operations(events: Counts) -> Counts:
    """Counts operations by outcome. Ignores warnings, which accompany a “done”. Counts a deploy's reason as “failed”.

    Outcomes that never happened are 0, because the first increase of a number that was missing before is invisible.
    """
    found = {Labels(action, outcome): 0 for action in sorted(OPERATIONS) for outcome in sorted(_OUTCOMES)}
    for (action, outcome), number in events.items():
        if action in OPERATIONS and outcome != "warning":
            is_known = outcome in _OUTCOMES
            if is_known or action == "deploy":
                found[Labels(action, outcome if is_known else "failed")] += number
    return found


def _count_crashes(events: Counts) -> dict[str, int]:
    found = dict.fromkeys((*REASONS, OTHER), 0)
    for (action, outcome), number in events.items():
        if action == "crash":
            found[outcome if outcome in found else OTHER] += number
    return found


def _find_age(heartbeat: datetime | None) -> float | None:
    if heartbeat is None:
        return None
    now = clock.now()
    return inf if moments.is_future(heartbeat, now=now) else max(0.0, (now - heartbeat).total_seconds())


def _find_engines(*, is_up: bool) -> dict[str, bool]:
    """Returns False for all nodes of a Swarm while its manager does not answer, because nobody hears from them."""
    host = read_host()
    nodes: dict[str, bool] = host.nodes if host else {}
    return {name: is_up and is_ready for name, is_ready in nodes.items()} or {settings.BERTH_INSTANCE: is_up}


def _read_wrong() -> dict[Part, bool]:
    rows = ServiceTrouble.objects.filter(instance=settings.BERTH_INSTANCE)
    known = dict(rows.values_list("part", "is_wrong"))
    return {part: bool(known.get(part)) for part in Part}
