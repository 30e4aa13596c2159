"""The result of a round of the watcher."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(slots=True)
class Round:
    """What a round saw and did. Every change on the engine up to `at` is in the rows, except for locked rows.

    - `unwritten`: the number of locked rows.
    - `held`: why nothing was repaired, in a sentence; empty if all is well.
    - `running`: the keys of running agents by container id.
    - `put_off`: the keys of ended agents; another round must find out how they ended.
    - `passed_over`: the keys of ended agents whose rows know how they ended, so that the engine was not asked again.
    - `in_operation`: the keys of projects that an operation holds, which were skipped.
    """

    at: datetime
    seen: int = 0
    changed: int = 0
    skipped: int = 0
    unwritten: int = 0
    held: str = ""
    running: dict[str, str] = field(default_factory=dict)
    put_off: set[str] = field(default_factory=set)
    passed_over: set[str] = field(default_factory=set)
    in_operation: set[str] = field(default_factory=set)
    repaired: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
