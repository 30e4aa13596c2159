"""Everything that an engine has of an agent of each type, byte by byte: no real credential is in it.

The types are those that ship, the one of `docs/agent-types.md` (`stub`), and one that has its token in its environment
(`own`).

python -m pytest tests/gateway/long/canary.py

It reads whole images and containers, some hundred megabytes each.
"""

import json
from collections.abc import Callable, Iterable, Iterator

import pytest

from containers.docker_api.building.image_build import find_contexts
from containers.gateway.entries import ServerEntry, ServersEntry, new_virtual_pass
from containers.hardening import data_volume, secrets_volume
from containers.programs import is_root
from tests.busybox import pack_root
from tests.containers.inside import run_inside
from tests.gateway.on_engine import PATIENCE, DeployedAgent, GatewayTestbed
from tests.gateway.test_on_engine import SEARCH
from tests.projects.images.test_page_of_types import block

pytestmark = [
    pytest.mark.docker,
    pytest.mark.one_database,
    pytest.mark.skipif(not is_root(), reason="takes the right to set firewall rules"),
]
OF_SERVERS = "CANARYofCANARYservers"
MARKS = (b"CANARYtokenCANARY", b"CANARYkeyCANARY", OF_SERVERS.encode())
"""Parts of the token, the key and the credential of a tool server. Only their first word also occurs elsewhere."""
SHIPPED = sorted(context.type for context in find_contexts())
FROM_FILE = "$(cat /run/secrets/telegram_bot_token)"
SCRIPTS = {"stub": block("sh"), "own": block("sh").replace(FROM_FILE, "$TOKEN")}
APPLETS = ("sh", "cat", "echo", "env", "find", "grep", "sed", "sleep", "test", "tr", "wget")
GREETING = "Ahoy"
USER = 1


def holds(pieces: Iterable[bytes], *marks: bytes) -> bool:
    """Whether a stream contains one of the marks, even if the mark is split between pieces."""
    before, found = b"", False
    for piece in pieces:
        joined = before + piece
        found = found or any(mark in joined for mark in marks)
        before = joined[-max(map(len, marks)) :]
    return found


@pytest.fixture
def image_of(testbed: GatewayTestbed) -> Iterator[Callable[[str], str]]:
    made: list[str] = []

    def find(type_: str) -> str:
        if type_ not in SCRIPTS:
            return f"berth/{type_}:latest"
        repository = f"berth-test/{type_}-{testbed.instance}"
        root = pack_root({"agent": SCRIPTS[type_]}, applets=APPLETS)
        changes = ['CMD ["/agent"]', "ENV PATH=/bin", "LABEL berth.agent.contract=1"]
        testbed.client.import_image_from_data(root, repository=repository, changes=changes)
        made.append(f"{repository}:latest")
        return made[-1]

    yield find
    for image in made:
        testbed.client.remove_image(image, force=True)


def deploy(testbed: GatewayTestbed, type_: str, image: str) -> DeployedAgent:
    """Deploys an agent and returns it once it polls."""
    agent = testbed.new_agent()
    server = ServerEntry(base="https://tools.example.org/mcp", header="x-api-key", value=OF_SERVERS)
    agent.servers = ServersEntry(virtual=new_virtual_pass(), servers=(server,))
    testbed.tell(agent)
    environment = {
        "AGENT_SETTINGS": json.dumps({"mcp": list(agent.servers.ways(testbed.address.url).values())}),
        "TELEGRAM_API_BASE": f"{testbed.address.url}/tg",
        "AGENT_API_BASE": f"{testbed.address.url}/llm/v1",
        "AGENT_PROVIDER": "openai",
        "AGENT_MODEL": "gpt-5.4-mini",
        "AGENT_ALLOWED_USERS": str(USER),
        "GREETING": GREETING,
    }
    if type_ == "own":
        environment["TOKEN"] = agent.virtual_token
    testbed.deploy(
        agent, image=image, environment=environment,
        memory=512 << 20, nano_cpus=1_000_000_000, pids=128, stop_timeout=15,
    )  # fmt: skip
    testbed.telegram.wait_for_poll(agent.token, timeout=PATIENCE)
    return agent


@pytest.mark.parametrize("type_", [*SHIPPED, *SCRIPTS])
def test_the_engine_holds_no_real_credential_anywhere(
    testbed: GatewayTestbed, image_of: Callable[[str], str], type_: str
) -> None:
    agent = deploy(testbed, type_, image_of(type_))
    answer = GREETING if type_ in SCRIPTS else "You said: Anything to hide?"
    testbed.telegram.say(agent.token, USER, "Anything to hide?")
    testbed.telegram.wait_for_message(agent.token, containing=answer, timeout=PATIENCE)
    found = testbed.client.inspect_container(agent.name)
    volumes = [testbed.client.inspect_volume(name) for name in (data_volume(agent.name), secrets_volume(agent.name))]
    told = [json.dumps([found, volumes]).encode(), testbed.client.logs(agent.name)]
    assert not holds(told, *MARKS)
    for path in ("/data", "/run/secrets"):
        assert not holds(testbed.client.get_archive(agent.name, path)[0], *MARKS), path
    assert holds(testbed.client.get_archive(agent.name, "/run/secrets")[0], agent.virtual_key.encode())
    assert not holds(testbed.client.export(agent.name), *MARKS)
    assert not holds(testbed.client.get_image(found["Image"]), *MARKS)
    # Search the environment and arguments of processes, which are only in memory.
    _, seen = run_inside(testbed.client, agent.name, "sh", "-c", f"({SEARCH}) 2>/dev/null; echo searched")
    assert ("CANARY" in seen, "searched" in seen, agent.virtual_key in seen) == (False, True, True)
    refuse_after_the_end(testbed, agent)


def refuse_after_the_end(testbed: GatewayTestbed, agent: DeployedAgent) -> None:
    """Checks that the credentials in a stopped agent's files are void and reach no upstream."""
    testbed.engine.stop(agent.project, timeout=5)
    testbed.void(agent)
    before = testbed.calls_of(agent)
    url, keyed = f"{testbed.address.url}/llm/v1/models", {"Authorization": f"Bearer {agent.virtual_key}"}
    for answer in (testbed.ask_from_here(url, keyed), testbed.ask_from_here(testbed.get_me(agent))):
        assert answer.startswith("401 "), answer
    assert testbed.calls_of(agent) == before
