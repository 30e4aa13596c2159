"""Many projects of one owner, without deploying each."""

from datetime import timedelta
from typing import Any

from django.conf import settings

from accounts import clock
from accounts.models import User
from containers.vocabulary import ContainerState, Health
from projects.models import AgentType, Event, Plan, Project, Watch
from projects.rules.status.lifecycle import LEASE, Desired


def make_projects(owner: User, number: int, **fields: Any) -> list[Project]:
    """Makes running projects, newest first, each with an event. `fields` are columns of all of them."""
    now = clock.now()
    columns = {
        "owner": owner,
        "instance": settings.BERTH_INSTANCE,
        "agent_type": AgentType.objects.get(slug="assistant"),
        "plan": Plan.objects.get(slug="pro"),
        "desired": Desired.RUNNING,
        "container_state": ContainerState.RUNNING,
        "container_id": "c" * 64,
        "health": Health.HEALTHY,
        "started_at": now - timedelta(hours=1),
        "observed_at": now,
        "updated_at": now - timedelta(minutes=1),
    }
    made = [
        Project(**{"name": f"Agent {place:03}", **columns, **fields}, created_at=now - timedelta(minutes=place))
        for place in range(number)
    ]
    Project.objects.bulk_create(made)
    told = {"owner_id": owner.pk, "actor": owner.email, "source": "session", "action": "deploy", "outcome": "done"}
    Event.objects.bulk_create([Event(project_id=each.pk, at=now - timedelta(hours=1), **told) for each in made])
    return made


def watch_well() -> None:
    """The watcher has just made a round."""
    now = clock.now()
    Watch.objects.update_or_create(
        instance=settings.BERTH_INSTANCE,
        defaults={"holder": "tests", "heartbeat_at": now, "lease_until": now + LEASE},
    )
