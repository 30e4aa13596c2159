"""Servers of tools that let the agent not in: what its owner's page says of that, and what is said in the chats."""

import asyncio

from agent_contract import ProblemCode
from assistant.remembering.memory import Place
from assistant.texts import Text, say
from berth_agent.outcome import Problem
from berth_agent.status import Status

MOST_PLACES = 1000  # that are told of one server; then no more
DETAILS = {
    Text.TOOLS_LOGIN: "{server} asks for a sign-in or a credential.",
    Text.TOOLS_KEY: "{server} refuses its credential.",
}


class Troubles:
    """Each place is told of a server once, until its trouble is another one or over."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._found: dict[str, Text] = {}  # by what servers are called
        self._hosts: dict[str, str] = {}
        self._any = asyncio.Event()
        self._told: dict[str, set[Place]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    async def wait(self) -> None:
        """Until there is one."""
        await self._any.wait()

    def note(self, server: str, found: Text | None, host: str = "") -> None:
        """None: it lets the agent in, or does not say. `host` is for the owner: anybody may be in a chat."""
        if self._found.get(server) is found:
            return
        self._told.pop(server, None)
        if found is None:
            del self._found[server]
        else:
            self._found[server], self._hosts[server] = found, f" ({host})" if host else ""
        told = (DETAILS[text].format(server=name + self._hosts[name]) for name, text in sorted(self._found.items()))
        details = " ".join(told)
        self._status.note_tools(Problem(ProblemCode.TOOLS_REFUSED, details) if details else None)
        if self._found:
            self._any.set()
        else:
            self._any.clear()

    def tell(self, place: Place, language: str | None) -> str:
        """What is to be said there now; empty for nothing."""
        said = []
        for server, found in sorted(self._found.items()):
            told = self._told.setdefault(server, set())
            if place not in told and len(told) < MOST_PLACES:
                told.add(place)
                said.append(say(found, language, server=server))
        return "\n\n".join(said)
