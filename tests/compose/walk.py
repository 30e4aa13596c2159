"""Berth in compose, as an operator has it: `python -m tests.compose.walk`, some minutes.

It builds the images on the base that `manage.py build_images` makes, without a registry of images, brings compose.yaml
up, signs in, deploys an agent against fakes, chats with it, stops and starts it, restarts all containers, and takes
everything down; then it looks whether anything is left.
"""

import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import docker

from tests.compose.installation import Installation, installed
from tests.e2e.service import EMAIL, Answer, Service
from tests.engines import address_of_host, connect
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.ports import reserve_port
from tests.waiting import wait_until

PASSWORD, YOU, WITHIN = "berth in containers", 1001, 300


class Walk:
    def __init__(self, installation: Installation, service: Service, telegram: FakeTelegram, bot: str) -> None:
        self.installation, self.service, self.telegram, self.bot = installation, service, telegram, bot
        self.token = ""
        self.seen = 0

    def call(self, method: str, path: str, body: Any = None) -> Answer:
        return self.service.call(method, path, body, self.token)

    def up(self) -> None:
        try:
            self.installation.compose("up", "--detach", "--no-build")
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{self.installation.compose('logs', '--tail=40')}") from error
        wait_until(self.is_ready, within=WITHIN, every=1, what=lambda: self.installation.compose("logs", "--tail=40"))

    def is_ready(self) -> bool:
        try:
            return self.service.call("GET", "/readyz").status == 200
        except OSError:
            return False

    def sign_in(self) -> None:
        answer = self.service.call("POST", "/api/auth/login", {"email": EMAIL, "password": PASSWORD})
        assert answer.status == 200, answer.text
        self.token = answer.json["token"]

    def deploy(self, key: str) -> str:
        body = {"name": "In compose", "telegramToken": self.bot, "apiKey": key}
        answers: list[Answer] = []

        def is_taken() -> bool:  # the gateway may have to start first
            answers.append(self.call("POST", "/api/projects?wait=30", body))
            return answers[-1].status != 503

        wait_until(is_taken, within=WITHIN, every=2)
        assert answers[-1].status == 201, answers[-1].text
        self.wait_for(answers[-1].json["id"], "running")
        self.telegram.say(self.bot, YOU, f"/start {answers[-1].json['bot']['url'].partition('?start=')[2]}")
        self.hear()
        return str(answers[-1].json["id"])

    def wait_for(self, project: str, status: str) -> None:
        last: list[str] = [""]

        def has_it() -> bool:
            last[0] = self.call("GET", f"/api/projects/{project}").text
            return f'"status":"{status}"' in last[0].replace('": "', '":"')

        wait_until(has_it, within=WITHIN, every=0.5, what=lambda: last[0])

    def chat(self, text: str) -> str:
        self.telegram.say(self.bot, YOU, text)
        return self.hear()

    def hear(self) -> str:
        answer = self.telegram.wait_for_message(self.bot, after=self.seen, timeout=100)
        self.seen = len(self.telegram.sent(self.bot))
        return answer.text


@contextmanager
def begun() -> Iterator[tuple[Walk, str]]:
    bot, key, port = (
        f"{secrets.randbelow(10**9) + 10**9}:{secrets.token_hex(16)}",
        f"sk-c-{secrets.token_hex(16)}",
        reserve_port(),
    )
    with ExitStack() as stack:
        host = address_of_host()
        telegram = stack.enter_context(FakeTelegram(host=host))
        provider = stack.enter_context(FakeProvider(host=host))
        telegram.add_bot(bot, username="compose_bot")
        provider.add_key(key)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="berth-compose-")))
        installation = stack.enter_context(
            installed(
                folder,
                port,
                BERTH_ADMIN_EMAIL=EMAIL,
                BERTH_ADMIN_PASSWORD=PASSWORD,
                BERTH_TELEGRAM_API=telegram.url,
                BERTH_PROVIDER_API=provider.api_base,
                BERTH_EGRESS_ALLOW=",".join(f"{host}/32:{each.port}" for each in (telegram, provider)),
            )
        )
        service = Service(folder, {"BERTH_PORT": str(port)}, checkout=folder)
        stack.callback(service.engine.close)
        yield Walk(installation, service, telegram, bot), key


def find_leftovers(client: docker.APIClient, instance: str) -> list[str]:
    """Returns the names of everything that has the instance's or the project's name."""
    everything = [
        *(each["Names"][0] for each in client.containers(all=True)),
        *(each["Name"] for each in client.volumes()["Volumes"] or []),
        *(each["Name"] for each in client.networks()),
    ]
    return [name for name in everything if name.lstrip("/").startswith(instance)]


def tell(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def main() -> None:
    with begun() as (walk, key):
        instance = walk.installation.name
        tell("The images are built.")
        walk.up()
        walk.sign_in()
        tell("It is up, and you are signed in.")
        project = walk.deploy(key)
        tell(f"The agent runs, and answers: {walk.chat('Hello')}")
        walk.call("POST", f"/api/projects/{project}/control", {"action": "stop"})
        walk.wait_for(project, "stopped")
        walk.call("POST", f"/api/projects/{project}/control", {"action": "start"})
        walk.wait_for(project, "running")
        tell("It was stopped and started.")
        walk.installation.compose("restart")
        wait_until(walk.is_ready, within=WITHIN, every=1)
        walk.wait_for(project, "running")
        tell(f"All containers were restarted, and it answers: {walk.chat('Still there?')}")
        walk.call("DELETE", f"/api/projects/{project}")
        logged = walk.installation.compose("logs", "--no-color", "socket-proxy").splitlines()
        refused = [line for line in logged if "Refused" in line]
        tell(f"The socket proxy has refused {len(refused)} requests.", *refused)
    left = find_leftovers(connect(), instance)
    tell(f"Left: {left or 'nothing'}.")
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
