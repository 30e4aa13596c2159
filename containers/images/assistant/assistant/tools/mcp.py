"""Tool servers that speak the Model Context Protocol over HTTP. A server that is down offers no tools for a time."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable, Container, Sequence
from itertools import chain, count
from typing import Any
from urllib.parse import urlsplit

from assistant.model.completion import objects
from assistant.texts import Text
from assistant.tools.mcp_answers import AnswerReader
from assistant.tools.outbound import Fetched, OutboundClient
from assistant.tools.server_problems import ServerProblems
from assistant.tools.tool import Caller, Tool, ToolError

VERSION = "2025-06-18"
LIST_SECONDS = 8.0
FRESH_SECONDS = 600.0  # how long a list of tools is used
DOWN_SECONDS = 60.0  # how long a server that failed is not asked again
MOST_PAGES = 5
MOST_TOOLS = 20  # of one server
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1000
LONGEST_SCHEMA = 10_000
OPEN: dict[str, Any] = {"type": "object", "properties": {}}
ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

logger = logging.getLogger(__name__)


class SignInError(ToolError):
    """The server refuses the agent's credential or asks for a sign-in."""


class SessionLostError(Exception):
    """The server no longer knows the session."""


class McpServer:
    def __init__(
        self,
        outbound: OutboundClient,
        number: int,
        address: str,
        problems: ServerProblems,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`number` is the server's position in the settings."""
        self._outbound = outbound
        self._number = number
        self._title = f"MCP {number}"
        self._address = address
        self._problems = problems
        self._now = now
        self._ids = count(1)
        self._session: dict[str, str] | None = None
        self._given: dict[str, str] = {}
        self._tools: list[Tool] = []
        self._fresh_until = 0.0
        self._lock = asyncio.Lock()

    async def list_tools(self) -> Sequence[Tool]:
        async with self._lock:
            if self._now() >= self._fresh_until:
                await self._refresh()
            return self._tools

    async def _refresh(self) -> None:
        seconds = FRESH_SECONDS
        try:
            async with asyncio.timeout(LIST_SECONDS):
                self._tools = await self._ask_for_tools()
        except (ToolError, TimeoutError, ValueError, RecursionError) as error:
            if not isinstance(error, SignInError):  # a different error ends the sign-in problem
                self._problems.note(self._title, None)
            logger.warning("the MCP server %d does not answer: %s", self._number, type(error).__name__)
            self._tools, seconds = [], DOWN_SECONDS
        self._fresh_until = self._now() + seconds

    async def _ask_for_tools(self) -> list[Tool]:
        found: dict[str, Tool] = {}
        params: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            result = await self._call("tools/list", params)
            for each in objects(result.get("tools")):
                name = self._name(str(each.get("name")), found)
                found[name] = self._describe(name, each)
            if not isinstance(result.get("nextCursor"), str) or len(found) >= MOST_TOOLS:
                break
            params = {"cursor": result["nextCursor"]}
        return list(found.values())[:MOST_TOOLS]

    def _name(self, own: str, taken: Container[str]) -> str:
        """Returns a name that providers accept and that no other server or tool uses."""
        name = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp{self._number}_{own}")[:LONGEST_NAME]
        others = (f"{name[: LONGEST_NAME - 4]}_{number}" for number in count(2))
        return next(each for each in chain([name], others) if each not in taken)

    def _describe(self, name: str, listed: dict[str, Any]) -> Tool:
        own, schema = str(listed.get("name")), listed.get("inputSchema")
        is_fit = (
            isinstance(schema, dict) and schema.get("type") == "object" and len(json.dumps(schema)) < LONGEST_SCHEMA
        )

        async def run(_: Caller, arguments: dict[str, Any]) -> str:
            return _read_result(await self._call("tools/call", {"name": own, "arguments": arguments}))

        description = str(listed.get("description") or "")[:LONGEST_DESCRIPTION]
        return Tool(name, description, schema if is_fit and isinstance(schema, dict) else OPEN, run)

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Raises ToolError."""
        if self._session is None:
            await self._begin()
        try:
            return await self._ask(method, params)
        except SessionLostError:
            await self._begin()
        try:
            return await self._ask(method, params)
        except SessionLostError:
            raise ToolError("the server has lost the session.") from None

    async def _begin(self) -> None:
        self._session, self._given = None, {}
        who = {"name": "berth-assistant", "version": "1"}
        result = await self._ask("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": who})
        self._session = {**self._given, "MCP-Protocol-Version": str(result.get("protocolVersion") or VERSION)}
        await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, AnswerReader(0))

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        reader = AnswerReader(next(self._ids))
        request = {"jsonrpc": "2.0", "id": reader.number, "method": method, "params": params}
        fetched = await self._post(request, reader)
        if fetched.status == 404 and self._session is not None:
            raise SessionLostError
        self._note_login(fetched.status)
        answer = reader.finish(fetched.body)
        if fetched.status >= 400 or answer is None:
            raise ToolError(f"the server answers with status {fetched.status}.")
        if method == "initialize" and "mcp-session-id" in fetched.headers:
            self._given = {"Mcp-Session-Id": fetched.headers["mcp-session-id"]}
        result = answer.get("result")
        if not isinstance(result, dict):
            error = answer.get("error")
            raise ToolError(str(error.get("message") if isinstance(error, dict) else "there is no result")[:500])
        return result

    def _note_login(self, status: int) -> None:
        """Raises SignInError if the status is 401. Other errors do not show whether the server admits the agent."""
        if status == 401:
            self._fresh_until = min(self._fresh_until, self._now() + DOWN_SECONDS)
            is_by_gateway = self._outbound.is_gateway_address(self._address)
            host = "" if is_by_gateway else str(urlsplit(self._address).hostname)
            self._problems.note(self._title, Text.TOOLS_KEY if is_by_gateway else Text.TOOLS_LOGIN, host)
            raise SignInError(
                "the server refuses its credential." if is_by_gateway else "the server asks for a sign-in."
            )
        if status < 400:
            self._problems.note(self._title, None)

    async def _post(self, document: dict[str, Any], reader: AnswerReader) -> Fetched:
        """Posts the document and stops reading at the answer, because a stream may stay open after it."""
        return await self._outbound.fetch(
            "POST",
            self._address,
            headers=ACCEPT | (self._session or {}),
            body=json.dumps(document).encode(),
            is_complete=reader.feed,
        )


def _read_result(result: dict[str, Any]) -> str:
    content = result.get("content")
    parts = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    text = "\n".join(str(each.get("text")) if each.get("type") == "text" else f"[{each.get('type')}]" for each in parts)
    if not text and result.get("structuredContent") is not None:
        text = json.dumps(result["structuredContent"], ensure_ascii=False)
    if result.get("isError"):
        raise ToolError(text[:2000])
    return text
