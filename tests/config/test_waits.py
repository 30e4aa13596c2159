"""Every wait on another thread has a time limit, or a reason why it needs none.

A thread that gets no memory dies silently, and whoever waits for it without a limit waits forever. Python's own
`Thread.start` is such a wait, and so is `submit` of a `ThreadPoolExecutor`, which may start a thread.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

HOUSE = ("accounts", "config", "containers", "projects")
ELSEWHERE = (ROOT / "containers" / "images", ROOT / "containers" / "trial_servers")
"""Programs in containers, which the engine limits and restarts."""

BEATS = "The watcher shows signs of life in each thread and round. One that waits here shows none, and is replaced."
BOOTS = "When the process begins. One that waits here does not say that it is there, and is replaced."
NO_PROCESS = "A command of an operator, who sees it wait and can end it."

REASONS = {
    "config/serving/supervision/children.py:run_child: Thread": BOOTS,
    "config/serving/watcher_port.py:finish_request: Timer": "One of few threads, which holds up nobody else.",
    "config/serving/watcher_port.py:finish_request: join": "It is cancelled, or shuts a socket, which never waits.",
    "config/serving/watcher_port.py:open_watcher_port: Thread": BOOTS,
    "config/serving/worker/threads.py:_work: get": "A thread that waits for work. Nobody waits for it.",
    "containers/outbound/dns_lookups.py:find_addresses: result": "It is there: `wait` has said so.",
    "containers/processes/side_work.py:_results_of: result": "Its error is there already.",
    "containers/management/commands/build_images.py:_build_all: ThreadPoolExecutor": NO_PROCESS,
    "containers/management/commands/build_images.py:_build_all: wait": NO_PROCESS,
    "containers/management/commands/build_images.py:_build_all: shutdown": NO_PROCESS,
    "containers/management/commands/build_images.py:_build_all: result": NO_PROCESS,
    "containers/processes/side_work.py:__init__: acquire": "Its own lock, before anybody else knows it.",
    "containers/processes/side_work.py:begin_in_time: acquire": "Its own lock, before anybody else knows it.",
    "projects/watcher/upkeep/images.py:__init__: Thread": BEATS,
    "projects/watcher/threads.py:__init__: Thread": BEATS,
}
"""By module, function and the call that waits there."""

STARTS = {"Thread", "ThreadPoolExecutor", "Timer"}


def modules() -> list[Path]:
    found = [module for room in HOUSE for module in sorted((ROOT / room).rglob("*.py"))]
    return [module for module in found if not any(each in module.parents for each in ELSEWHERE)]


def may_be_none(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Constant) and node.value is None for node in ast.walk(value))


def is_forever(value: ast.expr) -> bool:
    return may_be_none(value) or (ast.unparse(value) == "-1") or " -1 " in f" {ast.unparse(value)} "


def describe(call: ast.Call, source: str) -> str:
    """Returns what waits without a limit in this call; empty if nothing does."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    named = {each.arg: each.value for each in call.keywords}
    is_bare, is_of_an_object = not call.args and not named, isinstance(call.func, ast.Attribute)
    is_forever_by_name = any(is_forever(named[each]) for each in ("timeout", "within") if each in named)
    waits = {
        **dict.fromkeys(STARTS, True),
        "join": is_bare,
        "result": is_bare or is_forever_by_name,
        "acquire": is_bare or is_forever_by_name,
        "wait": is_forever_by_name or (is_bare if is_of_an_object else "timeout" not in named),
        "as_completed": "timeout" not in named,
        "get": (is_bare or is_forever_by_name) and ("queue" in source or "multiprocessing" in source),
        "map": is_of_an_object and "timeout" not in named and "concurrent.futures" in source,
        "shutdown": is_bare or bool(getattr(named.get("wait"), "value", False)),
    }
    return name if waits.get(name) else ""


def unbounded(module: Path) -> Iterator[str]:
    """Returns `module:function: what` for each."""
    source = module.read_text()
    if not any(each in source for each in ("threading", "queue", "concurrent", "multiprocessing", "side_work")):
        return
    tree = ast.parse(source)
    place = module.relative_to(ROOT).as_posix()
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and (what := describe(node, source)):
                yield f"{place}:{function.name}: {what}"
            if isinstance(node, ast.With):
                made = [each.context_expr for each in node.items if isinstance(each.context_expr, ast.Call)]
                yield from (
                    f"{place}:{function.name}: with {ast.unparse(each.func)}"
                    for each in made
                    if ast.unparse(each.func) in STARTS
                )


def test_every_wait_on_another_thread_has_a_bound_or_a_reason() -> None:
    found = {each for module in modules() for each in unbounded(module)}
    assert found == set(REASONS)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("thread.join()", "join"),
        ("thread.join(2.0)", ""),
        ("done.wait()", "wait"),
        ("done.wait(timeout=None)", "wait"),
        ("done.wait(timeout=left if left else None)", "wait"),
        ("done.wait(1.0)", ""),
        ("future.result()", "result"),
        ("future.result(within)", ""),
        ("lock.acquire()", "acquire"),
        ("lock.acquire(timeout=-1 if left is None else left)", "acquire"),
        ("lock.acquire(blocking=False)", ""),
        ("items.get()", "get"),
        ("items.get(timeout=1.0)", ""),
        ("wait(pending)", "wait"),
        ("pool.map(act, given)", "map"),
        ("pool.map(act, given, timeout=1.0)", ""),
        ("pool.shutdown(wait=True)", "shutdown"),
        ("pool.shutdown(wait=False)", ""),
        ("Thread(target=act).start()", "Thread"),
        ("with ThreadPoolExecutor(2) as pool: pass", "with ThreadPoolExecutor"),
    ],
)
def test_a_new_fixed_sleep_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, what: str) -> None:
    monkeypatch.setattr("tests.config.test_waits.ROOT", tmp_path)
    module = tmp_path / "new.py"
    module.write_text(f"import queue, concurrent.futures\ndef f():\n    {line}\n")
    found = {each.removeprefix("new.py:f: ") for each in unbounded(module)}
    assert (what in found) if what else not found
