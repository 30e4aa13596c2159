"""An agent that cannot get its limit runs without it, and the operator is told why."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from containers.docker.networks import name_limits
from containers.docker.networks.name_limits import AGAIN_AFTER, NameLimits
from containers.docker_api.errors import MissingError
from containers.errors import EngineUnavailableError
from containers.firewall import query_limits
from containers.identity import own_labels
from containers.programs import ProgramError
from containers.vocabulary import PROJECT_LABEL

pytestmark = pytest.mark.one_database

AGENT, NAMESPACE = "a" * 64, query_limits.Namespace("/run/docker/netns/1", 4, 4026531840)


class Docker:
    """Reports one agent; `path` is the file of its namespace, `namespaces` are those that exist."""

    def __init__(self) -> None:
        self.path = NAMESPACE.path
        self.labels: dict[str, str] | None = {**own_labels(), PROJECT_LABEL: "1"}
        self.running = True
        self.error: Exception | None = None
        self.asked = self.entered = 0
        self.fails = ""
        self.namespaces = {NAMESPACE.path: NAMESPACE}

    @contextmanager
    def call(self, **_options: Any) -> Iterator[Any]:
        yield self

    def inspect_container(self, container_id: str) -> dict[str, Any]:
        self.asked += 1
        if self.error:
            raise self.error
        assert container_id == AGENT
        state, network = {"Running": self.running}, {"SandboxKey": self.path}
        return {"Config": {"Labels": self.labels}, "State": state, "NetworkSettings": network}

    def limit(self, _namespace: object) -> None:
        self.entered += 1
        if self.fails:
            raise ProgramError(self.fails)


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> Docker:
    made = Docker()
    monkeypatch.setattr(name_limits, "find_obstacle", lambda: None)
    monkeypatch.setattr(name_limits, "find_namespace", made.namespaces.get)
    monkeypatch.setattr(name_limits, "limit_questions", made.limit)
    return made


@pytest.fixture
def limits(docker: Any) -> NameLimits:
    return NameLimits(docker)


def test_a_container_with_its_limit_costs_nothing_until_its_namespace_changes(
    docker: Docker, limits: NameLimits
) -> None:
    assert [limits.set_for([AGENT]) for _ in range(3)] == [None] * 3
    assert (docker.asked, docker.entered) == (1, 1)
    docker.namespaces[NAMESPACE.path] = NAMESPACE._replace(inode=7)
    assert limits.set_for([AGENT]) is None
    assert (docker.asked, docker.entered) == (2, 2)


def test_a_failure_is_reported_and_retried_after_a_minute(
    docker: Docker, limits: NameLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(name_limits, "time", SimpleNamespace(monotonic=lambda: now))
    docker.fails = "nsenter failed with status 1: Operation not permitted"
    told = limits.set_for([AGENT])
    assert told
    assert docker.fails in told
    docker.fails = ""
    assert limits.set_for([AGENT]) == told
    assert docker.entered == 1
    now += AGAIN_AFTER
    assert limits.set_for([AGENT]) is None
    assert docker.entered == 2


@pytest.mark.parametrize("path", ["/elsewhere/1", "/", "\0"])
def test_an_engine_on_another_host_is_reported(docker: Docker, limits: NameLimits, path: str) -> None:
    docker.path = path
    assert "not on this host" in str(limits.set_for([AGENT]))
    assert docker.entered == 0


NOTHING_TO_DO = {
    "it has ended": {"running": False},
    "it is no agent": {"labels": None},
    "it is the gateway": {"labels": own_labels()},
    "it is of another installation": {"labels": {"berth.instance": "another", PROJECT_LABEL: "1"}},
    "it has no network": {"path": ""},
    "it is gone": {"error": MissingError("gone")},
}


@pytest.mark.parametrize("facts", NOTHING_TO_DO.values(), ids=NOTHING_TO_DO.keys())
def test_nothing_is_done_or_reported_without_need(docker: Docker, limits: NameLimits, facts: dict[str, Any]) -> None:
    vars(docker).update(facts)
    assert limits.set_for([AGENT]) is None
    assert docker.entered == 0


@pytest.mark.parametrize("how", ["its file", "its namespace", "the agent"])
def test_a_container_that_ends_meanwhile_is_no_failure(
    docker: Docker, limits: NameLimits, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(_namespace: object) -> None:
        if how == "its file":
            docker.namespaces.clear()
        elif how == "its namespace":
            docker.path = "/run/docker/netns/2"
        else:
            docker.running = False
        raise ProgramError("nsenter failed with status 1: No such file or directory")

    monkeypatch.setattr(name_limits, "limit_questions", ends)
    assert limits.set_for([AGENT]) is None


def test_a_silent_engine_is_reported(docker: Docker, limits: NameLimits) -> None:
    docker.error = EngineUnavailableError("down")
    with pytest.raises(EngineUnavailableError):
        limits.set_for([AGENT])


@pytest.mark.parametrize(("root", "missing", "told"), [
    (False, "", "not root"), (True, "nsenter", "nsenter is not"), (True, "iptables-restore", "iptables-restore is not"),
])  # fmt: skip
def test_missing_programs_or_rights_are_reported(
    monkeypatch: pytest.MonkeyPatch, root: bool, missing: str, told: str
) -> None:
    monkeypatch.setattr(query_limits, "is_root", lambda: root)
    monkeypatch.setattr(query_limits, "find_program", lambda name: None if name == missing else f"/bin/{name}")
    nobody: Any = None
    assert told in str(NameLimits(nobody).set_for([AGENT]))
    if missing == "iptables-restore":
        with pytest.raises(ProgramError, match="not installed"):
            query_limits.limit_questions(NAMESPACE)


def test_its_own_namespace_and_plain_files_are_never_entered(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    for path in ("/proc/self/ns/net", str(plain), str(tmp_path / "none"), "", "\0"):
        assert query_limits.find_namespace(path) is None
