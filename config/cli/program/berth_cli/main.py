"""The beginning and the end of the program: runs the command, and turns every error into one sentence."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from berth_cli.arguments import check_texts, make_parser
from berth_cli.errors import BROKEN_PIPE, INTERRUPTED, REFUSED, CommandError, OutputError
from berth_cli.output import Output
from berth_cli.terminal import flush_out, is_closed_pipe, prepare_streams, print_err

ALONE = {"login": "sign_in.log_in", "context": "contexts_command.contexts", "completion": "completion.write_script"}
"""Commands that need no installation.

Modules are imported when needed, because Python reads them again in each run from a packed file."""

AT_ONE = {"logout": "sign_in.log_out", "keys": "keys.keys", "upgrade": "upgrade.upgrade"}
"""Commands that need an installation but no token."""

WITH_TOKEN = {
    "deploy": "deploying.deploy",
    "change": "deploying.change",
    "start": "control.control",
    "stop": "control.control",
    "restart": "control.control",
    "update": "control.update",
    "rm": "control.remove",
    "list": "reports.list_projects",
    "status": "reports.show_project",
    "stats": "reports.show_stats",
    "usage": "reports.show_usage",
    "whoami": "reports.who_am_i",
    "logs": "logs.read_logs",
}


def run(arguments: list[str] | None = None) -> int:
    """Returns the exit code. Never shows a traceback."""
    out = Output(as_json=False)
    try:
        prepare_streams()
        code = _begin_or_explain(sys.argv[1:] if arguments is None else arguments, out)
        flush_out()
    except KeyboardInterrupt:
        print_err(f"\nInterrupted. {out.goes_on}".rstrip())
        code = INTERRUPTED
    except CommandError as error:
        code = _end(out, error)
    except OSError as error:
        if is_closed_pipe(error):
            return _end_pipe()
        print_err(f"berth: {error.strerror or error}.")
        code = REFUSED
    except Exception as error:  # noqa: BLE001 - a mistake of ours is told in a sentence, too
        print_err(f"berth: this program failed ({type(error).__name__}: {error}). Please report it.")
        code = REFUSED
    return code


def _begin_or_explain(words: list[str], out: Output) -> int:
    """The parser ends the program after a help, a version or wrong usage."""
    try:
        return _begin(words, out)
    except SystemExit as ended:
        return int(ended.code or 0)


def _begin(words: list[str], out: Output) -> int:
    if words[:1] == ["__complete"]:
        for word in _find("completion.complete")(words[1:]):
            sys.stdout.write(f"{word}\n")
        return 0
    options = make_parser().parse_args(words)
    out.as_json = options.json
    check_texts(options)
    return _carry_out(options, out)


def _carry_out(options: argparse.Namespace, out: Output) -> int:
    name: str = options.command
    if name in ALONE:
        return int(_find(ALONE[name])(options, out))
    contexts = import_module("berth_cli.contexts")
    context = contexts.choose_context(name=options.context, ca=options.ca, insecure_http=options.insecure_http)
    if name in AT_ONE:
        return int(_find(AT_ONE[name])(options, context, out))
    api = import_module("berth_cli.api").Api(context, warn=print_err)
    code = int(_find(WITH_TOKEN[name])(options, api, out))
    _find("upgrade.hint_at_newer")(context)
    return code


def _find(named: str) -> Any:
    module, _, function = named.partition(".")
    return getattr(import_module(f"berth_cli.{module}"), function)


def _end(out: Output, error: CommandError) -> int:
    try:
        out.refuse(error)
    except (OutputError, BrokenPipeError):
        _end_pipe()
    if isinstance(error, OutputError):
        _end_pipe()
    return error.code


def _end_pipe() -> int:
    """Nothing reads or takes the output any more, and Python would complain about that again at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE
