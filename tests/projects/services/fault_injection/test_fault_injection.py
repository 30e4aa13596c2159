"""Any command, in any state, with any fault at any step: once the dust has settled, the status is the engine's and what
the owner wants, no operation is left, and no container or volume too many.

Each number is a case of its own. A run takes other numbers for each commit, and `--whole` takes all.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from random import Random

import pytest
from django.db import transaction
from django.utils import timezone
from rest_framework.test import APIClient

from containers.engine.images import ImageFacts
from containers.errors import EngineError
from containers.vocabulary import ContainerState, Health
from projects.models import Project
from projects.rules.disk import DISK_FULL
from projects.rules.status.lifecycle import UNPROTECTED
from projects.rules.status.statuses import Status
from projects.services.bulkheads import COMMANDS as PLACES
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.projects.images.updating import NAME, OLD, REMEMBERED, path_of
from tests.projects.services.fault_injection.faults import COMMANDS, MOST_STEPS, Killed, draw_fault, inject, obey
from tests.projects.services.fault_injection.states import STATES, Scene
from tests.sampling import Some

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

CASES = 4000
ROUNDS = 7


@pytest.fixture(autouse=True)
def _nobody_is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.services.commands.control.PATIENCE", 0.0)


def test_the_dust_settles(
    api: APIClient, engine: MemoryEngine, deploy: Callable[..., Project], monkeypatch: pytest.MonkeyPatch, some: Some
) -> None:
    for number in some(range(CASES), one_in=400):
        dice = Random(number)
        state, command = dice.choice(list(STATES)), dice.choice(list(COMMANDS))
        fault, act = draw_fault(dice)
        with transaction.atomic():
            engine.reset()
            engine.described[NAME] = ImageFacts(image_id=OLD)
            scene = Scene(api, engine, deploy())
            engine.states[f"{scene.name}-data"] = REMEMBERED
            STATES[state](scene)
            engine.clear_faults()
            step = dice.randint(1, MOST_STEPS)
            with monkeypatch.context() as patch, suppress(Killed):
                inject(patch, engine, step, lambda act=act, scene=scene: act(scene))  # type: ignore[misc]  # bound now
                obey(scene, command)
            settle(scene)
            assert find_wrong(scene) == [], f"case {number}: {state}, {command}, {fault} at step {step}"
            transaction.set_rollback(True)


def settle(scene: Scene) -> None:
    """Lets time pass, agents get ready, and the watcher look."""
    engine = scene.engine
    engine.clear_faults()
    past = engine.volumes_since = timezone.now() - timedelta(hours=1)
    for _ in range(ROUNDS):
        Project.objects.exclude(operation="").update(operation_deadline=past)
        Project.objects.update(reconcile_again_at=None)
        Project.objects.filter(update_step="drop").update(update_until=None)
        for each in scene.containers():
            each.created_at = past
            if each.state is ContainerState.RESTARTING:
                engine.restart_once_more(each.name)
            if each.state is ContainerState.RUNNING and each.health is Health.STARTING:
                engine.set_health(each.name, Health.HEALTHY)
                engine.report(each.name, "running")
        with suppress(EngineError):
            reconcile()


def find_wrong(scene: Scene) -> list[str]:
    """Returns what should not be, in words."""
    left, up = scene.containers(), [each for each in scene.containers() if each.is_up]
    wrong = [f"{PLACES.taken} places are taken"] * (PLACES.taken > 0)
    if not Project.objects.filter(pk=scene.pk).exists():
        return wrong + ["something is left of it"] * bool(left or scene.engine.volumes)
    row, answer = scene.row(), scene.api.get(path_of(scene.project)).json()
    copies = [volume for volume in scene.engine.volumes if volume.endswith("-former")]
    is_settled = not row.failure_code  # a refusal leaves what was there, until the owner starts it again
    others = [each for each in up if (each.container_id, each.image_id) != (row.container_id, row.image_id)]
    checks = {
        f"the operation {row.operation}": bool(row.operation) or row.desired == "deleted",
        f"{row.reconcile_failures} failures": row.reconcile_failures > 0,
        f"{len(up)} of {len(left)} containers are up": len(left) > 1 and bool(up),
        f"the status {answer['status']}": answer["status"] not in expected(row, is_up=bool(up)),
        "no reason": answer["status"] in {"failed", "crashed"} and not answer["status_reason"]["message"],
        "another container or image": bool(others),
        "another generation": any(each.observation.generation != row.generation for each in up) and is_settled,
        f"the step {row.update_step}": answer["status"] == "running" and bool(row.update_step) and is_settled,
        "a copy": bool(copies) and not row.update_step,
    }
    return wrong + [what for what, is_wrong in checks.items() if is_wrong]


def expected(row: Project, *, is_up: bool) -> set[Status]:
    """Returns the statuses that are right for what the owner and the staff want and the engine has."""
    if row.is_suspended or row.desired == "stopped":
        return set() if is_up else {Status.SUSPENDED if row.is_suspended else Status.STOPPED}
    well = {Status.RUNNING, Status.DEGRADED}
    if row.failure_code and row.failure_code not in {DISK_FULL, UNPROTECTED}:
        return well if is_up else {Status.FAILED}  # a failed restart leaves the former container running
    if row.failure_code or row.gave_up_at:
        return set() if is_up else {Status.FAILED, Status.CRASHED}
    return well if is_up else set()
