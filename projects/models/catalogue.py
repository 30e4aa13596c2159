"""The catalogue: the plans and agent types that staff offer."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from accounts.text import check_hides_nothing
from projects.models.columns.budget import GivesBudget
from projects.models.columns.permissions import LimitsReach, NamesModels
from projects.models.columns.type_facts import DescribesItself
from projects.rules.settings.json_documents import find_unstorable
from projects.rules.sizes import MIB

DISK_MB = 1024
"""The default disk space of a plan."""


class CatalogueRow(models.Model):
    """A row of the catalogue. Owners may choose it while it is available; the default applies if they choose none."""

    slug = models.SlugField(primary_key=True, max_length=40)
    available = models.BooleanField(default=True, help_text="Whether new projects may choose it.")
    is_default = models.BooleanField("default", default=False, help_text="Taken when the request names none.")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.slug


def _one_default(name: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(
        fields=["is_default"],
        condition=models.Q(is_default=True),
        name=name,
        violation_error_message="Another row is the default. Take the mark from that one first.",
    )


class Plan(CatalogueRow, GivesBudget, NamesModels):
    memory_mb = models.PositiveIntegerField(
        "memory (MB)", validators=[MinValueValidator(32), MaxValueValidator(1024 * 1024)]
    )
    cpus = models.DecimalField(
        max_digits=5, decimal_places=2, validators=[MinValueValidator(Decimal("0.05")), MaxValueValidator(256)]
    )
    pids = models.PositiveIntegerField("processes", default=128, validators=[MinValueValidator(16)])
    disk_mb = models.PositiveIntegerField(
        "disk (MB)",
        default=DISK_MB,
        db_default=DISK_MB,
        blank=True,
        validators=[MinValueValidator(16), MaxValueValidator(16 * 1024 * 1024)],
        help_text="What an agent may keep; at that it is stopped. Also one file for each 16 KB of it.",
    )
    max_projects = models.PositiveIntegerField("projects per owner", validators=[MinValueValidator(1)])
    open_to_all = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether every user may take it. Else admins and whom an allowance names. The default plan is open.",
    )

    owner_limit: int | None = None
    """How many projects one user may have on it, if the query asked for that (`plans_offered_to`)."""
    held: int | None = None
    """How many they have, if it asked for that too (`plans_with_room`)."""

    class Meta(CatalogueRow.Meta, GivesBudget.Meta, NamesModels.Meta):
        abstract = False
        ordering = ["memory_mb", "slug"]
        constraints = [_one_default("one_default_plan")]

    def clean(self) -> None:
        """Sets an empty disk limit to the default."""
        if self.disk_mb is None:
            self.disk_mb = DISK_MB

    @property
    def memory(self) -> int:
        """In bytes."""
        return self.memory_mb * MIB

    @property
    def disk(self) -> int:
        """In bytes."""
        return self.disk_mb * MIB

    @property
    def nano_cpus(self) -> int:
        """In billionths of a core, the engine's unit."""
        return int(self.cpus * 1_000_000_000)


def disk_ceiling() -> int:
    """Returns the size of volumes in bytes: a tenth more than the largest plan gives.

    A volume keeps its first size, although its agent may get a larger plan later. Berth measures whether an agent
    exceeds its plan; the extra tenth lets Berth find it full before its writes fail.
    """
    largest: int = Plan.objects.aggregate(largest=models.Max("disk_mb"))["largest"] or DISK_MB
    return largest * MIB * 11 // 10


def check_is_schema(value: Any) -> None:
    """Raises `ValidationError` if the value is not a JSON Schema, has an invalid pattern, refers to another document,
    or cannot be stored."""
    if reason := find_unstorable(value):
        raise ValidationError(reason)
    try:
        Draft202012Validator.check_schema(value, format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        message = f"This is not a JSON Schema (draft 2020-12): {error.message}"
        raise ValidationError(message) from None
    for reference in _references(value):
        if not reference.startswith("#"):
            message = f"The schema refers to {reference}, which is not in it."
            raise ValidationError(message)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from _references(inner)
    elif isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _references(inner)


class AgentType(CatalogueRow, LimitsReach, DescribesItself):
    title = models.CharField(max_length=80, validators=[check_hides_nothing])
    image = models.CharField(
        max_length=255,
        validators=[check_hides_nothing],
        help_text="An image that is on the engine; images are never pulled.",
    )
    needs_telegram_token = models.BooleanField(default=True)
    needs_api_key = models.BooleanField(default=True)
    settings_schema = models.JSONField(
        default=dict, blank=True, validators=[check_is_schema], help_text="JSON Schema of a project's settings."
    )
    min_memory_mb = models.PositiveIntegerField("minimum memory (MB)", default=128)
    pairs_people = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether its image checks pairing codes: new projects then answer nobody but whom their owner pairs.",
    )
    stop_timeout = models.PositiveIntegerField(
        default=15,
        validators=[MinValueValidator(1), MaxValueValidator(60)],
        help_text="Seconds between SIGTERM and SIGKILL.",
    )

    ready_timeout = models.PositiveIntegerField(
        default=90,
        db_default=90,
        validators=[MinValueValidator(5), MaxValueValidator(600)],
        help_text="Seconds that a new image has to become ready. After that the old one runs again.",
    )

    class Meta(CatalogueRow.Meta, LimitsReach.Meta, DescribesItself.Meta):
        abstract = False
        ordering = ["slug"]
        constraints = [_one_default("one_default_agent_type")]

    def clean(self) -> None:
        """Takes an empty field for the schema that accepts anything, because Django does not validate empty values."""
        self.tidy_hosts()
        if not isinstance(self.settings_schema, dict | bool):
            self.settings_schema = {}
        check_is_schema(self.settings_schema)
        self.check_facts(self.settings_schema)
