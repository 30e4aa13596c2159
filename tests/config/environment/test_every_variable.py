"""No value of any variable causes a traceback: it is accepted, or refused in one sentence that names the variable."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.environment.values_of_variables import NOT_TEXT, VALUES
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
import csp.constants, cryptography.fernet, environ, django.conf, config.environment.servers
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


def test_every_variable_has_values_that_work_and_values_that_cannot() -> None:
    assert sorted(VALUES) == VARIABLES


@pytest.mark.rare(1)
def test_every_hostile_value_is_accepted_or_refused_in_one_sentence(tmp_path: Path, some: Some) -> None:
    cases = some([(name, value) for name in VARIABLES for value in HOSTILE], one_in=7)
    answers = try_values(tmp_path, cases)
    assert [answer for answer in answers if answer[2] and not is_one_sentence(*answer)] == []
    assert len([answer for answer in answers if answer[2]]) > len(answers) // 4


@pytest.mark.rare(1)
def test_values_that_work_are_accepted(tmp_path: Path) -> None:
    cases = [(name, value) for name, (taken, _) in VALUES.items() for value in taken]
    assert [answer for answer in try_values(tmp_path, cases) if answer[2]] == []


@pytest.mark.rare(1)
def test_values_that_cannot_work_are_refused_in_one_sentence(tmp_path: Path, some: Some) -> None:
    cases = [(name, value) for name, (_, refused) in VALUES.items() for value in [*refused, NOT_TEXT]]
    answers = try_values(tmp_path, some(cases, one_in=4))
    assert [answer[:2] for answer in answers if not answer[2]] == []
    assert [answer for answer in answers if not is_one_sentence(*answer)] == []


def test_no_sentence_repeats_a_password(tmp_path: Path) -> None:
    urls = {
        "DATABASE_URL": "postgresql",
        "BERTH_CACHE_URL": "redis",
        "BERTH_EMAIL_URL": "smtp",
        "BERTH_PUBLIC_URL": "https",
    }
    ends = ["h", "h:0/n", "h:x/n", "h/n?foo=bar", "h/n?sslmode=bogus&db=x", "x y/n", "h/n#f", "[::1/n"]
    cases = [(name, f"{scheme}://user:s3cret@{end}") for name, scheme in urls.items() for end in ends]
    refusals = [answer for answer in try_values(tmp_path, cases) if answer[2]]
    assert len(refusals) > 25
    assert [answer for answer in refusals if "s3cret" in answer[2]] == []


def try_values(tmp_path: Path, cases: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Returns for each value what the settings say against it; empty if they accept it."""
    here = tmp_path / "so/that/a/relative/path/stays/inside"
    here.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BERTH_", "D"))}
    done = subprocess.run(
        [sys.executable, "-c", TRY], input=json.dumps(cases), text=True, capture_output=True, check=True, cwd=here,
        env=environment | {"BERTH_DATA_DIR": str(tmp_path / "var"), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    answers: list[tuple[str, str, str]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(cases)
    return answers


def is_one_sentence(name: str, _value: str, text: str) -> bool:
    """A sentence that ends with a command to type has no full stop after it."""
    return name in text and "\n" not in text and len(text) < 600 and bool(re.search(r"\.$|: chmod 700 \S+$", text))
