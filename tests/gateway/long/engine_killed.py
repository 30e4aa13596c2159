"""The engine is killed while a bot answers its messages through the gateway, in a network namespace of its own.

    python -m tests.gateway.long.engine_killed [--kills 3]        takes root, `unshare` and `dockerd`

A small part of `whole engine`: the gateway's container is real, and the bot is this process, at the address of the host
on the agents' network. No message is lost, each kill repeats one answer at the most, and the same container goes on.
"""

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import django

from containers.docker_api.building.image_build import GATEWAY
from tests.chaos.own_network import enter_own_network
from tests.chaos.private_engine import PrivateEngine
from tests.engines import USUAL
from tests.gateway.long.beside import going_on
from tests.gateway.on_engine import PATIENCE, DeployedAgent, GatewayTestbed
from tests.waiting import wait_until

PERSON = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    enter_own_network("tests.gateway.long.engine_killed")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    with own_engine() as private, GatewayTestbed().open() as testbed:
        kill_in_traffic(private, testbed, kills=options.kills)


@contextmanager
def own_engine() -> Iterator[PrivateEngine]:
    """Starts a separate engine with a copy of the gateway's image."""
    engine, usual = PrivateEngine(Path(tempfile.mkdtemp(prefix="bk-")), own_network=False), USUAL
    try:
        engine.start()
        usual, os.environ["DOCKER_HOST"] = os.environ.get("DOCKER_HOST", USUAL), engine.url
        with subprocess.Popen(["docker", "--host", usual, "save", GATEWAY.image], stdout=subprocess.PIPE) as saved:
            subprocess.run(["docker", "load", "--quiet"], stdin=saved.stdout, stdout=subprocess.DEVNULL, check=True)
        yield engine
    finally:
        engine.close()


def kill_in_traffic(private: PrivateEngine, testbed: GatewayTestbed, *, kills: int) -> None:
    bot, numbers = testbed.new_agent(), count(1)
    bot.address = str(testbed.network.host)
    testbed.tell(bot)
    before = testbed.engine.inspect_gateway()

    def say() -> int:
        number = next(numbers)
        testbed.telegram.say(bot.token, PERSON, f"message {number}")
        return number

    def answers() -> Counter[str]:
        return Counter(sent.text for sent in testbed.telegram.sent(bot.token))

    def has_all(said: int) -> bool:
        return len(answers()) == said

    with going_on(partial(answer_messages, testbed.address.host, testbed.address.port, bot)):
        for _ in range(kills):
            say()
            private.end(signal.SIGKILL)
            say()
            began = time.monotonic()
            private.start()
            said = say()
            wait_until(partial(has_all, said), within=PATIENCE)
            sys.stderr.write(f"All was answered {time.monotonic() - began:.1f} s after the engine was started.\n")
    after = testbed.engine.inspect_gateway()
    assert before
    assert after
    assert after.container_id == before.container_id
    assert sum(answers().values()) - said <= kills, answers()


def answer_messages(host: str, port: int, bot: DeployedAgent, is_over: threading.Event) -> None:
    """Confirms each message only once it is answered, as careful bots do."""
    offset = 0
    while not is_over.is_set():
        with suppress(OSError, http.client.HTTPException, KeyError, ValueError):
            for update in ask(host, port, bot, "getUpdates", timeout=1, offset=offset)["result"]:
                text = update["message"]["text"]
                if not ask(host, port, bot, "sendMessage", chat_id=PERSON, text=text)["ok"]:
                    break
                offset = update["update_id"] + 1
            continue
        is_over.wait(0.02)


def ask(host: str, port: int, bot: DeployedAgent, method: str, **fields: Any) -> Any:
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        body, kind = json.dumps(fields).encode(), {"Content-Type": "application/json"}
        connection.request("POST", f"/tg/bot{bot.virtual_token}/{method}", body, kind)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


if __name__ == "__main__":
    main()
