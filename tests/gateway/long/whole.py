"""A whole Berth, whose service, gateway or engine is killed again and again while its agent answers.

    python -m tests.gateway.long.whole service [--kills 50] [--down 600]
    python -m tests.gateway.long.whole gateway [--kills 50]
    python -m tests.gateway.long.whole engine [--kills 50]       starts an engine of its own, as root

`--down` is for how many seconds the service is away at the end; after `--within` seconds no other kill is begun. With
`--into FILE` several runs share the kills: each adds what it has seen to the file and shows the sums. Each message is
answered, and by nobody twice except if the gateway was killed with the answer on its way. Five to twenty-five minutes.

The engine that `DOCKER_HOST` names has the images; `engine` copies them from there into its own.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from containers.docker_api.building.image_build import GATEWAY
from tests.chaos.own_network import enter_own_network
from tests.chaos.private_engine import PrivateEngine
from tests.engines import USUAL, connect
from tests.gateway.long.beside import going_on
from tests.gateway.long.kills import Kill, kill_engine, kill_part_or_all, kill_service
from tests.gateway.long.people import PATIENCE, Owner, Talk
from tests.gateway.long.tally import Part, Tally
from tests.try_out import Trial, running_trial
from tests.waiting import wait_until

SERVE = (".venv/bin/python", "manage.py", "serve")
"""The last command of `make run`, whose preparations are already done."""
IMAGES = ("berth/gateway", "berth/assistant", "berth/agent-base", "berth-base")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["service", "gateway", "engine"])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--down", type=float, default=0)
    parser.add_argument("--within", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--into", type=Path, help="a file that adds up several runs")
    options = parser.parse_args()
    tally = Tally(options.into)
    options.kills -= tally.kills
    options.seed += tally.kills
    with ExitStack() as stack:
        private = None
        if options.what == "engine":
            enter_own_network("tests.gateway.long.whole")
            private = stack.enter_context(own_engine())
        trial = stack.enter_context(running_trial(messages_per_minute=600))
        trial.service.command = SERVE
        kills: dict[str, Kill] = {
            "service": partial(kill_service, trial),
            "gateway": partial(kill_part_or_all, trial, random.Random(options.seed)),
            "engine": partial(kill_engine, private, trial),
        }
        tally.add(kill_in_traffic(trial, kills[options.what], options))
    show(tally.figures())


def kill_in_traffic(trial: Trial, kill: Kill, options: argparse.Namespace) -> Part:
    chance, part = random.Random(options.seed), Part(down=options.down)
    talk, owner = Talk(trial, random.Random(options.seed + 1)), Owner(trial)
    until = time.monotonic() + options.within
    with going_on(talk.go_on, owner.go_on):
        for number in range(options.kills):
            if time.monotonic() > until:
                break
            time.sleep(chance.uniform(0.5, 3))  # wherever that hits it
            start, silence = kill()
            part.starts.append(start)
            part.silences.append(silence)
            sys.stderr.write(f"{number + 1}: {start:.1f} s, in all {silence:.1f} s, {talk.said} said\n")
    if options.down:
        trial.service.kill()
        with going_on(talk.go_on):
            time.sleep(options.down)
        trial.service.start()
    part.messages, part.repeated, part.excused, part.slowest = talk.said, talk.repeated(), talk.excuses(), talk.slowest
    assert not talk.lost()
    sys.stderr.write("All are answered.\n")
    assert part.repeated <= (0 if options.what == "service" else len(part.starts)), talk.answers()
    bring_last_key_into_force(talk, owner)
    return part


def bring_last_key_into_force(talk: Talk, owner: Owner) -> None:
    """A gateway that has just been killed cannot be told at once; the watcher tells it as soon as it can."""
    wait_until(lambda: owner.change_key("sk-whole-last") == 200, within=PATIENCE, every=2)

    def is_in_force() -> bool:
        talk.say(1)
        return bool(talk.trial.provider.asked()[-1].key == "sk-whole-last")

    wait_until(is_in_force, within=PATIENCE, every=1)


@contextmanager
def own_engine() -> Iterator[PrivateEngine]:
    """Starts a separate engine with copies of the usual engine's images, so that nothing must be built."""
    usual, address = connect(), os.environ.get("DOCKER_HOST") or USUAL
    images: Any = usual.images()
    names = [tag for image in images for tag in image["RepoTags"] or () if tag.startswith(IMAGES)]
    engine = PrivateEngine(Path(tempfile.mkdtemp(prefix="bg-")), own_network=False)
    try:
        engine.start()
        os.environ["DOCKER_HOST"] = engine.url
        with subprocess.Popen(["docker", "--host", address, "save", *names], stdout=subprocess.PIPE) as saved:
            subprocess.run(["docker", "--host", engine.url, "load", "--quiet"], stdin=saved.stdout, check=True)
        yield engine
    finally:
        usual.close()
        engine.close()


def show(figures: dict[str, float]) -> None:
    sys.stdout.write("".join(f"{name}: {value:.6g}\n" for name, value in figures.items()))


if __name__ == "__main__":
    assert GATEWAY.image.startswith(IMAGES)
    main()
