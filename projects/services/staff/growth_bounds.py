"""The bound of each table of the database, in a sentence for staff. A test fails for a table that is missing here."""

from dataclasses import dataclass

from accounts.models.outgoing_mail import TRIED_FOR
from accounts.models.throttle import REVOCATIONS_KEPT_FOR
from accounts.services.api_keys import LIMIT
from accounts.services.open_sessions import MOST as MOST_OPEN
from accounts.services.outbox import MOST_WAITING
from accounts.throttling.known_networks import KEPT_FOR as NETWORKS_KEPT_FOR
from accounts.throttling.retention import (
    EXPIRED_KEYS_KEPT_FOR,
    MOST_ENDED,
    REVOKED_KEYS_KEPT_FOR,
    SENT_KEPT_FOR,
    UNSENT_KEPT_FOR,
)
from projects.models.alert import KEPT_FOR as ALERTS_KEPT_FOR
from projects.models.batch import KEPT_FOR as BATCHES_KEPT_FOR
from projects.models.event_bounds import MOST_OF_A_PROJECT, MOST_OF_AN_OWNER
from projects.models.figures.sample import KEPT_FOR as SAMPLES_KEPT_FOR
from projects.models.figures.sample import MINUTE, QUARTER
from projects.models.figures.usage import MOST_MODELS
from projects.models.idempotency import KEPT_FOR as ANSWERS_KEPT_FOR
from projects.services.alerts.queueing import KEPT as ALERTS_KEPT
from projects.services.alerts.queueing import MOST_WAITING as ALERTS_WAITING
from projects.services.reports.runs import KEPT_RUNS
from projects.services.staff.batches import MOST as MOST_OF_A_BATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """`since` is the column with the time from which a row's age counts, or empty."""

    sentence: str
    since: str = ""


_PROGRAM = "As many as the program has; only an upgrade adds some."
_EACH_INSTANCE = "One for each BERTH_INSTANCE."
_STAFF = "As many as staff make."

BOUNDS: dict[str, Bound] = {
    "accounts_user": Bound(
        since="date_joined",
        sentence="Staff make and delete them. With BERTH_SIGNUP=open ten an hour from each network, unless the proxy "
        "allows fewer.",
    ),
    "accounts_apikey": Bound(
        since="created_at",
        sentence=f"{LIMIT} live ones for each user. Revoked ones go after {REVOKED_KEYS_KEPT_FOR.days} days, expired "
        f"ones after {EXPIRED_KEYS_KEPT_FOR.days}.",
    ),
    "accounts_secondfactor": Bound(since="enrolled_at", sentence="One for each user."),
    "accounts_recoverycode": Bound(sentence="Ten for each second factor."),
    "accounts_knownnetwork": Bound(since="used_at", sentence=f"Gone {NETWORKS_KEPT_FOR.days} days after the last use."),
    "accounts_opensession": Bound(
        since="began_at", sentence=f"The last {MOST_OPEN} of each user, until each ends: 12 hours at most."
    ),
    "accounts_revokedsession": Bound(
        since="expires_at", sentence=f"Gone {REVOCATIONS_KEPT_FOR.days} days after the token's own end."
    ),
    "accounts_logincounter": Bound(since="last_attempt_at", sentence="Gone 15 minutes after the last failed sign-in."),
    "accounts_usagecounter": Bound(sentence="Gone when its minute, quarter of an hour, hour or day is over."),
    "accounts_notice": Bound(sentence="One."),
    "accounts_outgoingmail": Bound(
        since="created_at",
        sentence=f"{MOST_WAITING:,} waiting, for {TRIED_FOR.days} days, and {MOST_ENDED:,} others: sent ones go after "
        f"{SENT_KEPT_FOR.days} days, the rest after {UNSENT_KEPT_FOR.days}.",
    ),
    "projects_plan": Bound(sentence=_STAFF),
    "projects_agenttype": Bound(sentence=_STAFF),
    "projects_alertchannel": Bound(since="created_at", sentence="Three for each user."),
    "projects_alertdelivery": Bound(
        since="created_at",
        sentence=f"For each way of telling a user {ALERTS_WAITING} that wait, for a day, and the last {ALERTS_KEPT} "
        f"others, which go after {ALERTS_KEPT_FOR.days} days.",
    ),
    "projects_allowance": Bound(sentence="One for each user and plan."),
    "projects_batch": Bound(
        since="created_at",
        sentence=f"One for each action of staff on many projects, gone after {BATCHES_KEPT_FOR.days * 24} hours.",
    ),
    "projects_batchitem": Bound(sentence=f"At most {MOST_OF_A_BATCH} for each batch, and gone with it."),
    "projects_enginehost": Bound(sentence=_EACH_INSTANCE),
    "projects_event": Bound(
        since="at",
        sentence=f"Gone after BERTH_EVENTS_DAYS. Of each project the last {MOST_OF_A_PROJECT:,} and of each owner the "
        f"last {MOST_OF_AN_OWNER:,} stay, and all that staff did.",
    ),
    "projects_eventcursor": Bound(sentence="One for each reader of events, which the program names."),
    "projects_gateway": Bound(sentence=_EACH_INSTANCE),
    "projects_hourlyusage": Bound(
        since="hour",
        sentence=f"Gone after BERTH_USAGE_DAYS. Of each project and hour {MOST_MODELS} models, and those that have "
        "cost something, of which the gateway tells 200 apart in a month.",
    ),
    "projects_idempotencyrecord": Bound(
        since="created_at", sentence=f"Gone after {ANSWERS_KEPT_FOR.total_seconds() / 3600:.0f} hours."
    ),
    "projects_installation": Bound(since="created_at", sentence="One."),
    "projects_canary": Bound(sentence="Four."),
    "projects_slot": Bound(since="held_until", sentence="Gone when the request is over: a share of the threads."),
    "projects_modelprice": Bound(sentence=_STAFF),
    "projects_servicetrouble": Bound(since="since", sentence="Eight for each BERTH_INSTANCE."),
    "projects_provider": Bound(sentence=_STAFF),
    "projects_spending": Bound(sentence="One for each project."),
    "projects_tally": Bound(
        sentence="One for each kind of event and its outcome, and a few for each provider: words of the program and of "
        "staff."
    ),
    "projects_trouble": Bound(since="since", sentence="One for each project."),
    "projects_watch": Bound(sentence=_EACH_INSTANCE),
    "projects_project": Bound(since="created_at", sentence="As many as plans and allowances grant each user."),
    "projects_quarantined": Bound(
        since="since", sentence="Kept until somebody adopts or deletes it; after 30 days staff are reminded every day."
    ),
    "projects_run": Bound(since="ended_at", sentence=f"The last {KEPT_RUNS} of each project, each with 128 KB of log."),
    "projects_sample": Bound(
        since="at",
        sentence=f"One a minute of each running agent for {SAMPLES_KEPT_FOR[MINUTE].total_seconds() / 3600:.0f} hours, "
        f"and one a quarter of an hour for {SAMPLES_KEPT_FOR[QUARTER].days} days: at most 2,268 of each.",
    ),
    "django_admin_log": Bound(since="action_time", sentence="Gone after BERTH_EVENTS_DAYS."),
    "django_session": Bound(since="expire_date", sentence="Gone within two hours of its end."),
    "cache": Bound(sentence="300 entries; beyond that Django drops a third of them."),
    "django_migrations": Bound(sentence=_PROGRAM),
    "django_content_type": Bound(sentence=_PROGRAM),
    "auth_permission": Bound(sentence=_PROGRAM),
    "auth_group": Bound(sentence="None: roles are columns of the user."),
    "auth_group_permissions": Bound(sentence="None, as there are no groups."),
    "accounts_user_groups": Bound(sentence="None, as there are no groups."),
    "accounts_user_user_permissions": Bound(sentence="None: roles are columns of the user."),
}
