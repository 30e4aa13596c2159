"""Gateways of several nodes whose clocks and answers a test controls. Their entries and leases are real."""

import asyncio
import json
import secrets
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from cryptography.fernet import Fernet, MultiFernet
from gateway.budgets.ledger import Ledger
from gateway.control.commands import Commands
from gateway.entries.leases import Leases
from gateway.entries.store import Store
from gateway.entries.table import Table
from gateway.rules.callers import Comparison
from gateway.sightings import Sightings

from containers.errors import EngineUnavailableError
from containers.gateway.transport import NOT_THERE, Transport
from projects.models import Project


class NodeGateway:
    """A `Transport` of its own, while it `is_there`."""

    def __init__(self, home: Path, now: Callable[[], float]) -> None:
        self._home, self._now = home, now
        self.is_there = self.is_ready = True
        self.hangs = False
        """It answers pings only."""
        self.restart()

    def restart(self) -> None:
        self._leases = Leases(self._now)
        self.table = Table(Store(self._home, MultiFernet([Fernet(KEY)])), self._leases)
        ledger, self.comparison = cast("Ledger", _NoLedger()), Comparison(self._now)
        self._commands = Commands(self.table, ledger, Sightings(self._now), self.comparison)

    def exchange(self, line: bytes, *, within: float) -> bytes:
        if not self.is_there:
            raise EngineUnavailableError(NOT_THERE)
        message = json.loads(line)
        if message["do"] == "ping":
            told: dict[str, Any] = {"ok": True, "protocol": 1, "ready": self.is_ready, **self._leases.as_document()}
        elif self.hangs:
            raise EngineUnavailableError(NOT_THERE)
        else:
            told = asyncio.run(self._commands.answer(message))
        return json.dumps(told).encode() + b"\n"

    def prepare(self, *, within: float) -> None:
        """Nothing has to be prepared."""

    def lets_pass(self, project: Project) -> bool:
        record = self.table._records.get(project.container_key)
        return record is not None and record.entry is not None and self.table.counts(record.entry)

    def is_void(self, project: Project) -> bool:
        return self.table.versions().get(project.container_key, {}).get("void") is True


class _NoLedger:
    stores = SimpleNamespace(
        awaits_word=lambda _: False, doubt=SimpleNamespace(note_untold=lambda _: None), trouble=""
    )  # fmt: skip

    async def read_since(self, seq: int, _store: str) -> dict[str, Any]:
        return {"store": "s", "seq": seq, "rows": [], "more": False}


class Nodes:
    """The engine's view of a Swarm of two nodes: where agents run, and which nodes count as lost."""

    def __init__(self, home: Path) -> None:
        self.now = secrets.randbelow(1_000_000) + 0.0
        self.by_name = {name: NodeGateway(home / name, lambda: self.now) for name in "ab"}
        self.places_of: dict[str, str] = {}
        self.is_silent = False
        """The engine does not answer."""

    def gateways(self) -> dict[str, Transport]:
        self._answer()
        return dict(self.by_name)

    def places(self) -> dict[str, str]:
        self._answer()
        return self.places_of

    def _answer(self) -> None:
        if self.is_silent:
            raise EngineUnavailableError("The engine does not answer.")

    def run_on(self, project: Project, node: str) -> None:
        self.places_of[project.container_key] = node

    def letting_pass(self, project: Project) -> set[str]:
        return {name for name, node in self.by_name.items() if node.lets_pass(project)}


KEY = Fernet.generate_key()
