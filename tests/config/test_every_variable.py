"""No value of any variable makes a traceback: it is taken, or refused by one sentence that names the variable."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.sampling import Some

ROWS = re.findall(r"^\| (`[A-Z].*?) \|", (ROOT / "docs/configuration.md").read_text(), re.MULTILINE)
VARIABLES = sorted({name for row in ROWS for name in re.findall(r"`([A-Z_]+)`", row)})

HOSTILE = [
    "nonsense", "-1", "0", "1e999", "9" * 5000, "A" * 5000, "٣", "1_0", " ", "é", "\udcff", "x y", "a\tb", "a\nb", "'",
    "%s", "{}", "{0}", "$(id)", "../../..", "/dev/null", "/proc/nonexistent/x", "~nobody-has-this-name/x", "null",
    "true",
    "http://", "http://[", "http://[::1", "http://x:99999", "http://user:pw@x", "https://x y", "http://x:0",
    "redis://x:abc", "postgresql://u:p@[h/n", "postgresql://u:p@h:0/n", "smtp://", "smtp://h:abc", "smtp://h:99999",
    "smtp://h\n", "a@b\nBcc: x", "10.0.0.0/33", "10.0.0.5/32:", "10.0.0.5/32:+80", "[::1", "[]", ":", ",,,", "*",
    "::1%eth0", "host:port", "unix://", "tcp://x:abc", "inf", "nan",
]  # fmt: skip

# Imports the settings once for each value, in a child of a process that has imported what they import.
TRY = """
import json, os, sys, traceback
import csp.constants, cryptography.fernet, environ, django.conf, config.env_servers
from django.core.exceptions import ImproperlyConfigured

def attempt(name, value):
    os.environ[name] = value
    try:
        import config.settings
    except ImproperlyConfigured as refusal:
        return str(refusal)
    except BaseException:
        return traceback.format_exc()
    return ""

for name, value in json.load(sys.stdin):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, attempt(name, value).encode(errors="replace")[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        print(json.dumps([name, value, said.read().decode()]))
    os.wait()
"""

pytestmark = [pytest.mark.one_database, pytest.mark.every_case]


def test_there_are_variables() -> None:
    assert len(VARIABLES) > 45


def test_every_hostile_value_is_taken_or_refused_in_one_sentence(tmp_path: Path, some: Some) -> None:
    cases = some([(name, value) for name in VARIABLES for value in HOSTILE], one_in=7)
    here = tmp_path / "so/that/a/relative/path/stays/inside"
    here.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BERTH_", "D"))}
    done = subprocess.run(
        [sys.executable, "-c", TRY], input=json.dumps(cases), text=True, capture_output=True, check=True, cwd=here,
        env=environment | {"BERTH_DATA_DIR": str(tmp_path / "var"), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(cases)
    assert [answer for answer in answers if answer[2] and not is_one_sentence(*answer)] == []
    assert len([answer for answer in answers if answer[2]]) > len(answers) // 4


def is_one_sentence(name: str, _value: str, text: str) -> bool:
    """A sentence that ends with a command to type has no full stop behind it."""
    return name in text and "\n" not in text and len(text) < 600 and bool(re.search(r"\.$|: chmod 700 \S+$", text))
