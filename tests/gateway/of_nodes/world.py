"""The Bot API that such an agent polls, the agent's image, and the operator's steps on each node."""

import io
import os
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

from django.core.management import call_command

from containers.docker_api.building.image_build import GATEWAY
from tests.containers.swarm.cluster import SwarmNode
from tests.fakes.messages import Answer, Request
from tests.fakes.telegram import FakeTelegram
from tests.fakes.telegram_bot import Bot

AGENT_IMAGE = "berth-test/polling-agent:latest"


ASK = """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""


class RememberingTelegram(FakeTelegram):
    """Records for each poll whose it was, and its start and end."""

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.polls_of: list[tuple[int, float, float]] = []

    def _get_updates(self, bot: Bot, fields: dict[str, Any], request: Request) -> Answer | None:
        began = time.monotonic()
        try:
            return super()._get_updates(bot, fields, request)
        finally:
            self.polls_of.append((int(fields["limit"]), began, time.monotonic()))


def make_agent_image(client: Any) -> None:
    made = client.create_container(GATEWAY.image, entrypoint=["true"])["Id"]
    program, packed = (Path(__file__).parent / "agent.py").read_bytes(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("agent.py")
        member.size, member.mode = len(program), 0o644
        archive.addfile(member, io.BytesIO(program))
    client.put_archive(made, "/opt", packed.getvalue())
    name, _, tag = AGENT_IMAGE.partition(":")
    changes = ['ENTRYPOINT ["/opt/gateway/bin/python3", "-u", "/opt/agent.py"]', "CMD []"]
    client.commit(made, repository=name, tag=tag, changes=changes)
    client.remove_container(made)


def run_node_script(node: SwarmNode) -> None:
    """Runs a command in the node's network and with the node's engine."""
    text = io.StringIO()
    call_command("node", stdout=text)
    places = {"/run/berth-node": f"{node.home}/rules", "/run/systemd": "/nowhere"}
    script, said = node.home / "berth-node.sh", text.getvalue()
    for place, here in places.items():
        said = said.replace(place, here)
    script.write_text(said)
    environment = {**os.environ, "DOCKER_HOST": node.url}
    subprocess.run(node.command("sh", str(script)), env=environment, check=True)
