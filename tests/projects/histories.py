"""Random histories of one owner's projects: of their rows, the watcher and the clock."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.utils import timezone

from accounts.models import User
from projects.models import AgentType, Event, Plan, Project, Run, Spending, Watch
from projects.rules.status.lifecycle import LEASE, Operation

STEPS = (0.0, 0.4, 1.0, 2.9, 3.1, 4.4, 4.6, 5.1, 16.0, 31.0, 99.0, -0.5, -4.0)
"""Seconds that pass, some of them backwards."""

AGES = (0.0, 1.0, 2.0, 3.1, 4.7, 6.0, 300.0, -0.5, -30.0)
VALUES: dict[str, tuple[Any, ...]] = {
    "name": ("one", "two"),
    "desired": ("running", "stopped", "deleted"),
    "container_state": ("", "running", "exited", "paused", "restarting"),
    "health": ("none", "starting", "healthy", "unhealthy"),
    "agent_state": ("", "starting", "running", "degraded", "failed", "stopped"),
    "failure_code": ("", "crash", "firewall_missing"),
    "exit_code": (None, 0, 1, 20),
    "reconcile_failures": (0, 0, 3),
    "is_behind_gateway": (True, False),
    "instance": (settings.BERTH_INSTANCE, settings.BERTH_INSTANCE, "another"),
}
MOMENTS = ("observed_at", "updated_at", "started_at", "polled_at", "suspended_at", "gave_up_at", "created_at")
MAY_LACK = {"observed_at", "started_at", "polled_at", "suspended_at", "gave_up_at"}


class History:
    """It begins with three projects of the owner. `now` is its clock."""

    def __init__(self, seed: int, owner: User) -> None:
        self.draw, self.owner, self.now = Random(seed), owner, timezone.now()
        for _ in range(3):
            self.come()

    def moment(self) -> datetime:
        return self.now - timedelta(seconds=self.draw.choice(AGES))

    def step(self) -> None:
        whatever = (self.pass_time, self.change, self.move, self.operate, self.beat, self.lease, self.come, self.go)
        self.draw.choices((self.rest, *whatever), weights=(12, 6, 3, 2, 1, 2, 1, 1, 1))[0]()

    def rest(self) -> None:
        """Returns a second of a quiet life."""
        self.now += timedelta(seconds=1)
        self.watch(heartbeat_at=self.now, lease_until=self.now + LEASE, holds_repairs=False)

    def pass_time(self) -> None:
        self.now += timedelta(seconds=self.draw.choice(STEPS))

    def change(self) -> None:
        name = self.draw.choice(list(VALUES))
        self.update({name: self.draw.choice(VALUES[name])})

    def move(self) -> None:
        name = self.draw.choice(MOMENTS)
        self.update({name: None if name in MAY_LACK and self.draw.random() < 0.3 else self.moment()})

    def operate(self) -> None:
        if self.draw.random() < 0.6:
            self.update({"operation": "", "operation_id": None, "operation_deadline": None})
        else:
            operation = self.draw.choice([each for each in Operation if each])
            self.update({"operation": operation, "operation_id": uuid4(), "operation_deadline": self.moment()})

    def beat(self) -> None:
        self.watch(heartbeat_at=self.draw.choice((None, self.moment())))

    def lease(self) -> None:
        until = self.draw.choice((None, self.moment(), self.now + LEASE))
        self.watch(lease_until=until, holds_repairs=until == self.now + LEASE)  # `rest` has a watcher that repairs

    def come(self) -> None:
        quiet = self.now - timedelta(minutes=5)
        Project.objects.create(
            owner=self.owner, instance=settings.BERTH_INSTANCE, name="new", agent_type=AgentType.objects.all()[0],
            plan=Plan.objects.all()[0], desired="running", container_state="running", health="healthy",
            observed_at=quiet, started_at=quiet, uid=700_000 + self.draw.randrange(10**6),
            bot_id=self.draw.randrange(10**12),
        )  # fmt: skip
        Project.objects.filter(name="new").update(updated_at=quiet, name="one")

    def go(self) -> None:
        if Project.objects.count() > 1:
            Project.objects.filter(pk=self.draw.choice(Project.objects.all()).pk).delete()

    def update(self, values: dict[str, Any]) -> None:
        Project.objects.filter(pk=self.draw.choice(Project.objects.all()).pk).update(**values)

    def watch(self, **values: Any) -> None:
        Watch.objects.update_or_create(instance=settings.BERTH_INSTANCE, defaults=values)


PAGE_VALUES: dict[str, tuple[Any, ...]] = {
    "generation": (1, 2, 2),
    "update_step": ("", "", "trial", "drop"),
    "budget_until": (None, None, "soon"),
    "agent_paired": (None, 0, 1),
    "bot_username": ("", "harbour_bot"),
    "disk_used": (None, 5, 2**40),
    "image_id": ("", "sha256:1"),
    "own_day_tokens": (None, 7),
    "provider": ("", "mistral"),
    "log_tail": ("", "the end"),
    "crash_count": (0, 3),
    "telegram_token_hint": ("", "abcd"),
    "created_at": ("now", "old"),
}


class PageHistory(History):
    """Everything else that the page of a project shows: its usage, runs and events, its plan and type, and the day."""

    def come(self) -> None:
        super().come()
        Project.objects.filter(generation=1).update(generation=2)  # the steps of a new deploy hide everything else

    def step(self) -> None:
        if self.draw.random() < 0.65:
            return super().step()
        self.project = self.draw.choice(Project.objects.all())
        acts = (self.change_shown, self.spend, self.end_run, self.note, self.forget, self.offer, self.pair, self.sleep)
        return self.draw.choices(acts, weights=(8, 3, 2, 3, 1, 2, 1, 1))[0]()

    def change_shown(self) -> None:
        name = self.draw.choice(list(PAGE_VALUES))
        value = self.draw.choice(PAGE_VALUES[name])
        words = {"soon": timedelta(seconds=4), "now": timedelta(0), "old": timedelta(minutes=-15, seconds=2)}
        self.update({name: self.now + words[value] if value in words else value})

    def spend(self) -> None:
        day = self.now.astimezone(UTC).date()
        tokens = self.draw.randrange(10**6)
        spent = {"day": day, "day_tokens": tokens, "month": day.replace(day=1), "month_tokens": tokens}
        Spending.objects.update_or_create(project=self.project, defaults=spent)

    def end_run(self) -> None:
        numbers = [*self.project.runs.values_list("number", flat=True)]
        if numbers and self.draw.random() < 0.5:
            self.project.runs.filter(number=self.draw.choice(numbers)).update(exit_code=self.draw.randrange(9))
        elif len(numbers) > 2:
            self.project.runs.filter(number=min(numbers)).delete()
        else:
            Run.objects.create(project=self.project, number=max(numbers, default=0) + 1, container_id=uuid4().hex)

    def note(self) -> None:
        told = {"actor": "system", "source": "system", "action": "crash", "outcome": "crash"}
        Event.objects.create(project_id=self.project.pk, owner_id=self.owner.pk, at=self.moment(), **told)

    def forget(self) -> None:
        Event.objects.filter(project_id=self.project.pk, at__lt=self.moment()).delete()

    def offer(self) -> None:
        Plan.objects.filter(pk=self.project.plan_id).update(memory_mb=self.draw.randrange(64, 99))
        AgentType.objects.filter(pk=self.project.agent_type_id).update(title=self.draw.choice(("One", "Two")))

    def pair(self) -> None:
        self.update(self.project.encrypt_pairing_secret(in_force_from=0))

    def sleep(self) -> None:
        """Continues on the next day, with the watcher awake."""
        self.now += timedelta(hours=self.draw.choice((1, 13, 24)))
        self.rest()
