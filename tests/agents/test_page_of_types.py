"""The pages about agents: each figure is the program's own or a measured one, and each command exists.

`tests/projects/images/test_own_type.py` follows the instructions of `docs/agent-types.md`.
"""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

import tests.gateway.import_path  # noqa: F401 - makes the gateway importable
from containers.docker_api.building.image_build import IMAGES, find_contexts
from tests.paths import ROOT

pytestmark = pytest.mark.one_database

PAGES = ("docs/agent-types.md", "docs/assistant.md", "tests/agents/long/README.md")
BYTES_PER_PAGE = "\n".join((ROOT / name).read_text() for name in PAGES)
WORDS = {4: "four", 5: "five", 8: "eight", 10: "ten"}
MIB = 1 << 20


def prose() -> str:
    """Returns the pages as one line, without code blocks and without quoted code that contains a figure."""
    text = re.sub(r"^```.*?^```", "", BYTES_PER_PAGE, flags=re.MULTILINE | re.DOTALL)
    quoted = re.sub(r"`([^`\n]*)`", lambda found: "`…`" if re.search("[0-9]", found[1]) else found[0], text)
    return re.sub(r"\s+", " ", quoted)


def of_the_assistant() -> list[str]:
    from assistant import config
    from assistant.chatting import limits, reading, turns
    from assistant.model import client
    from assistant.storage import memory, recurrence, reminders
    from assistant.telegram import attachments, previews
    from assistant.tools import mcp, outbound, toolbox

    usual = limits.read_limits({})
    return [
        f"is edited at most every {'three' if previews.EDIT_SECONDS == 3 else '?'} seconds",
        (
            f"up to {memory.MOST_MESSAGES} messages or {memory.MOST_CHARACTERS:,} characters. From "
            f"{memory.FULL_MESSAGES} messages or {memory.FULL_CHARACTERS:,} characters on"
        ),
        f"text files as text ({reading.LONGEST_TEXT:,} characters of one)",
        f"The files of one message may have up to {attachments.MOST_BYTES // MIB} MB together",
        f"The files of {WORDS[reading.MOST_AT_ONCE]} messages are processed at once",
        f"text files by their first {reading.LONGEST_KEPT:,} characters",
        f"every month (up to the {recurrence.LAST_OF_A_MONTH}th)",
        f"keeps up to {reminders.MOST_OF_A_CHAT} for each chat",
        f"One answer takes up to {WORDS[usual.answer_steps]} steps (`answer_steps`)",
        f"tools of up to {WORDS[config.MOST_SERVERS]} servers",
        f"takes {toolbox.SECONDS:.0f} seconds and {'a megabyte' if outbound.MOST_BYTES == MIB else '?'} at most",
        f"The model is offered up to {mcp.MOST_TOOLS} tools of one server and {toolbox.MOST_TOOLS} in all",
        f"is left alone for {'a minute' if mcp.DOWN_SECONDS == 60 else '?'}",
        f"It tries again every {'minute' if mcp.DOWN_SECONDS == 60 else '?'}",
        "If a server answers 401",
        (
            f"In one chat {WORDS[usual.messages_per_minute]} messages a minute are answered (`messages_per_minute`), "
            f"of up to {usual.longest_message:,} characters"
        ),
        f"and {WORDS[turns.MOST_WAITING]} may wait",
        f"After {WORDS[usual.answer_seconds // 60]} minutes (`answer_seconds`)",
        *([] if client.RETRIES else ["?"]),  # “asked again”
    ]


def _own_memory(options: str) -> str:
    return options.partition("size=")[2].partition("m")[0]


def of_the_others() -> list[str]:
    from gateway.entries.entry import Limits
    from gateway.meters.usage import AUDIO_TOKENS_PER_SECOND
    from gateway.providers.bounds import BYTES_PER_PAGE, TOKENS_PER_PAGE
    from gateway.providers.reading import BYTES_PER_SECOND
    from gateway.servers.call import LARGEST

    from berth_agent.relay import supervisor
    from containers import hardening
    from containers.agent_contract import AGENT_USER, PROBLEMS_OF_EXIT, ExitCode
    from containers.docker_api import image_rules
    from projects.management.commands.test_type import WITHIN
    from projects.rules.status.lifecycle import CRASH_LIMIT, CRASH_WINDOW
    from projects.rules.type_trial import STOP_WITHIN
    from projects.services.images.type_trial import WITHIN_REQUEST

    return [
        f"exit code {ExitCode.STOPPED.value} within {STOP_WITHIN} seconds of SIGTERM",
        *(f"| | {int(code)} | " for code in PROBLEMS_OF_EXIT),  # the beginning of a row
        (
            f"after code {ExitCode.TELEGRAM_UNREACHABLE.value} and after any code that is not in the table, until it "
            f"has crashed {CRASH_LIMIT} times within {CRASH_WINDOW.seconds // 60} minutes"
        ),
        f"user {AGENT_USER}",
        f"more than {image_rules.MOST_PORTS} ports or {image_rules.MOST_VOLUMES} volumes",
        (
            f"{image_rules.LONGEST_LISTED >> 10} KB of labels and command, "
            f"{image_rules.LARGEST_CONFIG >> 10} KB in all, or a health check"
        ),
        f"an interval of less than {image_rules.SHORTEST_CHECK * 1000:.0f} ms",
        f"{_own_memory(hardening.confinement(1, places=['/x'])['Tmpfs']['/x'])} MB at most for each",
        "its exit code is 1 if the image breaks one",
        f"an image that is ready within {WITHIN_REQUEST:.0f} seconds; the command waits {WITHIN:.0f}",
        f"it waits up to {supervisor.ANSWER_SECONDS} seconds before it stops the child",
        f"takes longer than those {supervisor.ANSWER_SECONDS} seconds",
        f"a body of {LARGEST >> 10} KiB",
        (
            f"for a PDF {TOKENS_PER_PAGE:,} tokens for each {BYTES_PER_PAGE // 1000} kB, "
            f"up to {Limits().unseen_tokens:,}, "
            f"and for a sound {AUDIO_TOKENS_PER_SECOND} for each {BYTES_PER_SECOND} bytes"
        ),
        "too large (413)",
        f"exit code {ExitCode.STOPPED.value}; it remembers",
        f"is delivered, then exit code {ExitCode.STOPPED.value}",
        f"at the start and later | {ExitCode.TELEGRAM_TOKEN.value} |",
        f"another program polls | {ExitCode.TELEGRAM_CONFLICT.value} |",
        f"at the start and later | {ExitCode.PROVIDER_KEY.value}; `degraded`",
        f"no such model | {ExitCode.PROVIDER_CREDIT.value}; {ExitCode.PROVIDER_MODEL.value} |",
        f"and the provider is not asked; answered; {ExitCode.PROVIDER_KEY.value} |",
        "429 of Telegram with `retry_after`; 502 |",
        "429, 500, 502 and 529 of the provider |",
        *(f"{program} {version} (MIT)" for program, version in pinned()),
    ]


def pinned() -> list[tuple[str, str]]:
    lines = [(IMAGES / kind / "requirements.in").read_text() for kind in ("nanobot", "hermes")]
    return [found for text in lines for found in re.findall(r"^((?:nanobot|hermes)[a-z-]+)==([0-9.]+)", text, re.M)]


MEASURED = [
    "a root of 2 MB with busybox",  # the test that builds it asserts its size
    "in the image with mode 777",
    "some 50 milliseconds sooner",
    "| 130 MB, built by `make run` | 128 MB |",
    "| 335 MB, `manage.py build_images nanobot` | 256 MB |",
    "| 309 MB, `manage.py build_images hermes` | 256 MB |",
    "have 100 lines each",
    "It idles at 29 MiB, as the engine counts (41 MB resident, including files of libraries)",
]
"""Figures measured on one day and machine, which `tests/benchmarks/README.md` names."""


@pytest.fixture(scope="module")
def left() -> str:
    """Returns the prose without the sentences that are checked against the program."""
    text = prose()
    for sentence in [*of_the_assistant(), *of_the_others(), *MEASURED]:
        assert sentence in text, sentence
        text = text.replace(sentence, "…")
    return text


def test_each_figure_is_a_constant_of_the_program_or_measured(left: str) -> None:
    others = re.sub(r"## \d\. |chapter \d", "", left)
    assert [others[max(0, at.start() - 60) : at.end() + 30] for at in re.finditer(r"(?<![\w.])\d[\d.,]*", others)] == []


def test_measured_figures_are_in_the_benchmarks() -> None:
    measured = re.sub(r"\s+", " ", (ROOT / "tests" / "benchmarks" / "README.md").read_text())
    for kind, size in (("assistant", "130 MB"), ("nanobot", "335 MB"), ("hermes", "309 MB")):
        assert f"| {kind} | {size} |" in measured
    assert "| 29 MiB |" in measured
    for kind in ("nanobot", "hermes"):
        lines = sum(len(file.read_text().splitlines()) for file in (IMAGES / kind / f"{kind}_adapter").glob("*.py"))
        assert 80 <= lines <= 130, f"{kind}: {lines}"


def test_each_documented_command_exists_with_its_options() -> None:
    said = re.findall(r"`manage\.py ([^`\n]+)`", BYTES_PER_PAGE) + re.findall(
        r"^config/bin/manage (.+)$", BYTES_PER_PAGE, re.M
    )
    assert len(said) >= 4
    types = {context.type for context in find_contexts()} | {"agent-base", "stub"}
    for command in said:
        name, *words = shlex.split(command)
        parser = load_command_class(get_commands()[name], name).create_parser("manage.py", name)
        options = vars(parser.parse_args(words))
        named = options.get("types") or [options.get("slug") or options.get("type")]
        assert set(named) <= types, command
    others = re.findall(r"`(?:\S+ -m pytest|python -m) ([^ `]+)[^`\n]*`", BYTES_PER_PAGE)
    assert others
    for place in others:
        assert (ROOT / place).exists() or Path(ROOT / f"{place.replace('.', '/')}.py").exists(), place
