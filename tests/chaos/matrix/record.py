"""The faults that have been tried, in a file, so that a run continues where the last one ended."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tests.chaos.matrix.faults import ELSEWHERE, FAULTS
from tests.chaos.matrix.trial import Outcome
from tests.chaos.matrix.verbs import VERBS


class Record:
    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, outcome: Outcome) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as lines:
            lines.write(json.dumps(asdict(outcome)) + "\n")

    def outcomes(self) -> list[Outcome]:
        if not self._file.exists():
            return []
        return [Outcome(**json.loads(line)) for line in self._file.read_text().splitlines()]

    def todo(self) -> list[str]:
        """Returns the faults that have not been tried, or were wrong."""
        good = {outcome.fault for outcome in self.outcomes() if not outcome.wrong}
        return [fault for fault in FAULTS if fault not in good]

    def table(self) -> str:
        """Returns Markdown: a line for each fault with everything known about it, and what has not been tried."""
        rows = [
            "| fault | times | refused, of 8 | slowest answer | right again after | mail after | wrong |",
            "|---|---|---|---|---|---|---|",
        ]
        by_fault: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes():
            by_fault.setdefault(outcome.fault, []).append(outcome)
        rows += [_row(fault, by_fault[fault]) for fault in FAULTS if fault in by_fault]
        untried = [fault for fault in FAULTS if fault not in by_fault]
        tried = f"{len(by_fault) * len(VERBS)} of {len(FAULTS) * len(VERBS)} cells (a fault with a verb) tried."
        others = [f"- {cell}: {reason}" for cell, reason in ELSEWHERE.items()]
        return "\n".join([*rows, "", tried, f"Not tried: {', '.join(untried) or 'none'}.", *others])


def _row(fault: str, outcomes: Iterable[Outcome]) -> str:
    taken = list(outcomes)
    refused = [sum(status >= 400 or status == 0 for status in outcome.statuses.values()) for outcome in taken]
    words = f"{min(refused)} to {max(refused)}" if len(set(refused)) > 1 else str(refused[0])
    slowest, healed = max(each.slowest for each in taken), max(each.healed_after for each in taken)
    wrong = sum(bool(each.wrong) for each in taken)
    mailed = max((each.mailed_after for each in taken if each.mailed_after is not None), default=None)
    mail = "" if mailed is None else f"{mailed:.1f} s"
    return f"| {fault} | {len(taken)} | {words} | {slowest:.1f} s | {healed:.1f} s | {mail} | {wrong} |"
