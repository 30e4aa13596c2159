"""Berth by hand, without Telegram and without a provider.

    .venv/bin/python -m tests.try_out              deploys an agent and lets you chat with it in this terminal
    .venv/bin/python -m tests.try_out --say Hello  prints one answer and ends

It runs `make run` in a copy of this checkout, which leaves out the settings in `var/berth.env`, with a data directory
and an instance of its own, against the fake Bot API and the fake provider of
the tests. At the end it removes all that it made. A Docker engine must be there, as for `make run`.
"""

import argparse
import secrets
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.e2e.service import EMAIL, Answer, Service, copy_checkout, make_environment
from tests.engines import address_of_host
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram
from tests.leftovers import remove_leftovers
from tests.migrated import copy_migrated
from tests.paths import ROOT
from tests.waiting import wait_until

PASSWORD = "try berth by hand"
YOU = 1001
"""The Telegram user that the terminal speaks for."""


class Trial:
    """A running Berth with one deployed agent."""

    def __init__(self, service: Service, telegram: FakeTelegram, provider: FakeProvider, token: str) -> None:
        self.service = service
        self.provider = provider
        self.telegram = telegram
        self.bot_token = token
        self._seen = 0

    def ask(self, text: str) -> str:
        """What the agent answers within 30 seconds. Raises `TimeoutError`."""
        self.telegram.say(self.bot_token, YOU, text)
        answer = self.telegram.wait_for_message(self.bot_token, after=self._seen, timeout=100)
        self._seen = len(self.telegram.sent(self.bot_token))
        return answer.text


@contextmanager
def running_trial(**settings: object) -> Iterator[Trial]:
    """`settings` are those of the agent."""
    bot_token = f"{secrets.randbelow(10**9) + 10**9}:{secrets.token_hex(16)}"
    provider_key = f"sk-try-{secrets.token_hex(16)}"
    with ExitStack() as stack:
        host = address_of_host()
        telegram = stack.enter_context(FakeTelegram(host=host))
        provider = stack.enter_context(FakeProvider(host=host))
        telegram.add_bot(bot_token, username="try_berth_bot")
        provider.add_key(provider_key)
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="berth-try-")))
        allow = [f"{host}/32:{fake.port}" for fake in (telegram, provider)]
        environment = make_environment(
            data, telegram=telegram.url, provider=provider.api_base, allow=allow, instance="try"
        )
        environment["BERTH_ADMIN_PASSWORD"] = PASSWORD
        if "DATABASE_URL" not in environment:
            copy_migrated(data / "var")
        service = Service(data, environment, checkout=make_checkout(data / "checkout"))
        stack.callback(service.engine.close)
        stack.callback(remove_leftovers, environment)
        stack.callback(service.interrupt_if_running)
        service.start()
        link = deploy(service, bot_token, provider_key, settings)
        trial = Trial(service, telegram, provider, bot_token)
        trial.ask(f"/start {link.partition('?start=')[2]}")  # pairs the terminal with the agent
        yield trial


def make_checkout(folder: Path) -> Path:
    """With all that is here but what git ignores, such as the developer's own settings; with the same environment."""
    copy_checkout(folder)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def deploy(service: Service, bot_token: str, provider_key: str, settings: Mapping[str, object]) -> str:
    """Returns the link by which its owner pairs."""
    login = service.call("POST", "/api/auth/login", {"email": EMAIL, "password": PASSWORD})
    body = {"name": "Try-out", "telegramToken": bot_token, "apiKey": provider_key, "settings": settings}
    answers: list[Answer] = []

    def is_taken() -> bool:  # a machine that is busy has no gateway yet
        answers.append(service.call("POST", "/api/projects?wait=30", body, login.json["token"]))
        return answers[-1].status != 503

    wait_until(is_taken, within=300, every=1)
    answer = answers[-1]
    if answer.status != 201:
        raise SystemExit(f"The agent is not deployed: {answer.text}")
    path, token = f"/api/projects/{answer.json['id']}", login.json["token"]

    def runs() -> bool:  # one that was too early for its provider comes right by itself
        return bool(service.call("GET", path, token=token).json["status"] == "running")

    wait_until(runs, within=300, every=0.5)
    return str(answer.json["bot"]["url"])


def chat(trial: Trial) -> None:
    tell(f"Dashboard: {trial.service.address} ({EMAIL}, password “{PASSWORD}”). Log: {trial.service.log}")
    tell("The agent runs. Write to it; Ctrl-D ends and removes everything.")
    for line in sys.stdin:
        if line.strip():
            tell(trial.ask(line.strip()))


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Try Berth by hand, with a fake Telegram and a fake provider.")
    parser.add_argument("--say", metavar="TEXT", help="say this, print the answer and end")
    options = parser.parse_args()
    tell("Starting Berth and an agent. The first time this builds the agent's image, which takes minutes.")
    with running_trial() as trial:
        if options.say:
            tell(trial.ask(options.say))
        else:
            chat(trial)


if __name__ == "__main__":
    main()
