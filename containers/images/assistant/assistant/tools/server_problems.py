"""Reports MCP servers that refuse the agent, on its owner's page and in the chats."""

import asyncio

from agent_contract import ProblemCode
from assistant.storage.memory import Place
from assistant.texts import Text, translate
from berth_agent.outcome import Problem
from berth_agent.status import Status

MOST_PLACES = 1000  # notified of one server's problem; further places are not
DETAILS = {
    Text.TOOLS_LOGIN: "{server} asks for a sign-in or a credential.",
    Text.TOOLS_KEY: "{server} refuses its credential.",
}


class ServerProblems:
    """Notifies each chat once per server, until the server's problem changes or ends."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._found: dict[str, Text] = {}  # by the servers' titles
        self._hosts: dict[str, str] = {}
        self._any = asyncio.Event()
        self._notified: dict[str, set[Place]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    async def wait(self) -> None:
        """Waits until there is a problem."""
        await self._any.wait()

    def note(self, server: str, found: Text | None, host: str = "") -> None:
        """Notes a server's problem; `found` is None if it admits the agent or does not say. Only the owner sees `host`,
        because anyone may be in a chat.
        """
        if self._found.get(server) is found:
            return
        self._notified.pop(server, None)
        if found is None:
            del self._found[server]
        else:
            self._found[server], self._hosts[server] = found, f" ({host})" if host else ""
        details = (DETAILS[text].format(server=name + self._hosts[name]) for name, text in sorted(self._found.items()))
        detail = " ".join(details)
        self._status.note_tools(Problem(ProblemCode.TOOLS_REFUSED, detail) if detail else None)
        if self._found:
            self._any.set()
        else:
            self._any.clear()

    def notices_for(self, place: Place, language: str | None) -> str:
        """Returns the notices that this place has not seen yet; empty if there are none."""
        notices = []
        for server, found in sorted(self._found.items()):
            notified = self._notified.setdefault(server, set())
            if place not in notified and len(notified) < MOST_PLACES:
                notified.add(place)
                notices.append(translate(found, language, server=server))
        return "\n\n".join(notices)
