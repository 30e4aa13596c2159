"""Configuration that cannot work stops every command with one sentence that names the variable."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment import addresses
from tests.config.warm_commands import Done, WarmCommands, warm_commands
from tests.paths import ROOT

UNUSABLE = [
    ("DATABASE_URL", "mysql://root@localhost/berth"),
    ("DATABASE_URL", "nonsense"),
    ("DATABASE_URL", "postgresql://berth@localhost:port/berth"),
    ("BERTH_DATA_DIR", "/proc/nothing/can/be/made/here"),
    ("BERTH_PORT", "eighty"),
    ("BERTH_PORT", "0"),
    ("BERTH_PORT", "65536"),
    ("BERTH_PUBLIC_URL", "berth.example"),
    ("BERTH_PUBLIC_URL", "ftp://berth.example"),
    ("BERTH_PUBLIC_URL", "https://"),
    ("BERTH_TOKEN_KEY", "short"),
    ("BERTH_ENCRYPTION_KEYS", "not-a-fernet-key"),
    ("BERTH_ENCRYPTION_KEYS", ",,,"),
    ("BERTH_ENGINE", "podman"),
    ("BERTH_SWARM_ACCEPT", "seccomp,everything"),
    ("BERTH_SWARM_VOLUME_OPTIONS", "type=nfs device"),
    ("BERTH_INSTANCE", "Not A Name"),
    ("BERTH_INSTANCE", "x" * 21),
    ("BERTH_TELEGRAM_API", "telegram.internal"),
    ("BERTH_PROVIDER_API", "unix:///gateway"),
    ("BERTH_EGRESS_ALLOW", "10.0.0.0/8,everything"),
    ("BERTH_DNS", "9.9.9.9,::1"),
    ("BERTH_EGRESS_ALLOW", "10.0.0.5/32:70000"),
    ("BERTH_CACHE_URL", "memcached://localhost"),
    ("BERTH_SIGNUP", "maybe"),
    ("BERTH_SIGNUP", "open"),  # without a mail server
    ("BERTH_EMAIL_URL", "mail.example.org"),
    ("BERTH_EMAIL_URL", "http://mail.example.org"),
    ("BERTH_VERIFY_CREDENTIALS", "1"),
    ("BERTH_LOG_FORMAT", "xml"),
    *(("BERTH_UID_BASE", value) for value in ("0", "-1", "root", "1000", "10001", "2000000001", "4294967295", "1e5")),
    ("BERTH_WORKERS", "0"),
    ("BERTH_THREADS", "-1"),
    ("BERTH_TRUSTED_PROXIES", "all"),
    ("BERTH_ROLE", "worker"),
    ("BERTH_ROLE", "web"),  # without PostgreSQL
    ("BERTH_DRAIN_SECONDS", "-1"),
]


class Check(Protocol):
    def __call__(self, **variables: str) -> Done: ...


@pytest.fixture(scope="module")
def commands() -> Iterator[WarmCommands]:
    with warm_commands() as ready:
        yield ready


@pytest.fixture
def check(commands: WarmCommands, tmp_path: Path) -> Check:
    """Runs `manage.py check` with these variables."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    kept |= {"BERTH_DATA_DIR": str(tmp_path / "data")}
    return lambda **variables: commands.run(tmp_path, "check", environment=kept | variables)


def assert_one_sentence(result: Done, name: str) -> None:
    assert result.returncode == 2
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert name in lines[0]
    assert lines[0].endswith(".")


@pytest.mark.parametrize(("name", "value"), UNUSABLE)
def test_a_value_that_cannot_be_used_stops_the_start(check: Check, name: str, value: str) -> None:
    assert_one_sentence(check(**{name: value}), name)


def test_a_command_in_a_separate_interpreter_behaves_the_same(tmp_path: Path) -> None:
    variables = {"BERTH_DATA_DIR": str(tmp_path), "BERTH_PORT": "eighty", "PATH": os.environ["PATH"]}
    command = [sys.executable, "manage.py", "check"]
    ended = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert_one_sentence(Done(ended.returncode, ended.stdout, ended.stderr), "BERTH_PORT")


def test_a_variable_together_with_its_file_prevents_the_start(check: Check) -> None:
    result = check(BERTH_PORT="8000", BERTH_PORT_FILE="/etc/hostname")
    assert_one_sentence(result, "BERTH_PORT_FILE")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"], ids=["missing", "not text"])
def test_a_file_that_cannot_be_read_stops_the_start(tmp_path: Path, check: Check, content: bytes | None) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    assert_one_sentence(check(BERTH_TOKEN_KEY_FILE=str(path)), "BERTH_TOKEN_KEY_FILE")


def test_an_empty_key_file_stops_the_start(tmp_path: Path, check: Check) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "encryption_keys.key").write_text("")
    assert_one_sentence(check(), "BERTH_ENCRYPTION_KEYS")


def test_no_sentence_repeats_a_secret(check: Check) -> None:
    secret = "s3cret-s3cret"
    for name in ("BERTH_TOKEN_KEY", "BERTH_ENCRYPTION_KEYS"):
        assert secret not in check(**{name: secret}).stderr
    assert secret not in check(DATABASE_URL=f"mysql://root:{secret}@localhost/berth").stderr


def test_the_defaults_are_usable_and_make_private_keys(tmp_path: Path, check: Check) -> None:
    result = check()
    assert result.returncode == 0, result.stderr
    data = tmp_path / "data"
    keys = {path.name: path for path in data.glob("*.key")}
    assert set(keys) == {"secret_key.key", "token_key.key", "encryption_keys.key"}
    assert data.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in keys.values()} == {0o600}


def test_keys_are_made_once(tmp_path: Path, check: Check) -> None:
    check()
    first = {path: path.read_text() for path in (tmp_path / "data").glob("*.key")}
    check()
    assert {path: path.read_text() for path in (tmp_path / "data").glob("*.key")} == first


@pytest.mark.parametrize(
    "value",
    [
        *("127.0.0.53", "9.9.9.9,127.1.2.3", "::1", "::ffff:127.0.0.1", "::", "0.0.0.0", "224.0.0.1", "ff02::1"),
        *("fe80::1%eth0", "dns.example", "9.9.9.9:53", "[2620:fe::fe]", "9.9.9.9/32", "1", "٩.9.9.9"),
    ],
)
def test_an_unusable_name_server_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_DNS", value)
    with pytest.raises(ImproperlyConfigured, match="BERTH_DNS"):
        addresses.name_servers("BERTH_DNS")


def test_name_servers_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_DNS", "9.9.9.9, 2620:fe::FE,10.0.0.53")
    assert addresses.name_servers("BERTH_DNS") == ["9.9.9.9", "2620:fe::fe", "10.0.0.53"]
    monkeypatch.setenv("BERTH_DNS", "")
    assert addresses.name_servers("BERTH_DNS") == []


@pytest.mark.parametrize(("driver", "code"), [("local", 0), ("", 2)])
def test_options_of_a_volume_need_a_driver(check: Check, driver: str, code: int) -> None:
    options = "type=nfs device=:/a/{agent}"
    result = check(BERTH_SWARM_VOLUME_DRIVER=driver, BERTH_SWARM_VOLUME_OPTIONS=options)
    assert result.returncode == code, result.stderr
    assert ("BERTH_SWARM_VOLUME_DRIVER" in result.stderr) == bool(code)


@pytest.mark.rare(1)
def test_an_argument_that_is_not_utf_8_is_refused_in_a_sentence(tmp_path: Path) -> None:
    variables = {"BERTH_DATA_DIR": str(tmp_path), "PATH": os.environ["PATH"]}
    command: list[str | bytes] = [sys.executable, "manage.py", "quarantine", "log", b"\xff"]
    ended = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (2, "An argument is not valid UTF-8. Write it in UTF-8.\n")
