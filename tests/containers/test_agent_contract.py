"""The agent contract: standard library only, the same file in every image, and nothing contradicts it."""

import ast
import re
import sys
import tarfile
from pathlib import Path

import pytest

from containers import agent_contract
from containers.agent_contract import (
    AGENT_USER,
    CONTRACT_VERSION,
    DATA_PATH,
    FATAL_EXIT_CODES,
    HEALTHY_FOR,
    LONGEST_REPORT,
    PROBLEMS_OF_EXIT,
    RUN_PATH,
    SECRETS_PATH,
    STATUS_FILE,
    STATUS_MARK,
    AgentState,
    ExitCode,
    ProblemCode,
    SecretFile,
    Variable,
)
from containers.docker_api.building.image_build import IMAGES, BuildContext, find_contexts

SOURCE = Path(agent_contract.__file__)
ROOT = SOURCE.parents[1]


# -- the file ---------------------------------------------------------------------------------------------------------


def test_the_contract_imports_only_the_standard_library() -> None:
    nodes = list(ast.walk(ast.parse(SOURCE.read_text())))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


@pytest.mark.parametrize("context", find_contexts(), ids=lambda context: context.folder.name)
def test_every_build_context_contains_the_contract_file(context: BuildContext) -> None:
    with tarfile.open(fileobj=context.pack()) as archive:
        packed = archive.extractfile("agent_contract.py")
        assert packed is not None
        assert packed.read() == SOURCE.read_bytes()


def test_no_image_has_a_separate_copy_of_the_contract() -> None:
    assert list(IMAGES.rglob("agent_contract.py")) == []


def test_a_change_of_the_contract_is_a_change_of_every_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "agent_contract.py"
    changed.write_text(SOURCE.read_text() + "# changed\n")
    context = BuildContext(folder=IMAGES / "assistant")
    before = context.digest("base")
    monkeypatch.setattr("containers.docker_api.building.image_build.CONTRACT", changed)
    assert context.digest("base") != before


# -- what else speaks of it -------------------------------------------------------------------------------------------


def test_every_exit_code_but_stopped_and_crashed_represents_a_problem() -> None:
    assert set(PROBLEMS_OF_EXIT) == set(ExitCode) - {ExitCode.STOPPED, ExitCode.CRASH}
    assert all(PROBLEMS_OF_EXIT.values())


def test_the_fatal_exit_codes_are_those_that_the_owner_must_do_something_about() -> None:
    assert sorted(FATAL_EXIT_CODES) == [20, 21, 30, 31, 32, 40]
    assert set(ExitCode) - FATAL_EXIT_CODES == {ExitCode.STOPPED, ExitCode.CRASH, ExitCode.TELEGRAM_UNREACHABLE}


def test_the_page_on_agent_types_documents_the_whole_contract() -> None:
    chapter = (ROOT / "docs/agent-types.md").read_text().partition("## The contract\n")[2].partition("\n## ")[0]
    quoted = set(re.findall(r"`([^`]+)`", chapter))
    assert {f"{SECRETS_PATH}/{file}" for file in SecretFile} <= quoted
    assert {DATA_PATH, *Variable, *AgentState, *ProblemCode} <= quoted
    assert any(text.startswith(f'{STATUS_MARK}{{"v":{CONTRACT_VERSION},') for text in quoted)
    assert f"user {AGENT_USER}" in chapter
    assert f"exit code {ExitCode.STOPPED}" in chapter
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", chapter, re.MULTILINE)
    told = {int(number): tuple(re.findall(r"`(\w+)`", codes)) for number, codes in rows}
    assert told == PROBLEMS_OF_EXIT


def test_the_health_check_keeps_the_contract() -> None:
    script = (IMAGES / "common" / "health.sh").read_text()
    assert f"{RUN_PATH}}}/{STATUS_FILE}" in script
    assert f"-lt {HEALTHY_FOR} ]" in script
    assert f'[ "$state" = {AgentState.RUNNING} ]' in script
    shown = re.search(r"%\.(\d+)s", script)
    assert shown is not None
    assert int(shown[1]) <= LONGEST_REPORT


def test_the_dockerfile_keeps_the_contract() -> None:
    dockerfile = (IMAGES / "common" / "Dockerfile").read_text()
    assert f'LABEL berth.agent.contract="{CONTRACT_VERSION}"' in dockerfile
    assert f"USER {AGENT_USER}:{AGENT_USER}\n" in dockerfile
    assert f"mkdir -p {DATA_PATH} {RUN_PATH} {SECRETS_PATH}" in dockerfile
    assert f"chown {AGENT_USER}:{AGENT_USER} {DATA_PATH} {RUN_PATH} {SECRETS_PATH}" in dockerfile
