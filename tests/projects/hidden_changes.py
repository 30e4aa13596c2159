"""Changes of an agent without an event and without a trace in the engine's list."""

from collections.abc import Callable

from containers.vocabulary import Health
from tests.fakes.engine import MemoryEngine

Change = Callable[[MemoryEngine, str], None]

CHANGES: dict[str, Change] = {
    "crashed": lambda engine, name: engine.crash(name),
    "ended": lambda engine, name: engine.exit(name),
    "ran out of memory": lambda engine, name: engine.crash(name, exit_code=137, oom=True),
    "removed": lambda engine, name: engine.vanish(name),
    "paused": lambda engine, name: engine.pause(name),
    "restarting": lambda engine, name: engine.crash(name, restarting=True),
    "unhealthy": lambda engine, name: engine.set_health(name, Health.UNHEALTHY),
    "starting": lambda engine, name: engine.set_health(name, Health.STARTING),
    "died": lambda engine, name: engine.crash(name, exit_code=20),
    "drifted": lambda engine, name: engine.drift(name),
}
