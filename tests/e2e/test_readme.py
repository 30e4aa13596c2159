"""The README's commands for the API and for the command line, typed word for word against a service that runs."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.canaries import CANARY_API_KEY, CANARY_PASSWORD
from tests.e2e.service import EMAIL, Service
from tests.e2e.settling import GENEROUS, carry_out, sign_in
from tests.e2e.terminal import CTRL_C, Terminal
from tests.fakes.telegram import FakeTelegram
from tests.paths import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

BOT = "700000777:CANARYtokenOfTheReadersBotCANARY001"
NAME = "Harbour pilot"


def read_blocks(heading: str) -> list[str]:
    """Returns the shell commands between this heading of the README and the next one."""
    chapter = re.split(r"^#+ ", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    [found] = [each for each in chapter if each.startswith(f"{heading}\n")]
    blocks = re.findall(r"^```sh\n(.*?)^```", found, re.MULTILINE | re.DOTALL)
    assert blocks
    return blocks


class Reader:
    """Fills in what the README leaves to its reader, and types the rest as it is."""

    def __init__(self, service: Service, home: Path) -> None:
        self.service, self.home = service, home
        self.known = {
            "http://127.0.0.1:8000": service.address,
            "admin@berth.localhost": EMAIL,
            "<the password>": CANARY_PASSWORD,
            "<bot token>": BOT,
            "<provider key>": CANARY_API_KEY,
        }
        self.environment = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        self._before = ""

    def fill(self, text: str) -> str:
        for placeholder, value in self.known.items():
            text = text.replace(placeholder, value)
        left = re.search(r"<[a-z ]+>", text)
        assert left is None, f"The test does not know {left}."
        return text

    def run(self, block: str) -> list[Any]:
        """Returns the JSON documents that the commands print, in a shell that has the variables of earlier commands."""
        script = f"{self._before}{self.fill(block)}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.home, env=self.environment, capture_output=True, text=True, timeout=GENEROUS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        documents, rest = [], done.stdout.strip()
        while rest:
            document, end = json.JSONDecoder().raw_decode(rest)
            documents.append(document)
            rest = rest[end:].strip()
        return documents

    def keep(self, line: str) -> None:
        self._before += f"{self.fill(line)}\n"


def deploy(reader: Reader, block: str) -> Any:
    """Types the command again while the answer asks for that, because the gateway may have to start first."""
    answers: list[Any] = []

    def is_taken() -> bool:
        answers[:] = reader.run(block)
        return bool(answers[0]["status"] != 503)

    wait_until(is_taken, within=GENEROUS, every=2, what=lambda: str(answers))
    assert "id" in answers[0], answers
    return answers[0]


def status_of(service: Service, token: str, project: str) -> str:
    return str(service.call("GET", f"/api/projects/{project}", token=token).json["status"])


@pytest.fixture
def reader(service: Service, telegram: FakeTelegram, tmp_path: Path) -> Iterator[Reader]:
    """The bot is the reader's own, and has no agent at the end."""
    telegram.add_bot(BOT, username="readers_bot")
    token = sign_in(service)
    before = ids_of_projects(service, token)
    yield Reader(service, tmp_path)
    for project in ids_of_projects(service, token) - before:
        assert service.call("DELETE", f"/api/projects/{project}", token=token).status == 204


def ids_of_projects(service: Service, token: str) -> set[str]:
    return {each["id"] for each in service.call("GET", "/api/projects", token=token).json}


def test_the_commands_for_curl_deploy_list_and_stop_an_agent(reader: Reader, service: Service) -> None:
    signing_in, deploying, controlling = read_blocks("Deploy your first agent")
    login, assignment = re.fullmatch(r"(.*)^(TOKEN=.*)\n", signing_in, re.MULTILINE | re.DOTALL).groups()  # type: ignore[union-attr]  # a README of another form is to fail here
    [session] = reader.run(login)
    assert session["user"]["email"] == EMAIL
    reader.known["<the token>"] = session["token"]
    reader.keep(assignment)
    deployed = deploy(reader, deploying)
    token, project = session["token"], deployed["id"]
    assert deployed["name"] == NAME
    wait_until(lambda: status_of(service, token, project) == "running", within=GENEROUS, every=0.5)
    assert re.fullmatch(r"https://t\.me/readers_bot\?start=\S+", deployed["bot"]["url"])
    reader.known["<id>"] = project
    listed, stopped = reader.run(controlling)
    assert (project, "running") in [(each["id"], each["status"]) for each in listed]
    assert stopped["id"] == project
    for words, status in (("stop", "stopped"), ("start", "running"), ("restart", "running")):
        assert carry_out(service, token, project, words)["status"] == status


@pytest.mark.parametrize("beside", ["nothing", "a folder named berth"])
def test_the_commands_for_the_command_line_fetch_it_wherever_they_are_typed(reader: Reader, beside: str) -> None:
    if beside != "nothing":
        (reader.home / "berth").mkdir()
    fetching, *_ = read_blocks("Or use the command line")[0].splitlines()
    assert reader.run(fetching) == []
    program = reader.home / ".local/bin/berth"
    assert os.access(program, os.X_OK)
    said = subprocess.check_output([program, "-h"], env=reader.environment, text=True)
    assert "deploy" in said


def test_the_commands_for_the_command_line_ask_for_what_is_missing(reader: Reader) -> None:
    [block] = read_blocks("Or use the command line")
    *preparing, signing_in, deploying, following = reader.fill(block).splitlines()
    with Terminal(folder=reader.home, environment=reader.environment) as terminal:
        for line in preparing:
            terminal.type(line)
        terminal.type(signing_in)
        terminal.wait_for("Email: ", within=GENEROUS)
        terminal.type(EMAIL)
        terminal.wait_for("Password: ", within=GENEROUS)
        terminal.type(CANARY_PASSWORD)
        terminal.wait_for(f"You are signed in to {reader.service.address} as {EMAIL}.", within=GENEROUS)
        terminal.type(deploying)
        terminal.wait_for("Name of the agent: ", within=GENEROUS)
        terminal.type(NAME)
        for question, answer in (
            ("Plan, one of", ""), ("Token of the Telegram bot: ", BOT), ("API key of the provider: ", CANARY_API_KEY),
        ):  # fmt: skip
            terminal.wait_for(question, within=GENEROUS)
            terminal.type(answer)
        terminal.wait_for(f"{NAME} is running: https://t.me/readers_bot?start=", within=GENEROUS)
        terminal.type(following)
        terminal.wait_for("AGENT", within=GENEROUS)
        terminal.press(CTRL_C)
        terminal.wait_for("$ ", within=GENEROUS)
    assert CANARY_PASSWORD not in terminal.said
    assert CANARY_API_KEY not in terminal.said
