"""Adds up the kills of several runs, so that fifty of them fit into several short ones."""

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Part:
    """The figures of one run, in which no message was lost."""

    starts: list[float] = field(default_factory=list)
    """Seconds that each start of the killed part took."""
    silences: list[float] = field(default_factory=list)
    """Seconds after each kill until a request was served again."""
    messages: int = 0
    repeated: int = 0
    excused: int = 0
    slowest: float = 0.0
    down: float = 0.0


class Tally:
    """The parts in a file, one JSON object per line; without a file only those of this run."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._parts = [Part(**json.loads(line)) for line in _lines_of(file)]

    @property
    def kills(self) -> int:
        return sum(len(part.starts) for part in self._parts)

    def add(self, part: Part) -> None:
        self._parts.append(part)
        if self._file is not None:
            with self._file.open("a") as file:
                file.write(f"{json.dumps(asdict(part))}\n")

    def figures(self) -> dict[str, float]:
        starts = [each for part in self._parts for each in part.starts]
        silences = [each for part in self._parts for each in part.silences]
        return {
            "runs": len(self._parts),
            "kills": len(starts),
            "messages": sum(part.messages for part in self._parts),
            "lost": 0,
            "repeated": sum(part.repeated for part in self._parts),
            "excused": sum(part.excused for part in self._parts),
            "slowest answer": max((part.slowest for part in self._parts), default=0.0),
            "back within, median": _median(starts),
            "back within, nine of ten": _ninth_tenth(starts),
            "back within, at most": max(starts, default=0.0),
            "answers again after, median": _median(silences),
            "answers again after, at most": max(silences, default=0.0),
            "seconds without the service": sum(part.down for part in self._parts),
        }


def _lines_of(file: Path | None) -> Iterable[str]:
    return file.read_text().splitlines() if file is not None and file.exists() else ()


def _median(values: list[float]) -> float:
    return statistics.median(values or [0.0])


def _ninth_tenth(values: list[float]) -> float:
    return statistics.quantiles(values, n=10)[-1] if len(values) > 1 else max(values, default=0.0)
