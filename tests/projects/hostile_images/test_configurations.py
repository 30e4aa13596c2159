"""Any configuration of an image: its agent runs, confined as every agent, or the owner is told why not."""

import re
from typing import Any

import pytest

from projects.models import Project
from tests.projects.hostile_images.conftest import WAITS, Host

pytestmark = [pytest.mark.docker, pytest.mark.one_database]

RUNS: dict[str, dict[str, Any]] = {
    "nothing odd": {},
    "a library before all others": {"Env": ["PATH=/bin", "LD_PRELOAD=/data/evil.so", "LD_LIBRARY_PATH=/data"]},
    "a program before Python's": {"Env": ["PATH=/bin", "PYTHONSTARTUP=/data/x", "BASH_ENV=/data/x"]},
    "variables of the contract": {"Env": ["PATH=/bin", "AGENT_ALLOWED_USERS=*", "AGENT_SETTINGS={"]},
    "names of credentials": {"Env": ["PATH=/bin", "TELEGRAM_BOT_TOKEN=1:evil", "DOCKER_HOST=tcp://x", "HOME=/root"]},
    "no variables": {"Env": ["PATH="], "Cmd": ["/bin/sh", "/agent"]},
    "long variables": {"Env": ["PATH=/bin", *(f"A{number}={'x' * 10_000}" for number in range(9))]},
    "an entrypoint": {"Entrypoint": ["/bin/sh", "-c"], "Cmd": ["exec /agent"]},
    "escaped arguments": {"ArgsEscaped": True},
    "root": {"User": "root"},
    "root's number": {"User": "0:0"},
    "nobody that exists": {"User": "no-such-user:no-such-group"},
    "a huge number": {"User": "4294967294"},
    "no such directory": {"WorkingDir": "/no/such/directory"},
    "the memory": {"WorkingDir": "/data"},
    "a signal that no program handles": {"StopSignal": "SIGKILL"},
    "a signal without a name": {"StopSignal": "63"},
    "no health check": {"Healthcheck": {"Test": ["NONE"]}},
    "a health check without times": {"Healthcheck": {"Test": ["CMD", "echo"], "Interval": 0, "Timeout": 0}},
    "a frequent health check": {"Healthcheck": {"Test": ["CMD-SHELL", "true"], "Interval": 10**8, "Retries": 1}},
    "another shell": {"Shell": ["/no/shell", "-c"]},
    "a trigger": {"OnBuild": ["RUN rm -rf /"]},
    "labels": {"Labels": {"com.docker.compose.project": "x", "berth.project": "1", "a": "x" * 15_000}},
    "ports": {"ExposedPorts": {f"{port}/udp": {} for port in range(1, 101)}},
}
TEN_YEARS = 87_600 * 3600 * 10**9

FAILS: dict[str, tuple[dict[str, Any], str]] = {
    "a program that is not there": ({"Cmd": ["/no/such/program"]}, WAITS),
    "a program that cannot be executed": ({"Cmd": ["/etc"]}, WAITS),
    "a program of another processor": ({}, "\x7fELF\x02\x01\x01" + "\0" * 57),
    "a script without its interpreter": ({}, "#!/no/such/interpreter\n"),
    "a directory that is a file": ({"WorkingDir": "/agent"}, WAITS),
    "a variable that no program can have": ({"Env": [f"A={'x' * 200_000}"]}, WAITS),
    "a command that no program can have": ({"Cmd": ["/agent", "x" * 140_000]}, WAITS),
    "megabytes of labels": ({"Labels": {"a": "x" * 1_000_000}}, WAITS),
    "megabytes of variables": ({"Env": [f"A{number}={'x' * 100_000}" for number in range(90)]}, WAITS),
    "a health check a thousand times a second": (
        {"Healthcheck": {"Test": ["CMD", "true"], "Interval": 1_000_000}},
        WAITS,
    ),
    "a health check in ten years": ({"Healthcheck": {"Test": ["CMD", "true"], "Interval": TEN_YEARS}}, WAITS),
    "a health check that takes ten years": ({"Healthcheck": {"Test": ["CMD", "true"], "Timeout": TEN_YEARS}}, WAITS),
    "a health check that may begin in ten years": (
        {"Healthcheck": {"Test": ["CMD", "true"], "StartPeriod": TEN_YEARS}},
        WAITS,
    ),
}
JARGON = re.compile(r"Traceback|errno|null|None|\{|OCI|/var/lib/docker")


def confinement_of(host: Host, name: str) -> dict[str, Any]:
    found: dict[str, Any] = host.engine.client.inspect_container(name)
    limits = ("CapDrop", "ReadonlyRootfs", "SecurityOpt", "Memory", "MemorySwap", "PidsLimit", "PortBindings")
    return {key: found["HostConfig"][key] for key in limits} | {"signal": found["Config"]["StopSignal"]}


@pytest.fixture
def neighbour(host: Host) -> str:
    answer = host.deploy(host.make())
    assert answer.status_code == 201
    return str(answer.json()["id"])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("what", RUNS)
def test_an_odd_image_runs_as_confined_as_any(host: Host, neighbour: str, what: str) -> None:
    answer = host.deploy(host.make_with(host.make(), **RUNS[what]))
    assert answer.status_code == 201, answer.content
    project = Project.objects.get(pk=answer.json()["id"])
    host.await_running(str(project.pk), neighbour)
    name = project.container_name
    assert confinement_of(host, name) == confinement_of(host, host.name_of(neighbour))
    code, told = host.engine.run(
        "/bin/sh", "-c", "id -u; id -g; test -w /data && echo writes; test -w /bin || echo not", name=name
    )
    assert (code, told.split()) == (0, [str(project.uid), str(project.uid), "writes", "not"])
    stopped = host.api.post(f"/api/projects/{project.pk}/control", {"action": "stop"})
    assert (stopped.status_code, stopped.json()["status"]) == (200, "stopped")
    assert host.status_of(neighbour) == "running"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("what", FAILS)
def test_an_image_that_cannot_run_is_explained(host: Host, neighbour: str, what: str) -> None:
    config, agent = FAILS[what]
    answer = host.deploy(host.make_with(host.make(agent=agent), **config))
    if answer.status_code == 201:
        reason = host.await_reason(answer.json()["id"], lambda told: told["exit_code"] is not None)
        assert reason["code"] == "crash"
        assert reason["log_tail"] or "exit code" in reason["message"]
        said = reason["message"]
    else:
        said = answer.json()["detail"]
        assert answer.status_code == 502, said
    assert not JARGON.search(said), said
    host.await_running(neighbour)
