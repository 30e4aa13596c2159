"""Columns: the last observation of a project's container."""

from datetime import datetime
from typing import Any

from django.db import models

from containers.vocabulary import ContainerState, Health, Observation


class Observed(models.Model):
    """The last observation of a container. An empty state means that the engine has none."""

    observed_at = models.DateTimeField(null=True, editable=False)
    container_id = models.CharField(max_length=64, blank=True, editable=False)
    container_state = models.CharField(max_length=12, blank=True, editable=False)
    health = models.CharField(max_length=10, default=Health.NONE, editable=False)
    exit_code = models.IntegerField(null=True, editable=False)
    oom_killed = models.BooleanField(default=False, editable=False)
    restarts = models.PositiveIntegerField(default=0, editable=False)
    brought_back = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    started_at = models.DateTimeField(null=True, editable=False)
    finished_at = models.DateTimeField(null=True, editable=False)
    agent_state = models.CharField(max_length=20, blank=True, editable=False)
    agent_code = models.CharField(max_length=40, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def restart_count(self) -> int:
        """How often this container was started again, by the engine or by the watcher."""
        return self.restarts + self.brought_back

    def apply_observation(self, observation: Observation | None, *, at: datetime) -> list[str]:
        """Sets the fields to an observation made at `at`; None means no container. Returns the fields' names."""
        values = self.observed_values(observation)
        values["observed_at"] = at
        for field, value in values.items():
            setattr(self, field, value)
        return list(values)

    def has_reported_since(self, listed: Observation) -> bool:
        """Returns whether the row has trouble of a container that a list calls healthy.

        Either a report is newer than the last health check, or inspecting the container will correct the row.
        """
        same = listed.container_id == self.container_id and self.container_state == ContainerState.RUNNING
        return same and listed.health == Health.HEALTHY and self.health == Health.UNHEALTHY

    def observed_values(self, seen: Observation | None) -> dict[str, Any]:
        """Returns the fields that an observation sets, with their values."""
        if seen is None:
            return {"container_state": "", "container_id": "", "health": Health.NONE}
        values: dict[str, Any] = {
            "container_state": seen.state,
            "container_id": seen.container_id,
            "health": seen.health,
            "exit_code": seen.exit_code,
        }
        if seen.container_id != self.container_id:
            values["brought_back"] = 0
        # The engine's list leaves these out for a healthy container. For the same container, the last known values
        # still hold.
        same = seen.container_id == self.container_id
        for field, value, unknown in (
            ("oom_killed", seen.oom_killed, False),
            ("restarts", seen.restart_count, 0),
            ("started_at", seen.started_at, None),
            ("finished_at", seen.finished_at, None),
        ):
            if value is not None or not same:
                values[field] = unknown if value is None else value
        if same and self.oom_killed and seen.finished_at is not None and seen.finished_at == self.finished_at:
            values["oom_killed"] = True  # only the event said so, not the engine's record
        return values | self._reported_values(seen)

    def _reported_values(self, seen: Observation) -> dict[str, Any]:
        if seen.report is not None:
            paired = {} if seen.report.paired is None else {"agent_paired": seen.report.paired}
            return {"agent_state": seen.report.state[:20], "agent_code": seen.report.code[:40], **paired}
        if seen.health == Health.HEALTHY:  # by the agent contract, only a running agent is healthy
            return {"agent_state": "running", "agent_code": ""}
        return {} if self._is_of_known_run(seen) else {"agent_state": "", "agent_code": ""}

    def _is_of_known_run(self, seen: Observation) -> bool:
        """Returns whether the row's last report is of the run that was seen. A restart keeps the container.

        Of a run that has ended, a Swarm knows no start, only an earlier moment.
        """
        if seen.container_id != self.container_id:
            return False
        if seen.started_at is None or seen.started_at == self.started_at:
            return True
        return not seen.is_up and self.started_at is not None and seen.started_at < self.started_at
