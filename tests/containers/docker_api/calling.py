"""The verbs of an engine, and time limits for the calls of these tests."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from containers.docker.engine import DockerEngine
from containers.vocabulary import ContainerSpec

LIMIT = 0.3
SINCE = datetime(2026, 1, 1, tzinfo=UTC)
GUARD = 60.0
"""Seconds: far above every limit here, far below what the faults would take without one."""


SPEC = ContainerSpec(
    name="berth-x", image="berth/x", labels={"berth.instance": "berth", "berth.project": "x"}, generation=1,
    environment={}, secrets={}, memory=1, nano_cpus=1, pids=1, stop_timeout=1,
)  # fmt: skip


VERBS: dict[str, Callable[[DockerEngine], object]] = {
    "ping": lambda engine: engine.ping(),
    "image_exists": lambda engine: engine.image_exists("x"),
    "describe_image": lambda engine: engine.describe_image("x"),
    "deploy": lambda engine: engine.deploy(SPEC, confirm=lambda: True),
    "stop": lambda engine: engine.stop("x", timeout=1),
    "remove": lambda engine: engine.remove("x", volumes=True),
    "inspect": lambda engine: engine.inspect("x"),
    "observe": lambda engine: engine.observe({}),
    "list_volumes": lambda engine: engine.list_volumes({}),
    "logs": lambda engine: list(engine.logs("x")),
    "stats": lambda engine: engine.stats("x"),
    "usage_of": lambda engine: engine.usage_of("x", started_at=None),
    "events": lambda engine: list(engine.events({}, timeout=0.3)),
    "find_newest_event": lambda engine: engine.find_newest_event({}, since=SINCE, until=SINCE + timedelta(seconds=1)),
}
