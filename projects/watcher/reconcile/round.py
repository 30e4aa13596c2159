"""What a round of the watcher saw and did."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(slots=True)
class Round:
    """What a round saw and did. Every change on the engine up to `at` is in the rows, but for those of the projects in
    `unwritten`, whose rows are locked.

    `held` says in a sentence why nothing was repaired; empty where all is well. `running` are the keys of the agents
    that run, by the ids of their containers. `put_off` are the keys of those that have ended, of which
    another look has to tell how. `passed_over` are those of which the row tells how they have ended, and of which the
    engine was asked nothing more. `in_operation` are those whose rows an operation holds, which were left alone.
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
