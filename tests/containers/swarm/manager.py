"""A fake manager of a Swarm, for situations that are rare on a real one or need many machines."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.fakes.http_server import FakeServer
from tests.fakes.messages import Answer, Request


class Manager(FakeServer):
    """`rows`: its lists, by name. `bodies`: whole answers, by path. It refuses the requests in `refuses`."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.bodies: dict[str, Answer] = {}
        self.refuses = ""
        self._made = 0
        self.api = "1.44"

    def answer(self, request: Request) -> Answer:
        if request.path == "/version":
            return Answer.json(200, {"ApiVersion": self.api})
        path = "/" + request.path.split("/", 2)[-1]
        if whole := self.bodies.get(path):
            return whole
        room, _, name = path.strip("/").partition("/")
        if request.method == "DELETE":
            self.rows[room] = [row for row in self.rows[room] if name not in {row["ID"], row["Spec"].get("Name")}]
            return Answer(204, b"")
        if name == "create":
            return self._create(room, request)
        if name.endswith("/update"):
            return self._update(room, name.partition("/")[0], request)
        return self._tell(room, name)

    def _tell(self, room: str, name: str) -> Answer:
        rows = self.rows.get(room, [])
        if room != "services" or not name:
            return Answer.json(200, rows)
        found = [row for row in rows if name in {row["ID"], row["Spec"].get("Name")}]
        return Answer.json(200, found[0]) if found else Answer.json(404, {"message": "no such service"})

    def _create(self, room: str, request: Request) -> Answer:
        """Creates the row even if the request is refused, as if the answer were lost."""
        made = request.fields()
        there = self.rows.setdefault(room, [])
        self._made += 1
        row = {"ID": f"{room}{self._made}", "CreatedAt": "2026-01-01T00:00:00Z", "Version": {"Index": 1}}
        there.append({**row, "Spec": made})
        is_refused = bool(self.refuses) and self.refuses in made["Name"]
        return Answer.json(500, {"message": "no leader"}) if is_refused else Answer.json(201, {"ID": there[-1]["ID"]})

    def _update(self, room: str, ident: str, request: Request) -> Answer:
        for row in self.rows[room]:
            if row["ID"] == ident:
                row["Spec"] = request.fields()
        return Answer.json(200, {})


@contextmanager
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    with Manager() as found:
        monkeypatch.setenv("DOCKER_HOST", found.url.replace("http", "tcp"))
        yield found
