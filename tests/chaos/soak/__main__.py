"""The command. See the package."""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.agreement import Agreement
from tests.chaos.matrix.faults import FAULTS
from tests.chaos.matrix.installation import Installation, new_installation
from tests.chaos.own_network import enter_own_network
from tests.chaos.soak.curves import Measuring
from tests.chaos.soak.picture import draw
from tests.chaos.soak.users import PAUSE as USER_PAUSE
from tests.chaos.soak.users import SoakUser
from tests.paths import ROOT
from tests.waiting import wait_until

PAUSE = 45.0
"""Seconds between two faults."""
AGREES_WITHIN = 120.0
"""Seconds after a fault until the service is well, and nothing changes for a moment, while users continue."""
REPLACING = ("web worker/", "serve/", "watcher/", "clock/", "people/", "machine/")
"""Faults that replace processes or need another kind of installation, so that a curve would start again.

Those that people cause to everything remove what users have, and the verbs of the matrix are not those of a soak.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--users", type=int, default=5)
    parser.add_argument("--agents", type=int, default=60)
    parser.add_argument("--pause", type=float, default=USER_PAUSE, help="seconds between two commands of a user")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--picture", type=Path, default=ROOT / "var" / "soak.svg")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("This makes an engine and a network of its own: run it as root.")
    enter_own_network("tests.chaos.soak")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything that was started is ended
    tell(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="bs-") as home, new_installation(Path(home)) as installation:
        return soak(installation, options)


def soak(installation: Installation, options: argparse.Namespace) -> int:
    made = installation.service.site.run("tests.chaos.soak.people", str(options.users))
    assert made.returncode == 0, made.stderr
    users = [
        SoakUser(
            installation,
            key,
            agents=options.agents // options.users,
            seed=f"{options.seed} {number}",
            pause=options.pause,
        )
        for number, key in enumerate(json.loads(made.stdout))
    ]
    for user in users:
        user.start()
    measuring, clients = Measuring(installation, users), [user.client for user in users]
    agreement = Agreement(installation.service.port, clients, installation.direct_url)
    faults, wrong = break_now_and_then(installation, agreement, options)
    try:
        wait_until(installation.service.is_well, within=120, what="It does not get well", every=0.5)
    except AssertionError as error:  # the curves show what it was like until then
        wrong.append(str(error))
    measuring.end()
    for user in users:
        user.end()
    left = clean_up(installation, users)
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(draw(measuring.curves))
    return report(measuring, users, faults, [*wrong, *left])


def break_now_and_then(
    installation: Installation, agreement: Agreement, options: argparse.Namespace
) -> tuple["Counter[str]", list[str]]:
    """Returns how often there was each fault, and after which ones `/metrics` kept disagreeing with the API."""
    chance = random.Random(options.seed)
    names = find_faults()
    until = time.monotonic() + 60 * options.minutes
    taken: Counter[str] = Counter()
    wrong: list[str] = []
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(PAUSE, left))
        if time.monotonic() >= until:
            break
        name = chance.choice(names)
        with FAULTS[name].breaking(installation):
            time.sleep(FAULTS[name].lasts)
        taken[name] += 1
        wrong += [f"{name}: {each}" for each in agreement.find_wrong(within=AGREES_WITHIN)]
        tell(f"{(until - time.monotonic()) / 60:.0f} min left: {name}")
    return taken, wrong


def find_faults() -> list[str]:
    """Returns the faults that a plain installation can have again and again."""
    short = [name for name, fault in FAULTS.items() if fault.lasts <= 30 and fault.kind == ""]
    return [name for name in short if not name.startswith(REPLACING)]


def clean_up(installation: Installation, users: Sequence[SoakUser]) -> list[object]:
    """Returns what is left after everything was deleted."""
    left: list[object] = []

    def is_empty() -> bool:
        for user in users:
            user.leave()
        left[:] = [installation.instance.containers(), installation.instance.volumes()]
        return all(user.has_nothing() for user in users) and not any(left)

    try:
        wait_until(is_empty, within=300, every=2)
    except AssertionError:
        return left
    return []


def report(measuring: Measuring, users: Sequence[SoakUser], faults: "Counter[str]", left: list[object]) -> int:
    sent: Counter[str] = sum((user.sent for user in users), Counter())
    refused: Counter[str] = sum((user.refused for user in users), Counter())
    wrong = Counter(each for user in users for each in user.wrong)
    growing = [curve for curve in measuring.curves if not curve.is_flat]
    tell(f"{sum(sent.values())} requests, {sum(refused.values())} refused; {sum(faults.values())} faults.")
    tell("| | second third | last third | |\n|---|---|---|---|")
    for curve in measuring.curves:
        middle, last = curve.thirds
        mark = "✓" if curve.is_flat else "✗"
        tell(f"| {curve.name} | {middle:,.0f} {curve.unit} | {last:,.0f} {curve.unit} | {mark} |")
    for each, times in wrong.most_common():
        tell(f"✗ {times} times: {each}")
    if left:
        tell(f"✗ at the end: {left}")
    return 1 if wrong or growing or left else 0


def tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the output of the command


if __name__ == "__main__":
    sys.exit(main())
