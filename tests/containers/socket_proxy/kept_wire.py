"""An engine that keeps each connection open no matter what it is told, and a request for each route of the proxy."""

import asyncio
import json
import re
from asyncio import StreamReader, StreamWriter
from dataclasses import dataclass, field
from typing import Any

from containers.socket_proxy.constants import TALK
from containers.socket_proxy.routes import ROUTES, Rule
from tests.containers.socket_proxy.made import changed, make_bodies
from tests.containers.socket_proxy.wire import GATEWAY, OUR_NETWORK, OUR_VOLUME, OURS, RUN, Wire

V = "/v1.41"
UPGRADE = "Connection: Upgrade\r\nUpgrade: tcp\r\n"
EXEC = {"Cmd": TALK, "WorkingDir": "/", "AttachStdin": True, "AttachStdout": True}
START = {"Detach": False, "Tty": False}
NETWORK: dict[str, Any] = {
    "Name": "berth-x", "Driver": "bridge", "Labels": {"berth.instance": "berth"},
    "Options": {
        "com.docker.network.bridge.enable_icc": "false", "com.docker.network.bridge.name": "berth-01234567",
    },
}  # fmt: skip
NOT_MADE = b"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}"


@dataclass
class KeptWire(Wire):
    answers: list[bytes] = field(default_factory=lambda: [NOT_MADE])
    """Answers to the start of a program, in pieces."""
    last_words: bytes | None = b""
    """What the program says once it has read everything. It waits as long as this is None."""

    async def _serve(self, head: bytes, reader: StreamReader, writer: StreamWriter) -> None:
        place = len(self.came)
        self.came.append(head)
        if found := re.search(rb"content-length: (\d+)", head, re.IGNORECASE):
            self.came[place] += await reader.readexactly(int(found[1]))
        body = json.dumps({"Id": RUN}, separators=(",", ":")) if b"/exec HTTP" in head else "{}"
        usual = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        for piece in self.answers if is_start(head) else [usual]:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
        if b"/exec HTTP" in head:
            return  # the proxy reads this one to its end
        while more := await reader.read(65536):
            self.came[place] += more
        while self.last_words is None:
            await asyncio.sleep(0.01)
        writer.write(self.last_words)


def is_start(head: bytes) -> bool:
    return head.startswith(b"POST") and b"/exec/" in head.split(b"\r\n")[0]


def write(method: str, path: str, body: object = None, more: str = "") -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = f"{method} {path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{more}"
    return f"{lines}\r\n".encode() + content


def start(more: str = UPGRADE) -> bytes:
    return write("POST", f"{V}/exec/{RUN}/start", START, more)


def ask_for_run(wire: Wire) -> None:
    assert wire.ask("POST", f"{V}/containers/{GATEWAY}/exec", EXEC) == 200
    wire.came.clear()


def one_of_each() -> dict[str, tuple[Rule, bytes]]:
    """By method and path. Each is let through."""
    of_list = "?filters=%7B%22label%22%3A%5B%22berth.instance%3Dberth%22%5D%7D"
    agent = changed(make_bodies()["agent"], "HostConfig.NetworkMode", OUR_NETWORK)
    agent["HostConfig"]["Mounts"] = []
    bodies: dict[Rule, object] = {
        Rule.CREATE: agent, Rule.EXEC: EXEC, Rule.RUN: START, Rule.MAKE_NETWORK: NETWORK,
        Rule.CONNECT: {"Container": OURS}, Rule.DISCONNECT: {"Container": OURS},
        Rule.UPDATE: {"RestartPolicy": {"Name": "no", "MaximumRetryCount": 0}},
    }  # fmt: skip
    ends = {
        Rule.LIST: of_list, Rule.EVENTS: of_list, Rule.ARCHIVE: "?path=%2Fdata", Rule.RENAME: "?name=berth-y",
    }  # fmt: skip
    made = {}
    for route in ROUTES:
        name = {"networks": OUR_NETWORK, "volumes": OUR_VOLUME, "exec": RUN, "images": "a"}.get(
            route.path.split("/")[1], GATEWAY if route.rule is Rule.EXEC else OURS
        )
        path = re.sub(r"\{\w+\}", name, route.path) + ends.get(route.rule, "")
        version = "" if route.path == "/version" else V
        made[f"{route.method} {route.path}"] = route.rule, write(route.method, version + path, bodies.get(route.rule))
    return made
