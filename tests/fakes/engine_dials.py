"""What a test sets, breaks and stages at the engine in memory.

Verbs and the steps inside `deploy` that `fail`, `lose` and `slow` know: ping, ensure_firewall, probe_firewall,
limit_names, describe_host, image_exists, describe_image, deploy, deploy.create, deploy.confirm, deploy.start, stop,
remove, inspect, look_up, realign, observe, highest_user, has_user, list_volumes, measure_disks, read_state,
write_state, write_state.fill, logs, read_secrets, quarantine, stats, usage_of, events, agents_network, ensure_gateway,
gateway (each line to it), inspect_gateway, remove_gateway.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.vocabulary import AgentReport, ContainerState, DiskUse, Health, Usage
from tests.fakes.container_store import ContainerStore
from tests.fakes.memory_container import MemoryContainer

Hook = Callable[[], object] | threading.Event
PAIRING_SECRET = "pairing_secret"
HOOK_LIMIT = 120.0
"""Seconds after which a forgotten `threading.Event` no longer blocks a verb."""


class EngineDials(ContainerStore):
    def reset(self) -> None:
        """Resets it to an empty, healthy engine with one image."""
        with self._changed:
            super().reset()
            self.calls: list[tuple[str, str]] = []
            self.unavailable = False
            self.firewall_warning: str | None = None
            self.firewall_required = False
            self.probe_warning: str | None = None
            self.memory_of_host: int | None = 1 << 40
            self.nodes: dict[str, bool] = {}
            self.silence = 15.0
            self.disks: dict[str, DiskUse] = {}
            self.unmeasurable: set[str] = set()
            self.usage = Usage(
                cpu_percent=1.5,
                memory=48 << 20,
                memory_limit=256 << 20,
                network_received=2048,
                network_sent=1024,
                pids=3,
            )
            self.clear_faults()

    def clear_faults(self) -> None:
        """Ends all failures, losses and delays of calls. Containers stay as they are."""
        with self._changed:
            self._failures: dict[str, list[Exception]] = defaultdict(list)
            self._lost: dict[str, int] = defaultdict(int)
            self._hooks: dict[str, Hook] = {}

    def fail(self, verb: str, error: Exception | type[EngineError], *, times: int = 1) -> None:
        """Makes the next `times` calls of the verb (or step) raise the error and do nothing."""
        made = error("The engine failed because a test asked for it.") if isinstance(error, type) else error
        with self._changed:
            self._failures[verb] += [made] * times

    def fail_start_after_create(self, error: EngineError | None = None) -> None:
        """Makes the next deploy create its container but fail to start it."""
        self.fail("deploy.start", error or EngineRefusedError("The engine could not start the container."))

    def lose(self, verb: str, *, times: int = 1) -> None:
        """Carries out the next `times` calls, but loses their answers (`EngineUnavailableError`)."""
        with self._changed:
            self._lost[verb] += times

    def slow(self, verb: str, hook: Hook | None) -> None:
        """Runs `hook` in every call of the verb (or waits for the event) before it acts. None removes it."""
        with self._changed:
            if hook is None:
                self._hooks.pop(verb, None)
            else:
                self._hooks[verb] = hook

    def foreign(self, name: str, *, labels: Mapping[str, str] | None = None) -> MemoryContainer:
        """Adds a running container that is not ours."""
        with self._changed:
            self.containers[name] = container = MemoryContainer(name=name, labels=dict(labels or {}))
            container.state, container.started_at = ContainerState.RUNNING, datetime.now(UTC)
            return container

    def crash(self, name: str, *, exit_code: int = 1, oom: bool = False, restarting: bool = False) -> None:
        """Kills the container's process. With `restarting`, the restart policy is about to restart it."""
        with self._changed:
            container = self.containers[name]
            container.oom_killed = oom
            container.restart_count += 1 if restarting else 0
            if oom:
                self._emit(container, "oom")
            self._end(container, exit_code, ContainerState.RESTARTING if restarting else ContainerState.EXITED)

    def tell_of_memory(self, name: str) -> None:
        """The kernel reports that memory ran out, too late for the engine's record of the container's end."""
        with self._changed:
            self._emit(self.containers[name], "oom")

    def restart_engine(self) -> None:
        """Ends the engine and its containers. The engine comes back and starts none of them."""
        with self._changed:
            for container in self.containers.values():
                if container.is_up:
                    self._end(container, 143, ContainerState.EXITED)
            self.since = datetime.now(UTC)

    def exit(self, name: str, exit_code: int = 0) -> None:
        """Ends the container's process by itself, without a restart."""
        self.crash(name, exit_code=exit_code)

    def restart_once_more(self, name: str) -> None:
        """Starts the container that `crash` left waiting, as the restart policy does."""
        with self._changed:
            container = self.containers[name]
            container.state, container.exit_code, container.oom_killed = ContainerState.RUNNING, None, False
            container.started_at = datetime.now(UTC)
            container.report, container.has_reported = None, False
            container.health = Health.STARTING if container.health is not Health.NONE else Health.NONE
            self._emit(container, "start")

    def pause(self, name: str) -> None:
        with self._changed:
            self.containers[name].state = ContainerState.PAUSED
            self._emit(self.containers[name], "pause")

    def vanish(self, name: str) -> None:
        """Removes the container as someone else would, without our knowledge."""
        with self._changed:
            self._emit(self.containers.pop(name), "destroy")

    def report(self, name: str, state: str, code: str = "", detail: str = "", *, paired: int | None = None) -> None:
        """Prints a status line as the agent."""
        with self._changed:
            container = self.containers[name]
            container.report = AgentReport(state=state, code=code, detail=detail, paired=paired)
            container.has_reported = True
            self._reports.append(container.container_id)
            self._changed.notify_all()

    def silence_container(self, name: str, *, is_silent: bool = True) -> None:
        """Makes the engine hang on this container: it lists it, but answers nothing else about it."""
        with self._changed:
            self.containers[name].is_silent = is_silent

    def drift(self, name: str) -> None:
        """Changes the container's networks or its restart policy, as someone else would."""
        with self._changed:
            self.containers[name].has_drifted = True

    def set_health(self, name: str, health: Health) -> None:
        with self._changed:
            self.containers[name].health, self.containers[name].has_reported = health, False
            self._emit(self.containers[name], f"health_status: {health}")

    def fill(self, key: str, used: int, *, files: int = 1, is_part: bool = False) -> None:
        """Sets the bytes of the state that this key's agent keeps, as long as the state exists."""
        with self._changed:
            self.disks[key] = DiskUse(used=used, files=files, is_part=is_part)

    def log(self, name: str, line: str) -> None:
        """Prints a line as the agent."""
        with self._changed:
            self.containers[name].lines.append((datetime.now(UTC), line))
            self._changed.notify_all()

    def secrets_of(self, name: str) -> dict[str, str]:
        """Returns the files under /run/secrets of the container, except the secret of pairing codes."""
        with self._changed:
            return {file: value for file, value in self.containers[name].secrets.items() if file != PAIRING_SECRET}

    # What a verb asks of the dials.

    def _enter(self, verb: str, key: str = "") -> None:
        with self._changed:
            self.calls.append((verb, key))
        self._step(verb)

    def _step(self, step: str) -> None:
        """Runs the hook of this step outside the lock, then fails if it was told to."""
        hook = self._hooks.get(step)
        if isinstance(hook, threading.Event):
            hook.wait(HOOK_LIMIT)
        elif hook is not None:
            hook()
        with self._changed:
            if self.unavailable:
                raise EngineUnavailableError("The container engine does not answer.")
            if self._failures[step]:
                raise self._failures[step].pop(0)

    def _answer(self, verb: str) -> None:
        with self._changed:
            if self._lost[verb]:
                self._lost[verb] -= 1
                raise EngineUnavailableError("The container engine did not answer in time.")
