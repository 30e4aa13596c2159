"""The command. See the package."""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.database.requests import Client
from tests.chaos.matrix.faults import FAULTS, draw, find_kinds
from tests.chaos.matrix.installation import Installation, new_installation
from tests.chaos.matrix.record import Record
from tests.chaos.matrix.trial import Outcome, take
from tests.chaos.own_network import enter_own_network
from tests.paths import ROOT

LONGEST = 13000
"""Maximum characters about an installation that stays broken."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="such as engine/drip; without one: all")
    parser.add_argument("--sample", type=int, default=0, help="so many faults by chance")
    parser.add_argument("--seed", type=int, help="the seed that an earlier run printed")
    parser.add_argument("--record", type=Path, default=ROOT / "var" / "chaos-matrix.jsonl", help="what has been tried")
    parser.add_argument("--table", action="store_true", help="print what has been tried, and end")
    parser.add_argument("--within", type=float, default=30.0, help="seconds that an answer may take")
    options = parser.parse_args()
    if unknown := set(options.faults) - set(FAULTS):
        parser.error(f"There is no {', '.join(sorted(unknown))}. There are: {', '.join(FAULTS)}.")
    record = Record(options.record)
    if options.table:
        tell(record.table())
        return 0
    if os.geteuid() != 0:
        raise SystemExit("This makes an engine and a network of its own: run it as root.")
    enter_own_network("tests.chaos.matrix")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything that was started is ended
    seed = options.seed if options.seed is not None else random.randrange(1 << 30)
    tell(f"seed {seed}")
    chance = random.Random(seed)
    faults = options.faults or (draw(options.sample, chance) if options.sample else record.todo())
    kinds = find_kinds()
    if left_out := [name for name in faults if FAULTS[name].kind not in kinds]:
        tell(f"Left out, because what they need is not installed: {', '.join(left_out)}")
    is_right = True
    for kind in sorted(kinds):
        left = [name for name in faults if FAULTS[name].kind == kind]
        while left:  # a new installation after one that did not recover
            outcomes = run(left, record, chance, options.within, kind)
            is_right = is_right and not any(outcome.wrong for outcome in outcomes)
            left = left[len(outcomes) :]
    return 0 if is_right else 1


def run(faults: list[str], record: Record, chance: random.Random, within: float, kind: str) -> list[Outcome]:
    """Runs faults until one leaves the installation broken; the others need another installation.
    Returns how many have an outcome."""
    outcomes: list[Outcome] = []

    def note(outcome: Outcome, began: float) -> None:
        record.add(outcome)
        outcomes.append(outcome)
        tell(describe(outcome, time.monotonic() - began))

    began = time.monotonic()
    try:
        # The path of a Unix socket must be short.
        with (
            tempfile.TemporaryDirectory(prefix="bm-") as home,
            new_installation(Path(home), kind) as installation,
        ):
            client = Client(port=installation.service.port, key=installation.service.site.key, cookies={})
            for name in faults:
                began = time.monotonic()
                outcome = try_one(installation, client, name, chance, within)
                note(outcome, began)
                if not outcome.statuses:
                    break
    except Exception as error:  # noqa: BLE001 - the next ones get another installation
        if outcomes:
            tell(f"An installation could not be ended: {error!r}"[:LONGEST])
        else:
            note(
                Outcome(faults[0], None, {}, 0.0, time.monotonic() - began, [f"not begun: {error!r}"[:LONGEST]]), began
            )
    return outcomes


def try_one(installation: Installation, client: Client, name: str, chance: random.Random, within: float) -> Outcome:
    """An installation without statuses stays broken, no matter why."""
    began = time.monotonic()
    try:
        return take(installation, client, name, chance, within=within)
    except Exception as error:  # noqa: BLE001 - it fails this cell, and the others are tried
        said = str(error) if isinstance(error, AssertionError) else repr(error)
        return Outcome(name, None, {}, 0.0, time.monotonic() - began, [f"stays broken: {said}"[:LONGEST]])


def describe(outcome: Outcome, seconds: float) -> str:
    answers = ", ".join(f"{verb} {status or 'none'}" for verb, status in outcome.statuses.items())
    line = (
        f"{outcome.fault} ({seconds:.0f} s): {answers}; slowest {outcome.slowest:.1f} s,"
        f" right again after {outcome.healed_after:.1f} s"
    )
    if outcome.mailed_after is not None:
        line += f", mail after {outcome.mailed_after:.1f} s"
    return "\n    ".join([f"{'✗' if outcome.wrong else '✓'} {line}", *outcome.wrong])


def tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the output of the command


if __name__ == "__main__":
    sys.exit(main())
