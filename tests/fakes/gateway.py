"""A gateway in memory: it answers as `containers/images/gateway` does, and passes no traffic.

A test steers what it would have seen: `use` counts calls of models, `see` says when a bot polled and what upstreams
answered.
"""

import json
import secrets
import time
from collections.abc import Callable
from typing import Any

PROTOCOL = 1
COUNTS = ("messages", "requests", "errors", "estimated", "input", "output", "cached", "money")
PAGE = 1000
"""The most rows in one answer."""


class MemoryGateway:
    """`entries` are the current documents by project, with None for a tombstone; `versions` are their versions."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any] | None] = {}
        self.versions: dict[str, int] = {}
        self.applied: list[tuple[int, list[str], list[str]]] = []
        """Each `apply` received: its version, the projects with entries, and those that it made void."""
        self._store = secrets.token_hex(8)
        self._totals: dict[tuple[str, int, str], dict[str, int]] = {}
        self._changed_at: dict[tuple[str, int, str], int] = {}
        self._seq = 0
        self._began = time.time()
        self._seen: dict[str, dict[str, Any]] = {}
        self._is_older = False
        self.untold: set[str] = set()
        """Projects whose entries do not say what was spent before counts were lost."""
        self.trouble = ""
        """What it says about its disk."""
        self.refuses: set[str] = set()
        """Commands that its disk does not allow."""
        self.clock: Callable[[], float] | None = None
        """Its clock, which may differ from the service's. A gateway of an older version does not tell it."""

    def use(self, project: str, *, model: str = "", hour: int | None = None, **counts: int) -> None:
        """Adds to the totals of this hour since 1970 (by default the present one), project and model."""
        cell = project, int(time.time()) // 3600 if hour is None else hour, model
        totals = self._totals.setdefault(cell, dict.fromkeys(COUNTS, 0))
        for name, count in counts.items():
            totals[name] += count
        self._seq += 1
        self._changed_at[cell] = self._seq

    def find(self, project: str, *, at: float, **refused: bool | None) -> None:
        """Sets whether these facts are refused (`containers/images/gateway/gateway/proofs.py`). The others stay."""
        facts = {name: {"refused": each, "at": at} for name, each in refused.items()}
        self.see(project, facts={**(self._seen.get(project, {}).get("facts") or {}), **facts})

    def see(self, project: str, **what: Any) -> None:
        """Sets what the gateway has seen of the project's agent: fields of `containers.gateway.sightings.Sighting`."""
        nothing = ("last_poll", "telegram_status", "telegram_since", "provider_status", "provider_since")
        blank = dict.fromkeys((*nothing, "budget_reached"))
        self._seen[project] = {**blank, **self._seen.get(project, {}), **what}

    def lose_counts(self) -> None:
        """Loses its volume: totals start again in another file."""
        self._store, self._totals, self._changed_at, self._seq = secrets.token_hex(8), {}, {}, 0

    def set_back(self) -> None:
        """Gets an older copy of its volume: it does not know what was counted since, and neither does its table."""
        self._is_older, self._totals, self._changed_at = True, {}, {}

    def restart(self) -> None:
        """Restarts the process, which loses everything that was only in memory."""
        self._seen, self._began = {}, self.clock() if self.clock else time.time()

    def answer(self, line: bytes) -> bytes:
        message = json.loads(line)
        known: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "apply": self._apply,
            "versions": self._versions,
            "usage": self._usage,
            "truth": self._sightings,
            "ping": lambda _: {"protocol": PROTOCOL},
        }
        do = known.get(message.get("do"))
        if message.get("do") in self.refuses:
            return json.dumps({"ok": False, "later": True, "error": self.trouble}).encode() + b"\n"
        told = do(message) if do else {"ok": False, "error": "The message names no command that this gateway knows."}
        return json.dumps({"ok": True, **told}).encode() + b"\n"

    def _apply(self, message: dict[str, Any]) -> dict[str, Any]:
        version = int(message["version"])
        entries = {str(each["project"]): each for each in message.get("entries", [])}
        void = [str(each) for each in message.get("void", [])]
        self.applied.append((version, sorted(entries), sorted(void)))
        for project, entry in [*entries.items(), *((each, None) for each in void)]:
            if version > self.versions.get(project, -1):
                self.versions[project], self.entries[project] = version, entry
                if entry is None or any(each["store"] == self._store for each in entry["spent"]):
                    self.untold.discard(project)
                if entry is None:
                    self._seen.pop(project, None)
        return {"applied": {project: self.versions[project] for project in [*entries, *void]}}

    def _versions(self, message: dict[str, Any]) -> dict[str, Any]:
        among = message.get("among", self.versions)
        held = {project: {"version": version} for project, version in self.versions.items()}
        shown = {name: {**each, "void": self.entries[name] is None} for name, each in held.items()}
        for name in self.untold & shown.keys():
            shown[name]["untold"] = True
        return {"versions": {name: each for name, each in shown.items() if not each["void"] or name in among}}

    def _usage(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._is_older and message["store"] == self._store:
            self._store, self._is_older = secrets.token_hex(8), False
            self.untold = {project for project, entry in self.entries.items() if entry is not None}
            return self._usage(message | {"since": 0})
        fresh = sorted((at, cell) for cell, at in self._changed_at.items() if at > int(message["since"]))
        page = fresh[:PAGE]
        rows = [{"project": cell[0], "hour": cell[1], "model": cell[2], **self._totals[cell]} for _, cell in page]
        seq = page[-1][0] if page else self._seq
        return {"store": self._store, "seq": seq, "rows": rows, "more": len(fresh) > len(page)}

    def _sightings(self, _message: dict[str, Any]) -> dict[str, Any]:
        now = {} if self.clock is None else {"now": self.clock()}
        return {"began": self._began, "trouble": self.trouble, "seen": self._seen, **now}
