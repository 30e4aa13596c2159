"""The states that a project can be in, and how it gets into each."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone
from rest_framework.test import APIClient

from containers.engine.images import ImageFacts
from containers.errors import (
    ContainerSilentError,
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    ImageMissingError,
)
from containers.vocabulary import Health
from projects.models import Actor, Project
from projects.services.images.bases import note_images
from projects.services.staff.actions import carry_out
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_container import MemoryContainer
from tests.projects.images.updating import NAME, NEW, OLD, late, path_of

STAFF = Actor(label="sam@example.com", source="admin")


@dataclass(frozen=True)
class Scene:
    api: APIClient
    engine: MemoryEngine
    project: Project

    @property
    def name(self) -> str:
        return self.project.container_name

    @property
    def pk(self) -> UUID:
        return self.project.pk

    def row(self) -> Project:
        rows = Project.objects.with_heartbeat().select_related("owner", "plan", "agent_type")
        return rows.get(pk=self.pk)

    def containers(self) -> list[MemoryContainer]:
        return self.engine._find_all(self.project.container_key)

    def control(self, action: str) -> int:
        return int(self.api.post(f"{path_of(self.project)}/control", {"action": action}).status_code)

    def by_staff(self, action: str) -> None:
        carry_out(action, self.row(), STAFF, because="A reason")

    def look(self) -> None:
        try:
            reconcile()
        except EngineError:
            return

    def failing(self, step: str, error: type[EngineError], act: Callable[[], object]) -> None:
        self.engine.fail(step, error)
        act()


def crashed(scene: Scene) -> None:
    scene.engine.crash(scene.name, exit_code=20, restarting=True)
    scene.look()
    scene.look()


def copied(scene: Scene) -> None:
    before = scene.engine.containers[scene.name]
    copy = scene.engine.foreign("copy", labels=before.labels)
    copy.health, copy.image_id = Health.HEALTHY, before.image_id


def outdated(scene: Scene) -> None:
    scene.engine.former_images.add(OLD)
    scene.engine.described[NAME] = ImageFacts(image_id=NEW)
    note_images()


def image_lost(scene: Scene) -> None:
    outdated(scene)
    scene.engine.former_images.clear()


def update_asked_for(scene: Scene) -> None:
    outdated(scene)
    assert scene.api.post(f"{path_of(scene.project)}/update").status_code == 202


def on_trial(scene: Scene) -> None:
    update_asked_for(scene)
    scene.engine.ready_after_deploy = False
    scene.look()
    scene.engine.ready_after_deploy = True


def trial_over(scene: Scene) -> None:
    on_trial(scene)
    late(scene.project)


def trial_over_without_image(scene: Scene) -> None:
    trial_over(scene)
    scene.engine.images.discard(NAME)


def going_back(scene: Scene) -> None:
    trial_over(scene)
    scene.failing("return_copy", EngineRefusedError, scene.look)


def went_back(scene: Scene) -> None:
    trial_over(scene)
    scene.failing("deploy", EngineUnavailableError, scene.look)


def vanished_twice(scene: Scene) -> None:
    Project.objects.update(recreated_at=timezone.now())
    scene.engine.vanish(scene.name)
    scene.look()
    scene.look()


def suspended_and_up(scene: Scene) -> None:
    scene.failing("stop", EngineUnavailableError, lambda: scene.by_staff("suspend"))


def deleting(scene: Scene) -> None:
    scene.failing("remove", EngineUnavailableError, lambda: scene.api.delete(path_of(scene.project)))


def stopping(scene: Scene) -> None:
    scene.failing("stop", EngineUnavailableError, lambda: scene.control("stop"))


STATES: dict[str, Callable[[Scene], object]] = {
    "running": lambda scene: None,
    "starting": lambda scene: scene.engine.set_health(scene.name, Health.STARTING),
    "degraded": lambda scene: scene.engine.report(scene.name, "degraded", "telegram_unreachable"),
    "stopped": lambda scene: scene.control("stop"),
    "stopping": stopping,
    "stop refused": lambda scene: scene.failing("stop", EngineRefusedError, lambda: scene.control("stop")),
    "crashed": crashed,
    "ended": lambda scene: scene.engine.exit(scene.name, 1),
    "restarting": lambda scene: scene.engine.crash(scene.name, exit_code=1, restarting=True),
    "paused": lambda scene: scene.engine.pause(scene.name),
    "vanished": lambda scene: scene.engine.vanish(scene.name),
    "vanished twice": vanished_twice,
    "start refused": lambda scene: scene.failing("deploy.start", EngineRefusedError, lambda: scene.control("restart")),
    "image missing": lambda scene: scene.failing("deploy", ImageMissingError, lambda: scene.control("restart")),
    "silent": lambda scene: scene.failing("inspect", ContainerSilentError, lambda: scene.control("restart")),
    "suspended": lambda scene: scene.by_staff("suspend"),
    "suspended and up": suspended_and_up,
    "deleting": deleting,
    "without firewall": lambda scene: reconcile(barred=True),
    "copied": copied,
    "changed": lambda scene: scene.engine.drift(scene.name),
    "outdated": outdated,
    "image lost": image_lost,
    "update asked for": update_asked_for,
    "on trial": on_trial,
    "trial over": trial_over,
    "trial over, image gone": trial_over_without_image,
    "going back": going_back,
    "went back": went_back,
}
