"""The agent writes no credential anywhere, at the most verbose log level and with every kind of error."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.agent import Agent
from tests.fakes.provider import FakeProvider
from tests.fakes.telegram import FakeTelegram

LOUD = {"AGENT_LOG_LEVEL": "DEBUG", "OPENAI_LOG": "debug", "ANTHROPIC_LOG": "debug", "PYTHONASYNCIODEBUG": "1"}


def assert_silent(agent: Agent, directory: Path) -> None:
    written = [agent.output, *(path.read_text("latin-1") for path in directory.rglob("*") if path.is_file())]
    kept = [text for text in written if text not in agent.secrets.values()]
    for text in kept:
        assert "CANARY" not in text
        assert "canary" not in text.replace("canary_bot", "")


@pytest.mark.rare(1)
@pytest.mark.parametrize("prefix", ["sk-", "sk-or-", "sk-ant-"])
def test_the_debug_log_of_a_whole_run_has_no_credential(
    agent: Agent, provider: FakeProvider, telegram: FakeTelegram, token: str, prefix: str, ask: Callable[..., str]
) -> None:
    key = agent.secrets["agent_api_key"] = f"{prefix}CANARYkeyCANARYkeyCANARY"
    provider.add_key(key)
    agent.start(anew=True, **LOUD).wait_for("running")
    assert "DEBUG" in agent.output
    ask("Hello?")
    provider.reject(key)
    ask("Hello?")
    telegram.break_down(token, times=1)
    telegram.say(token, 1, "Hello?")
    telegram.garbage(token, "getUpdates", times=1)
    telegram.revoke(token)
    assert agent.wait_for_exit() == 20
    assert_silent(agent, agent.directory)


def test_rejected_credentials_are_not_logged(agent: Agent, tmp_path: Path) -> None:
    agent.secrets["agent_api_key"] = "sk-CANARYwrongkeyCANARY"
    assert agent.start(anew=True, **LOUD).wait_for_exit() == 30
    assert_silent(agent, tmp_path)
    agent.secrets["telegram_bot_token"] = "123456789:CANARYwrongtokenCANARYwrongtoken"
    assert agent.start(anew=True, **LOUD).wait_for_exit() == 20
    assert_silent(agent, tmp_path)


def test_a_crash_report_has_no_credential(agent: Agent, tmp_path: Path) -> None:
    """A module of that name breaks the import of the telegram library with a message that contains both."""
    agent.start()
    agent.kill()
    secrets = [tmp_path / "secrets" / name for name in agent.secrets]
    broken = tmp_path / "broken" / "httpx"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text(
        f"from pathlib import Path\nraise RuntimeError([Path(p).read_text() for p in {[str(s) for s in secrets]!r}])\n"
    )
    path = f"{tmp_path / 'broken'}:{agent.image}"
    assert agent.start(anew=True, PYTHONPATH=path).wait_for_exit() == 1
    assert "RuntimeError" in agent.output
    assert agent.file["code"] == "crash"
    assert_silent(agent, tmp_path)


def test_text_that_looks_like_a_credential_is_redacted_too() -> None:
    from berth_agent.redaction import RedactingFormatter, Redactor

    redactor = Redactor()
    redactor.learn("123456:abc/def+gh", "my-odd-key")
    for secret in ("123456:abc/def+gh", "123456%3Aabc%2Fdef%2Bgh", "abc/def+gh", "my-odd-key"):
        assert redactor.clean(f"GET /bot{secret}/getMe") == "GET /bot[redacted]/getMe"
    assert redactor.clean("key: sk-abcde***wxyz.") == "key: [redacted]."
    record = logging.LogRecord("x", 10, "", 0, "url %s", ("7654321:AAAAbbbbCCCCddddEEEEffff",), None)
    assert RedactingFormatter("%(message)s").format(record) == "url [redacted]"
