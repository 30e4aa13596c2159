"""The requests that the gateway answers. Each gets an answer, so that the service knows when an entry is void.

The other side is `containers/images/gateway/gateway/control/commands.py`.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from containers.agent_text import clean
from containers.errors import EngineRefusedError, EngineUnavailableError, GatewayDiskError
from containers.gateway.entries import Entry
from containers.gateway.leases import GatewayClock, Lease
from containers.gateway.messages import GARBLED, in_parts, object_of, whole
from containers.gateway.sightings import Look, read_sighting
from containers.gateway.transport import Transport
from containers.gateway.usage_pages import UsagePage, read_page
from containers.outbound.foreign_json import read_json

WITHIN = 10.0
"""Seconds for one request."""

NOT_AT_WORK = "The gateway is not at work yet."


@dataclass(frozen=True, slots=True)
class Standing:
    """The version of a project's entry that the gateway has."""

    version: int
    is_void: bool
    is_untold: bool = False
    """Whether the gateway has lost counts since the entry was made, and must be told what the project has spent."""


class GatewayClient:
    """Every method may raise `EngineError`: `EngineUnavailableError` if it is unknown whether the gateway has acted."""

    def __init__(self, transport: Transport, *, within: float = WITHIN) -> None:
        self._transport = transport
        self._within = within

    def apply(
        self, *, version: int, entries: Iterable[Entry] = (), void: Iterable[str] = (), lease: Lease | None = None
    ) -> dict[str, int]:
        """Returns the version in force for each of these projects: this one, or a later one that arrived first.

        On return it is on the gateway's disk and in force, and the requests of void projects have ended. The call may
        be repeated. Many entries go in several messages: if one is refused, earlier ones are in force. `lease` is for
        those of these entries that need one.
        """
        documents = [entry.as_document() for entry in entries]
        leased = {"lease": lease.as_document()} if lease else {}
        voided, held = list(void), dict[str, int]()
        for part in in_parts(documents):
            applied = self._ask("apply", version=version, entries=part, void=voided, **leased).get("applied")
            held |= {str(project): whole(each) for project, each in object_of(applied).items()}
            voided = []
        return held

    def renew(self, versions: Mapping[str, int], lease: Lease) -> set[str]:
        """Returns the projects that have a lease now. Projects that are void, or in another version there, get none."""
        renewed = self._ask("renew", versions=dict(versions), lease=lease.as_document()).get("renewed")
        if not isinstance(renewed, list):
            raise EngineUnavailableError(GARBLED)
        return set(map(str, renewed))

    def read_clock(self) -> GatewayClock:
        """Reads the clock of a gateway that is at work. Any other cannot be given leases, and raises an error."""
        answer = self._ask("ping")
        if answer.get("ready", True) is not True:
            raise EngineUnavailableError(NOT_AT_WORK)
        epoch, clock = answer.get("epoch"), answer.get("clock")
        if not isinstance(epoch, str) or isinstance(clock, bool) or not isinstance(clock, int | float):
            raise EngineUnavailableError(GARBLED)
        return GatewayClock(epoch, float(clock))

    def versions(self, among: Collection[str] | None = None) -> dict[str, Standing]:
        """Returns the standing of all projects that the gateway knows. With `among`, void projects only if they are
        named. A gateway of an older version returns all of them even then.
        """
        named = {} if among is None else {"among": list(among)}
        found = object_of(self._ask("versions", **named).get("versions"))
        return {
            project: Standing(whole(each.get("version")), bool(each.get("void")), bool(each.get("untold")))
            for project, each in ((project, object_of(value)) for project, value in found.items())
        }

    def usage_since(self, seq: int, store: str = "") -> UsagePage:
        """Returns the changes after this number, the oldest first. `store` is the store in which it was read: if the
        gateway has an older state of that, it continues as another one.
        """
        return read_page(self._ask("usage", since=seq, store=store))

    def look(self, *, missed_nothing: bool = False) -> Look:
        """Returns what the gateway observed. `missed_nothing` confirms that its last `versions` were complete, so that
        a credential that it does not know is invalid everywhere.
        """
        answer = self._ask("truth", **({"missed_nothing": True} if missed_nothing else {}))
        seen = object_of(answer.get("seen"))
        given = (answer.get("now"), answer.get("began"))
        now, began = (float(at) if isinstance(at, int | float) else None for at in given)
        sightings = {project: read_sighting(object_of(each)) for project, each in seen.items()}
        return Look(sightings, now, began, clean(str(answer.get("trouble") or ""))[:300])

    def counters(self, *, project: str, container: str) -> Mapping[str, Any] | None:
        """Returns what the container uses, in the form of an engine's stats. None: it is not on the gateway's node."""
        found = self._ask("counters", project=project, container=container).get("counters")
        return None if found is None else object_of(found)

    def ping(self) -> int:
        """Returns the version of the protocol that the gateway speaks."""
        return whole(self._ask("ping").get("protocol"))

    def is_ready(self) -> bool:
        """Returns whether it is at work. Otherwise it still waits until its predecessor has ended."""
        return self._ask("ping").get("ready", True) is True

    def _ask(self, do: str, **message: Any) -> dict[str, Any]:
        line = json.dumps({"do": do, **message}, separators=(",", ":")).encode() + b"\n"
        try:
            answer = object_of(read_json(self._transport.exchange(line, within=self._within)))
        except ValueError:
            raise EngineUnavailableError(GARBLED) from None
        if answer.get("ok") is not True:
            # The gateway's sentences quote nothing from the request.
            words = clean(str(answer.get("error") or GARBLED))[:300]
            raise GatewayDiskError(words) if answer.get("later") is True else EngineRefusedError(words)
        return answer
