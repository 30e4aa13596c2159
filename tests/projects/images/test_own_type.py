"""`docs/agent-types.md`, followed word for word on a real engine, and images that do something else."""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import docker
import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from projects.models import AgentType
from tests.busybox import pack_root
from tests.clients import browser_of
from tests.containers.conftest import docker_installation, docker_under_test  # noqa: F401 - fixtures
from tests.containers.docker_under_test import DockerUnderTest
from tests.gateway.image import ensure_gateway_image
from tests.projects.images.test_page_of_types import block, fields_of_the_row

pytestmark = [pytest.mark.docker, pytest.mark.one_database]

MEASURED = re.compile(r"\d+\.\d s|\d{5,}")

UNRULY = """#!/bin/sh
trap '' TERM
cat /run/secrets/telegram_bot_token; echo
echo hello >/mine
while :; do sleep 1; done
"""

KNOWS_NOTHING = """#!/bin/sh
wget -q -O /tmp/news "$BOT/getUpdates?timeout=1"
wget -q -O /tmp/sent --post-data "chat_id=1001&text=$WORDS" "$BOT/sendMessage"
exec sleep 60
"""
"""An image without status lines and exit codes of the contract, and with its own names of variables."""


@pytest.fixture
def engine_of_tests(docker_under_test: DockerUnderTest, settings: Any) -> Iterator[DockerUnderTest]:  # noqa: F811 - the fixture
    settings.BERTH_ENGINE_CLASS = "containers.docker.engine.DockerEngine"
    ensure_gateway_image(docker_under_test.client)  # has the Python that the servers of a trial need
    yield docker_under_test
    chosen = {"label": [f"berth.trial={settings.BERTH_INSTANCE}"]}
    assert docker_under_test.client.containers(all=True, filters=chosen) == []


@pytest.fixture
def image_of(engine_of_tests: DockerUnderTest, settings: Any) -> Iterator[Callable[..., str]]:
    """Makes an image of a script."""
    repository = f"berth-test/own-{settings.BERTH_INSTANCE}"
    client = engine_of_tests.client

    def make(script: str, *changes: str) -> str:
        root = pack_root({"agent": script}, applets=("sh", "cat", "echo", "sleep", "wget"))
        client.import_image_from_data(root, repository=repository, changes=['CMD ["/agent"]', *changes])
        return f"{repository}:latest"

    yield make
    with suppress(docker.errors.ImageNotFound):
        client.remove_image(f"{repository}:latest", force=True)


def try_out(slug: str, *options: str) -> str:
    out = StringIO()
    with suppress(CommandError):
        call_command("test_type", slug, *options, stdout=out, no_color=True)
    return out.getvalue()


def test_following_the_page_literally_creates_a_type_that_answers(
    ada: User, engine_of_tests: DockerUnderTest, settings: Any, tmp_path: Path
) -> None:
    began, image = time.monotonic(), f"berth-test/stub-{settings.BERTH_INSTANCE}:1"
    (tmp_path / "agent").write_text(block("sh"))
    subprocess.run(["sh", "-ec", block("bash").replace("my/stub:1", image)], cwd=tmp_path, check=True)
    try:
        size = engine_of_tests.client.inspect_image(image)["Size"]
        form = fields_of_the_row() | {"image": image}
        assert browser_of(ada).post("/admin/projects/agenttype/add/", form).status_code == 302
        assert AgentType.objects.get(pk="stub").capability_names == ["chat"]
        printed = try_out("stub")
    finally:
        engine_of_tests.client.remove_image(image, force=True)
    assert size < 3 << 20
    assert time.monotonic() - began < 600  # its first line promises that to readers as well
    assert MEASURED.sub("…", printed) == MEASURED.sub("…", block("text"))


@pytest.mark.rare(1)
def test_an_image_that_breaks_the_contract_gets_each_error(db: None, image_of: Callable[..., str]) -> None:
    image = image_of(UNRULY, "LABEL berth.agent.contract=1", "VOLUME /more")
    AgentType.objects.create(slug="unruly", title="Unruly", image=image, needs_api_key=False, min_memory_mb=32)
    told = {line[5:].partition(":")[0]: line[:3] for line in try_out("unruly", "--within", "5").splitlines()}
    kept = ["starts, confined as agents are", "runs as the project's own user"]
    assert [promise for promise, verdict in told.items() if verdict == "yes"] == kept
    assert list(told.values()).count("no ") == 7


def test_an_image_outside_the_contract_answers_with_the_variables_of_its_type(
    db: None, image_of: Callable[..., str]
) -> None:
    AgentType.objects.create(
        slug="plain", title="Plain", image=image_of(KNOWS_NOTHING), needs_api_key=False, min_memory_mb=32,
        settings_schema={"properties": {"words": {"type": "string"}}},
        variables="BOT={telegram_api}/bot{telegram_token}\nWORDS={settings.words}",
    )  # fmt: skip
    lines = try_out("plain", "--within", "8", "--project-settings", json.dumps({"words": "Moin"})).splitlines()
    assert not [line for line in lines if line.startswith("no")], lines
    assert [line for line in lines if "answers a message" in line and "“Moin”" in line], lines
