"""What can happen at each step of a command, and the commands themselves."""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from containers import errors
from containers.errors import EngineError
from containers.vocabulary import ContainerState
from projects.errors import ProjectError
from projects.rules.status.lifecycle import Action
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.fakes.memory_container import MemoryContainer
from tests.projects.images.updating import NAME, path_of
from tests.projects.services.fault_injection.states import Scene

Act = Callable[[Scene], object]

MOST_STEPS = 10


class Killed(BaseException):
    """The process ends here."""


def _patched(query: str = "", **fields: Any) -> Act:
    return lambda scene: scene.api.patch(f"{path_of(scene.project)}{query}", fields)


def _by_staff(action: str) -> Act:
    return lambda scene: scene.by_staff(action)


def _controlled(action: str) -> Act:
    return lambda scene: scene.control(action)


COMMANDS: dict[str, Act] = {
    **{str(action): _controlled(action) for action in Action},
    "delete": lambda scene: scene.api.delete(path_of(scene.project)),
    "clear": lambda scene: scene.api.delete(f"{path_of(scene.project)}/memory"),
    "update": lambda scene: scene.api.post(f"{path_of(scene.project)}/update"),
    "change": _patched("?restart=true", settings={"instructions": "Be brief"}),
    "new key": _patched(apiKey="sk-another-key-0123456789"),
    **{f"staff: {name}": _by_staff(name) for name in ("start", "stop", "suspend", "lift", "delete_projects")},
    "round": lambda scene: reconcile(),
    "round of repairs in threads": lambda scene: reconcile(hand_over=lambda _, repair: repair()),
    "round without firewall": lambda scene: reconcile(barred=True),
}


def obey(scene: Scene, command: str) -> None:
    """Gives the command. Its sender sees a refusal, and the watcher an engine that fails, in a sentence."""
    with suppress(EngineError, ProjectError):
        answer: Any = COMMANDS[command](scene)
        status = getattr(answer, "status_code", answer)
        assert not isinstance(status, int) or status not in {500, 504}, command


def _replace(scene: Scene, found: MemoryContainer) -> None:
    """Someone creates the container again, as tools do that update containers."""
    made = MemoryContainer(found.name, dict(found.labels), found.spec, secrets=dict(found.secrets))
    made.image_id = found.image_id
    scene.engine.vanish(found.name)
    scene.engine.containers[found.name] = made
    scene.engine._start(made)


def _restart(scene: Scene, found: MemoryContainer) -> None:
    if found.state is ContainerState.RUNNING:
        scene.engine._end(found, 143, ContainerState.EXITED)
    scene.engine._start(found)


def _if_up(act: Callable[[MemoryEngine, str], object]) -> Callable[[Scene, MemoryContainer], object]:
    return lambda scene, found: act(scene.engine, found.name) if found.is_up else None


BY_HAND: dict[str, Callable[[Scene, MemoryContainer], object]] = {
    "vanish": lambda scene, found: scene.engine.vanish(found.name),
    "exit 0": _if_up(lambda engine, name: engine.exit(name, 0)),
    "exit 20": _if_up(lambda engine, name: engine.exit(name, 20)),
    "pause": _if_up(lambda engine, name: engine.pause(name)),
    "replace": _replace,
    "restart": _restart,
    "restart of the engine": lambda scene, _: scene.engine.restart_engine(),
    "image gone": lambda scene, _: scene.engine.images.discard(NAME),
}

ERRORS: tuple[type[EngineError], ...] = (
    errors.EngineUnavailableError, errors.EngineRefusedError, errors.ContainerSilentError, errors.StillStoppingError,
    errors.ImageMissingError, errors.ImageUnusableError, errors.NameTakenError, errors.NoRoomError,
    errors.FirewallMissingError, errors.GatewayMissingError, errors.AddressUnusableError, errors.SupersededError,
)  # fmt: skip


def draw_fault(dice: Random) -> tuple[str, Callable[[Scene], object]]:
    """Returns a fault and its name."""

    def kill(_: Scene) -> None:
        raise Killed

    def fail(_: Scene) -> None:
        raise error("The engine fails.")

    def act_by_hand(scene: Scene) -> None:
        with scene.engine._changed:
            for found in scene.containers()[:1]:
                BY_HAND[hand](scene, found)

    error, hand, rival = dice.choice(ERRORS), dice.choice(list(BY_HAND)), dice.choice(list(COMMANDS))
    return dice.choice(
        [
            ("killed", kill),
            (error.__name__, fail),
            (f"by hand: {hand}", act_by_hand),
            (f"meanwhile: {rival}", lambda scene: obey(scene, rival)),
        ]
    )


def inject(patch: pytest.MonkeyPatch, engine: MemoryEngine, number: int, act: Callable[[], object]) -> None:
    """Lets the fault happen at the step of this number: before a step of the engine, or after it has answered."""
    left = [number]
    step, answer = engine._step, engine._answer

    def count_down() -> None:
        left[0] -= 1
        if left[0] == 0:
            act()

    def before(name: str) -> None:
        count_down()
        step(name)

    def after(name: str) -> None:
        answer(name)
        count_down()

    patch.setattr(engine, "_step", before)
    patch.setattr(engine, "_answer", after)
