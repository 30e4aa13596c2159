"""The engines of the fuzzed server, one of which its settings choose."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from containers.engine import Observation, get_engine
from tests.fakes.engine import MemoryEngine


class WorkingEngine(MemoryEngine):
    """Whose logs end, even for those who would follow them: the fuzzer has no patience."""

    def logs(
        self, name: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False
    ) -> Iterator[bytes]:
        return super().logs(name, tail=tail, since=since)


class SilentEngine(WorkingEngine):
    """Does not answer once `silence` is on."""


def silence(*, on: bool) -> None:
    engine = get_engine()
    if isinstance(engine, SilentEngine):
        engine.unavailable = on


class BrokenEngine(WorkingEngine):
    """Breaks its promises: raises what no engine may raise."""

    def observe(self, within: Mapping[str, str]) -> list[Observation]:
        raise RuntimeError("The engine broke because a test asked for it.")
