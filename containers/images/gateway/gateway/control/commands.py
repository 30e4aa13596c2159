"""The commands of the control side. Each command is a JSON object with `do`; each answer has `ok`.

apply     {version, entries: [...], void: [project, ...]}   →  {applied: {project: version}}
          and {lease: {epoch, until}} for the entries
renew     {versions: {project: version}, lease}             →  {renewed: [project, ...], epoch, clock}
versions  {}                                                →  {versions: {project: {version, void}}}
          or {among: [project, ...]}: tombstones of these only
          `untold` of a project: send its entry again, with what it has spent
usage     {since, store}                                    →  {store, seq, rows, more}
truth     {}                                                →  {began, trouble, seen: {project: ...}}
counters  {project, container}                              →  {counters: what its container uses, or null}
ping      {}                                                →  {protocol, ready, epoch, clock}
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from gateway.budgets.disk_errors import DiskError, describe
from gateway.budgets.ledger import Ledger
from gateway.entries.entry import read_project
from gateway.entries.fields import EntryError, read_object
from gateway.entries.leases import read_lease
from gateway.entries.table import Change, Table
from gateway.node.cgroups import read_counters
from gateway.node.network_counters import read_network_counters
from gateway.rules.callers import Comparison
from gateway.sightings import Sightings


class Commands:
    def __init__(
        self, table: Table, ledger: Ledger, sightings: Sightings, comparison: Comparison, groups: Path | None = None
    ) -> None:
        """`groups` is the node's /sys/fs/cgroup, or None if it cannot be read."""
        self._groups = groups
        self._table = table
        self._comparison = comparison
        self._ledger = ledger
        self._sightings = sightings
        self._known: Mapping[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "apply": self._apply,
            "renew": self._renew,
            "versions": self._versions,
            "usage": self._usage,
            "truth": self._report_sightings,
            "counters": self._count,
        }

    async def answer(self, message: object) -> dict[str, Any]:
        """Returns the answer to a message. If the message is wrong, `error` says why without quoting it."""
        do = self._known.get(str(message.get("do"))) if isinstance(message, dict) else None
        if do is None or not isinstance(message, dict):
            return {"ok": False, "error": "The message names no command that this gateway knows."}
        try:
            return {"ok": True, **await do(message)}
        except EntryError as error:
            return {"ok": False, "error": str(error)}
        except DiskError as error:
            return _refuse_for_now(str(error))
        except OSError as error:
            return _refuse_for_now(describe(error))

    async def _apply(self, message: dict[str, Any]) -> dict[str, Any]:
        version = _number(message, "version")
        entries, void = _list(message, "entries"), _list(message, "void")
        changes = [Change(read_project(_member(each, "project")), each) for each in entries]
        changes += [Change(read_project(each), None) for each in void]
        return {"applied": await self._table.apply(changes, version, read_lease(message.get("lease")))}

    async def _renew(self, message: dict[str, Any]) -> dict[str, Any]:
        versions = read_object(message.get("versions"), "versions")
        lease = read_lease(message.get("lease"))
        if lease is None or not all(isinstance(each, int) for each in versions.values()):
            raise EntryError("renew needs a lease, and versions that are whole numbers.")
        return {"renewed": self._table.renew(versions, lease), **self._table.leases.as_document()}

    async def _versions(self, message: dict[str, Any]) -> dict[str, Any]:
        among = frozenset(map(str, _list(message, "among"))) if "among" in message else None
        self._comparison.begin()
        versions = self._table.versions(among, self._ledger.stores.awaits_word)
        self._ledger.stores.doubt.note_untold(sum("untold" in each for each in versions.values()))
        return {"versions": versions}

    async def _usage(self, message: dict[str, Any]) -> dict[str, Any]:
        return await self._ledger.read_since(_number(message, "since"), str(message.get("store", "")))

    async def _report_sightings(self, message: dict[str, Any]) -> dict[str, Any]:
        if message.get("missed_nothing") is True:
            self._comparison.confirm_equal()
        return {"trouble": self._ledger.stores.trouble, **self._sightings.as_document()}

    async def _count(self, message: dict[str, Any]) -> dict[str, Any]:
        """Omits `networks` if the agent has not used this gateway from an address of its own."""
        if self._groups is None:
            raise EntryError("This gateway does not measure agents.")
        container = str(message.get("container"))
        counters = await asyncio.to_thread(read_counters, self._groups, container)
        address = self._table.bindings.address_of(read_project(message.get("project")))
        if counters and address and (networks := await asyncio.to_thread(read_network_counters, address)):
            counters["networks"] = networks
        return {"counters": counters}


def _refuse_for_now(trouble: str) -> dict[str, Any]:
    """Returns the answer to a request that may succeed later."""
    return {"ok": False, "later": True, "error": f"The gateway cannot use its disk: {trouble}."}


def _number(message: dict[str, Any], name: str) -> int:
    value = message.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
        raise EntryError(f"{name} must be a whole number from 0.")
    return value


def _list(message: dict[str, Any], name: str) -> list[Any]:
    value = message.get(name, [])
    if not isinstance(value, list):
        raise EntryError(f"{name} must be a list.")
    return value


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None
