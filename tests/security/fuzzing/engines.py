"""The engines of the fuzzed server, one of which its settings choose."""

from collections.abc import Iterator
from datetime import datetime

from tests.fakes.engine import MemoryEngine


class WorkingEngine(MemoryEngine):
    """An engine whose logs end, even if they are followed, because the fuzzer does not wait."""

    def go(self) -> None:
        """From now on the engine fails in its way."""

    def logs(
        self, key: str, *, tail: int | None = None, since: datetime | None = None, follow: bool = False, of: str = ""
    ) -> Iterator[bytes]:
        return super().logs(key, tail=tail, since=since, of=of)


class SilentEngine(WorkingEngine):
    """Does not answer once there are projects."""

    def go(self) -> None:
        self.unavailable = True


class BrokenEngine(WorkingEngine):
    """Raises errors that no engine may raise once there are projects."""

    def go(self) -> None:
        self.slow("image_exists", self._break)

    def _break(self) -> None:
        raise RuntimeError("The engine broke because a test asked for it.")
