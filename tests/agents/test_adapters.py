"""What the adapters of nanobot and Hermes write and start. The programs themselves are not installed here."""

import importlib
import json
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from containers.docker_api.building.image_build import IMAGES, BuildContext
from tests.agents.agent import lay_out
from tests.canaries import find_canary

pytestmark = pytest.mark.one_database

TYPES = ("hermes", "nanobot")
FILES = {"hermes": "hermes/config.yaml", "nanobot": "nanobot/config.json"}
TOKEN, KEY = "700000001:CANARYtokenCANARYtokenCANARYtoken01", "CANARYkeyCANARYkeyCANARYkeyCANARYkey"


@pytest.fixture(scope="module", autouse=True)
def adapters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Makes the adapters importable, as in their images."""
    folder = str(lay_out(tmp_path_factory.mktemp("adapters"), *TYPES))
    sys.path.append(folder)
    yield
    sys.path.remove(folder)


def write(kind: str, tmp_path: Path, *, prefix: str = "sk-", **env: str) -> tuple[Any, dict[str, Any]]:
    """Returns the command to start, and the configuration written for it."""
    from berth_agent.relay.addresses import Addresses
    from berth_agent.relay.config import read_config
    from berth_agent.relay.provider import name_of

    for name in ("secrets", "data", "run"):
        (tmp_path / name).mkdir()
    (tmp_path / "secrets/telegram_bot_token").write_text(TOKEN)
    (tmp_path / "secrets/agent_api_key").write_text(prefix + KEY)
    places = {f"AGENT_{name.upper()}_DIR": str(tmp_path / name) for name in ("secrets", "data", "run")}
    given = {"AGENT_MODEL": "some-model", "AGENT_ALLOWED_USERS": "41,@ada", "AGENT_INSTRUCTIONS": "Speak in rhymes."}
    config = read_config(places | given | env)
    relay = Addresses("http://127.0.0.1:1234", f"/{name_of(config.provider)}", config)
    program = importlib.import_module(f"{kind}_adapter.configuration").prepare(config, relay)
    return program, json.loads((config.data / FILES[kind]).read_text())


@pytest.mark.parametrize("prefix", ["sk-", "sk-or-", "sk-ant-"])
@pytest.mark.parametrize("kind", TYPES)
def test_it_asks_the_relay_and_knows_no_credential(tmp_path: Path, kind: str, prefix: str) -> None:
    program, configuration = write(kind, tmp_path, prefix=prefix)
    written = "".join(path.read_text() for path in (tmp_path / "data").rglob("*") if path.is_file())
    given = json.dumps([program.command, program.environment])
    assert find_canary(written + given) is None
    protocol = "anthropic" if prefix == "sk-ant-" else "openai/v1"
    assert json.dumps(configuration).count(f'"http://127.0.0.1:1234/{protocol}"') == 1
    assert "http://127.0.0.1:1234/telegram/bot" in written + given
    assert "Speak in rhymes." in written + given
    assert "some-model" in written
    assert program.environment["NO_PROXY"] == "127.0.0.1"


@pytest.mark.parametrize("kind", TYPES)
def test_tools_are_off_until_a_setting_turns_them_on(tmp_path: Path, kind: str) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "with").mkdir()
    _, without = write(kind, tmp_path / "without")
    _, with_tools = write(kind, tmp_path / "with", AGENT_SETTINGS='{"tools": true, "web": true, "by_itself": true}')
    if kind == "hermes":
        assert without["platform_toolsets"]["telegram"] == ["memory", "session_search", "todo"]
        assert {"terminal", "file"} < set(with_tools["platform_toolsets"]["telegram"])
        return
    switches = ("exec", "file", "web", "cliApps", "my")
    assert [without["tools"][name]["enable"] for name in switches] == [False] * 5
    assert [with_tools["tools"][name]["enable"] for name in switches] == [True, True, True, False, False]
    assert without["agents"]["defaults"]["dream"] == without["gateway"]["heartbeat"] == {"enabled": False}
    assert with_tools["gateway"]["heartbeat"] == {"enabled": True}
    assert without["channels"]["websocket"] == {"enabled": False}


@pytest.mark.parametrize("setting", ['{"tools": "true"}', '{"tools": 1}', '{"tools": null}'])
@pytest.mark.parametrize("kind", TYPES)
def test_only_true_turns_tools_on(tmp_path: Path, kind: str, setting: str) -> None:
    _, configuration = write(kind, tmp_path, AGENT_SETTINGS=setting)
    assert '"terminal", ' not in json.dumps(configuration)
    assert kind == "hermes" or configuration["tools"]["exec"] == {"enable": False}


def test_every_bot_that_nanobot_builds_asks_the_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    from nanobot_adapter.program import point_at_relay
    from telegram.ext import ApplicationBuilder

    monkeypatch.setenv("BERTH_BOT_BASE", "http://127.0.0.1:1234/telegram/bot")
    monkeypatch.setenv("BERTH_FILE_BASE", "http://127.0.0.1:1234/telegram/file/bot")
    monkeypatch.setattr(ApplicationBuilder, "token", ApplicationBuilder.token)  # and put back afterwards
    point_at_relay(ApplicationBuilder)
    bot = ApplicationBuilder().token("1:relayed").build().bot
    assert bot.base_url == "http://127.0.0.1:1234/telegram/bot1:relayed"
    assert bot.base_file_url == "http://127.0.0.1:1234/telegram/file/bot1:relayed"


@pytest.mark.parametrize("kind", TYPES)
def test_hermes_sends_unprompted_messages_to_the_first_allowed_user(tmp_path: Path, kind: str) -> None:
    program, _ = write(kind, tmp_path)
    assert program.environment.get("TELEGRAM_HOME_CHANNEL") == ("41" if kind == "hermes" else None)


@pytest.mark.parametrize(("tools", "folders"), [("false", None), ("true", "data/hermes/workspace")])
def test_hermes_sends_only_files_of_its_workspace(tmp_path: Path, tools: str, folders: str | None) -> None:
    program, _ = write("hermes", tmp_path, AGENT_SETTINGS=f'{{"tools": {tools}}}')
    media = {name: value for name, value in program.environment.items() if name.startswith("HERMES_MEDIA_")}
    assert media.pop("HERMES_MEDIA_ALLOW_DIRS", None) == (str(tmp_path / folders) if folders else None)
    assert media == {"HERMES_MEDIA_DELIVERY_STRICT": "1", "HERMES_MEDIA_TRUST_RECENT_FILES": "0"}


def test_hermes_waits_longer_than_the_relay_holds_a_message(tmp_path: Path) -> None:
    from berth_agent.relay.telegram import RETRY_SECONDS

    program, _ = write("hermes", tmp_path)
    assert float(program.environment["HERMES_TELEGRAM_HTTP_READ_TIMEOUT"]) > RETRY_SECONDS + 20


@pytest.mark.parametrize("kind", TYPES)
def test_its_image_is_pinned_by_hash_and_names_its_authors(kind: str) -> None:
    with tarfile.open(fileobj=BuildContext(folder=IMAGES / kind).pack()) as archive:
        assert {"NOTICE", "requirements.txt", "agent_contract.py"} <= set(archive.getnames())
    pinned = (IMAGES / kind / "requirements.txt").read_text()
    packages = re.findall(r"^[a-z][^\s=]*==\S+(?: ;[^\\]*)? \\\n    --hash=sha256:", pinned, re.MULTILINE)
    assert len(packages) == len(re.findall(r"^[a-z]", pinned, re.MULTILINE)) > 50
    for line in (IMAGES / kind / "requirements.in").read_text().splitlines():
        name = re.sub(r"\[.*\]", "", line)
        assert f"\n{name} " in f"\n{pinned}"
    assert "MIT" in (IMAGES / kind / "NOTICE").read_text()
