"""A `NAME_FILE` may name a file of any kind: Berth and its scripts use it, or refuse it in a sentence, in time."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment import env, small_files
from config.environment.key_files import secret
from tests.config.backup.test_files_of_arguments import KINDS as OF_ARGUMENTS
from tests.paths import ROOT

pytestmark = [pytest.mark.one_database, pytest.mark.timeout(60)]

KINDS: dict[str, Callable[[Path], object]] = OF_ARGUMENTS | {
    "value": lambda path: path.write_text(" /srv/berth \r\n"),
    "link": lambda path: path.symlink_to("/proc/self/comm"),
    "not UTF-8": lambda path: path.write_bytes(b"/srv/\xff"),
    "UTF-16": lambda path: path.write_text("/srv/berth", encoding="utf-16-le"),
    "null byte": lambda path: path.write_bytes(b"/srv\0/berth"),
}
READ = {"empty", "text", "value", "link", "null"}
ONLY_BERTH_READS, ONLY_BERTH_REFUSES = {"null"}, {"not UTF-8"}


def read_as_berth() -> str:
    """Returns the value, or the sentence of the refusal after a colon."""
    try:
        return env.text("BERTH_DATA_DIR")
    except ImproperlyConfigured as refusal:
        return f": {refusal}"


def read_as_scripts() -> str:
    asked = ["bash", "-c", "source config/bin/common.sh; read_variable BERTH_DATA_DIR"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, check=False, timeout=30)
    assert (done.returncode, bool(done.stdout)) in {(0, True), (0, False), (1, False)}
    assert bool(done.stderr) == bool(done.returncode)
    return f": {done.stderr.decode().removesuffix(chr(10))}" if done.stderr else done.stdout.decode(errors="replace")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_any_kind_is_read_or_refused_in_a_sentence(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(small_files, "PATIENCE", 0.2)
    file = tmp_path / ("x" * 300 if kind == "long name" else "file")
    KINDS[kind](file)
    monkeypatch.setenv("BERTH_DATA_DIR_FILE", str(file))
    monkeypatch.delenv("BERTH_DATA_DIR", raising=False)
    berth, scripts = read_as_berth(), read_as_scripts()
    assert berth.startswith(": ") == (kind not in READ), berth
    assert scripts.startswith(": ") == (kind not in READ - ONLY_BERTH_READS | ONLY_BERTH_REFUSES), scripts
    for said in (berth, scripts):
        if said.startswith(": "):
            assert said.startswith(": BERTH_DATA_DIR_FILE names a file that cannot be read")
            assert said.endswith("Correct the path or its permissions.")
            assert "\n" not in said
    if kind == "value":
        assert berth == scripts == "/srv/berth"


def test_a_value_may_come_from_another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    reads, writes = os.pipe()
    with os.fdopen(writes, "w") as pipe:
        pipe.write("8123\n")
    monkeypatch.setenv("BERTH_PORT_FILE", f"/dev/fd/{reads}")
    assert env.number("BERTH_PORT", 8000, low=1, high=9000) == 8123
    os.close(reads)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"missing", "long name"}))
def test_a_key_file_of_any_kind_is_a_key_or_a_sentence(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(small_files, "PATIENCE", 0.2)
    KINDS[kind](tmp_path / "x.key")
    with pytest.raises(ImproperlyConfigured) as refused:
        secret("BERTH_X", tmp_path)
    assert str(refused.value).startswith("BERTH_X")
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)
