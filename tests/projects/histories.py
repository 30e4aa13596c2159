"""What may happen to the projects of one owner, drawn by a generator: to their rows, the watcher and the clock."""

from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.utils import timezone

from accounts.models import User
from projects.models import AgentType, Plan, Project, Watch
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
        """A second of a quiet life."""
        self.now += timedelta(seconds=1)
        self.watch(heartbeat_at=self.now, lease_until=self.now + LEASE)

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
        self.watch(lease_until=self.draw.choice((None, self.moment(), self.now + LEASE)))

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
