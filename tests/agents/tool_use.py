"""Tools as the model uses them, in this process."""

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def use(
    sources: Callable[[Any], list[Any]], *calls: tuple[str, dict[str, Any]], inside: str = "127.0.0.1"
) -> list[str]:
    """What the model is told of these calls."""
    from assistant.model.completion import ToolCall
    from assistant.remembering.memory import Place
    from assistant.tools.outside import Outside
    from assistant.tools.tool import Caller
    from assistant.tools.toolbox import Toolbox

    async def run() -> list[str]:
        from zoneinfo import ZoneInfo

        outside = Outside(frozenset({inside}), "")
        box = Toolbox(ZoneInfo("UTC"), [each.list_tools for each in sources(outside)])
        tools = await box.list_tools()
        told = [await box.use(tools, ToolCall("1", n, json.dumps(a)), Caller(Place(1), None)) for n, a in calls]
        await outside.close()
        return [each.removeprefix("<result>\n").removesuffix("\n</result>") for each in told]

    return asyncio.run(run())


def troubles(told: list[Any] | None = None) -> Any:
    """Those of an agent, which adds to `told` what it would say of its state."""
    from assistant.tools.troubles import Troubles

    status: Any = SimpleNamespace(note_tools=(told if told is not None else []).append)
    return Troubles(status)
