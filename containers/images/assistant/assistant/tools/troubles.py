"""Reports MCP servers that refuse the agent, on its owner's page and in the chats."""

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
    """Notifies each chat once per server, until the server's trouble changes or ends."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._found: dict[str, Text] = {}  # by what servers are called
        self._hosts: dict[str, str] = {}
        self._any = asyncio.Event()
        self._told: dict[str, set[Place]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    async def wait(self) -> None:
        """Waits until there is a trouble."""
        await self._any.wait()

    def note(self, server: str, found: Text | None, host: str = "") -> None:
        """Notes a server's trouble; `found` is None if it admits the agent or does not say. Only the owner sees `host`,
        because anybody may be in a chat.
        """
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
        """Returns the notices that this place has not seen yet; empty if there are none."""
        said = []
        for server, found in sorted(self._found.items()):
            told = self._told.setdefault(server, set())
            if place not in told and len(told) < MOST_PLACES:
                told.add(place)
                said.append(say(found, language, server=server))
        return "\n\n".join(said)
