"""A database with a row in every table, and with every extreme value that it accepts in every column."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, models, transaction

from accounts.credentials.second_factor_secrets import encrypt_secret
from accounts.models import (
    KnownNetwork,
    LoginCounter,
    Notice,
    OutgoingMail,
    RecoveryCode,
    RevokedSession,
    SecondFactor,
    UsageCounter,
    User,
)
from config.backup.schema import OF_ONE_MACHINE
from projects.models import (
    AlertChannel,
    EventCursor,
    HourlyUsage,
    IdempotencyRecord,
    KeyCheck,
    ModelPrice,
    Project,
    Provider,
    Quarantined,
    Spending,
    Tally,
)
from projects.models.alert import ADDRESS
from projects.models.figures.tally import Subject
from projects.models.installation import read_installation
from projects.rules.alerts import Way
from projects.services.credentials.key_rotation import check_keys
from tests.clients import api_of, make_person
from tests.deploying import deploy_project
from tests.factories import ApiKeyFactory

MOMENT = datetime(2026, 3, 4, 5, 6, 7, 123_457, tzinfo=UTC)
TEXT = "Ünï “quoted” 'x' \"y\" \\ \n\r\t <b> 🦊 \u202e \x7f NULL, ;--"
VALUES: dict[Any, list[Any]] = {
    models.BooleanField: [True, False, None],
    models.DateTimeField: [MOMENT, None],
    models.DateField: [MOMENT.date(), None],
    models.DecimalField: ["0.25", "99.99"],
    models.GenericIPAddressField: ["203.0.113.7", "2001:db8::1", None],
    models.IntegerField: [0, -(2**31), 2**31 - 1, None],
    models.BigIntegerField: [0, -(2**63), 2**63 - 1, None],
    models.PositiveSmallIntegerField: [0, 2**15 - 1, None],
    models.PositiveIntegerField: [0, 2**31 - 1, None],
    models.PositiveBigIntegerField: [0, 2**63 - 1, None],
    models.JSONField: [{"a": [1, 2.5, None, True, TEXT, {"b": {}}], "": 2**53}, {}],
    models.UUIDField: ["00000000-0000-0000-0000-00000000000a", None],
}
"""The values for every kind of column. A text gets `TEXT`, cut to its length, and an empty text."""


def fill_every_table() -> User:
    """Returns Alice, who has one of everything."""
    alice = make_person("alice")
    deploy_project(api_of(alice))
    project = Project.objects.get()
    ApiKeyFactory.create(user=alice)
    SecondFactor.objects.create(user=alice, secret_ciphertext=encrypt_secret("A" * 32, user_id=alice.pk), last_step=1)
    RecoveryCode.objects.create(user=alice, digest="d" * 64)
    KnownNetwork.objects.create(user=alice, network="203.0.113.0/24", used_at=MOMENT)
    RevokedSession.objects.create(jti="a" * 32, expires_at=MOMENT)
    LoginCounter.objects.create(account="a" * 64, address="b", attempts=3, last_attempt_at=MOMENT)
    Notice.objects.create(pk=1, text=TEXT)
    UsageCounter.objects.create(subject="s", scope="reads", window=7, spent=3)
    OutgoingMail.objects.create(kind="agent", user_id=alice.pk, facts={"a": [1]})
    channel = AlertChannel.objects.create(user=alice, way=Way.WEBHOOK, target="https://a.example/…")
    AlertChannel.objects.filter(pk=channel.pk).update(**channel.encrypt(ADDRESS, "https://a.example/b"))
    EventCursor.objects.create(name="a reader", last_event_id=1)
    IdempotencyRecord.objects.create(owner=alice, key="k", digest="d" * 64, project_id=project.pk, answer='{"a": 1}')
    Quarantined.objects.create(key="k", instance=settings.BERTH_INSTANCE)
    project.runs.create(number=1, container_id="c", ended_at=MOMENT, log=TEXT)
    Provider.objects.create(slug="groq", title="Groq", base_url="https://a.example/v1", default_model="m")
    ModelPrice.objects.create(model="m", input="0.25", output="99.99")
    Spending.objects.create(project=project, day=MOMENT.date(), month=MOMENT.date())
    Tally.objects.create(subject=Subject.TOKENS, first="openai", second="input", number=7)
    HourlyUsage.objects.create(project_id=project.pk, owner_id=alice.pk, hour=MOMENT, model="m", store="s")
    kind, _ = ContentType.objects.get_or_create(app_label="projects", model="project")
    permission, _ = Permission.objects.get_or_create(content_type=kind, codename="view_project", defaults={"name": "v"})
    group = Group.objects.create(name="readers")
    group.permissions.add(permission)
    alice.groups.add(group)
    alice.user_permissions.add(permission)
    LogEntry.objects.create(user=alice, content_type=kind, object_repr="x", action_flag=1)
    read_installation()
    check_keys()
    return alice


RAISED = {"session_version", "pairing_number"}
"""Columns that a restore raises, so that what was given out since the backup no longer counts."""


def cells() -> Iterator[tuple[type[models.Model], Any, Any]]:
    """Every column of every archived table with each value that its kind may have."""
    for model in archived():
        for column in model._meta.concrete_fields:
            is_changed = model is KeyCheck or column.name in RAISED  # a restore changes it or needs it
            if not (column.primary_key or column.is_relation or is_changed):
                for value in values_of(column):
                    yield model, column, value


def archived() -> list[type[models.Model]]:
    everything = apps.get_models(include_auto_created=True)
    return [model for model in everything if model._meta.label_lower not in OF_ONE_MACHINE]


def values_of(column: Any) -> list[Any]:
    found = next((VALUES[kind] for kind in type(column).__mro__ if kind in VALUES), None)
    if found is None:
        found = [TEXT[: column.max_length or None], "", None]
    return [value for value in found if value is not None or column.null]


def put_in(model: type[models.Model], column: Any, value: Any) -> bool:
    """Returns whether the database accepts it; its constraints may not."""
    try:
        with transaction.atomic():
            return bool(model._default_manager.update(**{column.attname: value}))
    except IntegrityError:
        return False


def photograph() -> dict[str, Any]:
    """Returns every row of every archived table, without what a restore changes on purpose."""
    ignored = {*RAISED, "recreated_at", "held_because", "held_since", "backed_up_at", "reminded_at"}
    return {
        model._meta.label_lower: [
            {name: json.dumps(value, sort_keys=True, default=str) for name, value in row.items() if name not in ignored}
            for row in model._default_manager.order_by("pk").values()
        ]
        for model in archived()
    }
