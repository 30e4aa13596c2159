"""The API against its own description, by schemathesis with all of its checks, while Bob tries to see what is Alice's.

Longer, as a command: `python -m tests.security.fuzzing.run --examples 600` sends 10,000 requests.
"""

from pathlib import Path

import pytest

from tests.sampling import Some
from tests.security.fuzzing.run import Outcome, fuzz, fuzzed_server, operations

pytestmark = pytest.mark.timeout(1200)


WITHOUT_COVERAGE = ["--phases", "fuzzing,stateful"]
"""Without the cases that try each constraint of the description, one by one, which are two thousand requests."""


def run(folder: Path, *, seed: int, examples: int, engine: str = "WorkingEngine", only: str = "") -> Outcome:
    folder.mkdir()
    with fuzzed_server(folder, engine=engine) as address:
        # A 503 is correct while the engine is silent, and is distinguished from other 5xx below. A deletion is done
        # later then.
        silent = ["--exclude-checks", "not_a_server_error,use_after_free"]
        arguments = silent if engine == "SilentEngine" else []
        arguments += ["--include-operation-id", only] if only else []
        # Invalid requests are refused before the engine is called: the first test tries that.
        arguments += [] if engine == "WorkingEngine" else WITHOUT_COVERAGE
        outcome = fuzz(address, folder, seed=seed, examples=examples, arguments=arguments)
    check_log(folder, engine)
    return outcome


def run_some(folder: Path, some: Some) -> tuple[Outcome, Outcome]:
    """Also runs the cases for every third operation of the description, in a separate run before it."""
    folder.mkdir()
    with fuzzed_server(folder) as address:
        chosen = some(operations(address), one_in=3)
        named = [argument for name in chosen for argument in ("--include-operation-id", name)]
        covered = fuzz(address, folder, seed=1, examples=4, arguments=["--phases", "examples,coverage", *named])
        outcome = fuzz(address, folder, seed=1, examples=4, arguments=WITHOUT_COVERAGE)
    check_log(folder, "WorkingEngine")
    return covered, outcome


def check_log(folder: Path, engine: str) -> None:
    log = (folder / "server.log").read_text()
    assert engine == "BrokenEngine" or "Traceback" not in log, log[log.index("Traceback") :][:3000]


@pytest.mark.rare(2)
def test_the_api_keeps_to_its_description_and_never_breaks(tmp_path: Path, is_long: bool, some: Some) -> None:
    if is_long:
        check(*[run(tmp_path / str(seed), seed=seed, examples=140) for seed in (1, 2, 3)], requests=9000)
    else:
        check(*run_some(tmp_path / "some", some), requests=300)


def check(*outcomes: Outcome, requests: int) -> None:
    for outcome in outcomes:
        assert outcome.passed, outcome.report
        assert max(outcome.statuses) < 500, outcome.statuses
    assert sum(outcome.requests for outcome in outcomes) >= requests
    # The fuzzer has got somewhere: projects were created, controlled and deleted.
    for came in ("201 POST /api/projects", "200 POST /api/projects/{id}/control", "204 DELETE /api/projects/{id}"):
        assert outcomes[-1].counts.get(came), came


@pytest.mark.rare(4)
def test_with_a_silent_engine_the_only_server_error_is_503(tmp_path: Path, is_long: bool) -> None:
    outcome = run(tmp_path / "silent", seed=1, examples=100 if is_long else 5, engine="SilentEngine")
    assert outcome.passed, outcome.report
    assert {status for status in outcome.statuses if status >= 500} == {503}
    assert outcome.counts["503 POST /api/projects"]


@pytest.mark.rare(6)
def test_a_violation_of_the_description_would_be_found(tmp_path: Path) -> None:
    outcome = run(tmp_path / "broken", seed=1, examples=5, engine="BrokenEngine", only="validate_project")
    assert not outcome.passed
    assert outcome.counts["500 POST /api/projects/validate"]
