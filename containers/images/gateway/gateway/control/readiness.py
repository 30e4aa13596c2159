"""Receives requests of the control side, from before the gateway is ready until it ends."""

import asyncio
from typing import Any

from gateway.control.commands import Commands
from gateway.entries.leases import Leases

PROTOCOL = 1


class ReadinessGate:
    """Answers `ping` at once. All other requests wait until the gateway is ready, because its state is not loaded
    before.
    """

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._commands: Commands | None = None
        self._is_over = False
        self._changed = asyncio.Event()

    def open(self, commands: Commands) -> None:
        self._commands = commands
        self._changed.set()

    def close(self) -> None:
        """Leaves all further requests to the successor."""
        self._is_over = True
        self._changed.set()

    async def answer(self, message: object) -> dict[str, Any]:
        """Raises ConnectionError if the gateway ends, because it is unknown whether the request was carried out."""
        if isinstance(message, dict) and message.get("do") == "ping":
            ready = self._commands is not None and not self._is_over
            return {"ok": True, "protocol": PROTOCOL, "ready": ready, **self._leases.as_document()}
        await self._changed.wait()
        if self._commands is None or self._is_over:
            raise ConnectionError
        return await self._commands.answer(message)
