"""Declares the commands and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

from berth_cli import VERSION
from berth_cli.errors import UsageError
from berth_cli.terminal import printable

_Adder = Callable[[str, str], argparse.ArgumentParser]

FILES = {"ca", "key_file", "password_file", "telegram_token_file", "api_key_file", "settings"}

DAYS = ("30", "90", "365", "never")


class _Parser(argparse.ArgumentParser):
    """Shows no control character of an argument that it refuses."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


@lru_cache(maxsize=1)
def make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="berth",
        description="Deploys and controls your agents on an installation of Berth. Exit codes: 0 done, 1 refused, "
        "or the agent does not run well (degraded included), 2 wrong usage, 3 not settled in time.",
        epilog="BERTH_URL and BERTH_TOKEN replace `berth login`; the token is sent only to that address. "
        "--context, else BERTH_CONTEXT, takes precedence over both and uses the token of its login. Name a project "
        "by its name, its id, or the beginning of either.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"berth {VERSION}")
    common = _common()
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, summary: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=summary, description=summary, parents=[common], allow_abbrev=False)

    _add_accounts(command)
    _add_deploying(command)
    _add_control(command)
    _add_reports(command)
    command("upgrade", "Replace this program by the one that the installation serves now.")
    shells = command("completion", "Print a script with which a shell completes commands and names.")
    shells.add_argument("shell", choices=["bash", "zsh", "fish"])
    return parser


def check_texts(options: argparse.Namespace) -> None:
    """Raises `UsageError` for bytes that are not text, which only names of files may contain."""
    for name, given in vars(options).items():
        for each in given if isinstance(given, list) else [given]:
            if name not in FILES and isinstance(each, str) and any("\ud800" <= one <= "\udfff" for one in each):
                raise UsageError(f"“{each}” is not text in the encoding of this terminal.")


def _common(*, inner: bool = False) -> _Parser:
    """Returns the common options. `inner` is for a verb below a command: a default there must not override an option
    given before it.
    """
    common = _Parser(add_help=False)
    default = argparse.SUPPRESS if inner else ""
    off = argparse.SUPPRESS if inner else False
    common.add_argument("--json", action="store_true", default=off, help="print the API's own document")
    common.add_argument("--context", default=default, metavar="NAME", help="the installation to use")
    common.add_argument("--ca", default=default, metavar="FILE", help="the only certificates to trust")
    common.add_argument("--insecure-http", action="store_true", default=off, help="allow plain http to another machine")
    return common


def _add_accounts(command: _Adder) -> None:
    login = command("login", "Sign in, and keep an API key for later commands.")
    login.add_argument("url", nargs="?", default="", metavar="URL")
    login.add_argument(
        "--with-key", action="store_true", help="use an API key that you have created on the settings page"
    )
    login.add_argument("--key-file", metavar="FILE", help="the file with that key; - is standard input")
    _add_credentials(login)
    _add_lifetime(login)
    logout = command("logout", "Forget the token of a context.")
    logout.add_argument("--revoke", action="store_true", help="also revoke the key, which requires the password")
    _add_credentials(logout)
    _add_keys(command)
    context = command("context", "List your installations, or switch to one of them.")
    context.add_argument("name", nargs="?", default="")
    command("whoami", "Show who you are there, and what your token may do.")


def _add_keys(command: _Adder) -> None:
    keys = command("keys", "List, create, rotate and revoke API keys. Each command asks for the password.")
    verbs = keys.add_subparsers(dest="verb", metavar="VERB", required=True)
    listed = verbs.add_parser("list", help="list your keys", parents=[_common(inner=True)], allow_abbrev=False)
    new = verbs.add_parser(
        "new", help="create a key, and show it this once", parents=[_common(inner=True)], allow_abbrev=False
    )
    new.add_argument("name")
    _add_lifetime(new)
    rotate = verbs.add_parser(
        "rotate", help="replace a key, by default this context's", parents=[_common(inner=True)], allow_abbrev=False
    )
    rotate.add_argument("key", nargs="?", default="", metavar="ID")
    revoke = verbs.add_parser("revoke", help="revoke a key", parents=[_common(inner=True)], allow_abbrev=False)
    revoke.add_argument("key", metavar="ID")
    for each in (listed, new, rotate, revoke):
        _add_credentials(each)


def _add_deploying(command: _Adder) -> None:
    deploy = command("deploy", "Deploy an agent. In a terminal, asks for everything that is missing.")
    deploy.add_argument("name", nargs="?", help="the name of the agent")
    deploy.add_argument("--type")
    change = command("change", "Change an agent: its name, plan, settings or credentials.")
    change.add_argument("project")
    change.add_argument("--name")
    change.add_argument("--restart", action="store_true", help="restart the agent, so that the change applies now")
    for each in (deploy, change):
        each.add_argument("--plan")
        each.add_argument("--egress", choices=["internet", "gateway"], help="what the agent can reach")
        each.add_argument(
            "--telegram-token-file", metavar="FILE", help="the file with the bot's token; - is standard input"
        )
        each.add_argument(
            "--api-key-file", metavar="FILE", help="the file with the provider's key; - is standard input"
        )
        each.add_argument("--settings", metavar="FILE", help="a JSON object; - is standard input")
        each.add_argument(
            "--set", action="append", metavar="NAME=TEXT", help="a setting; NAME:=JSON for a value that is not text"
        )
        _add_wait(each, 120)


def _add_control(command: _Adder) -> None:
    descriptions = {"start": "Start agents.", "stop": "Stop agents.", "restart": "Restart agents.",
            "rm": "Delete agents and their memories."}  # fmt: skip
    for name, sentence in descriptions.items():
        parser = command(name, sentence)
        parser.add_argument("projects", nargs="+", metavar="PROJECT")
        _add_wait(parser, 60)
        if name == "rm":
            parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    update = command("update", "Give an agent the newest image of its type.")
    update.add_argument("project")
    _add_wait(update, 300)


def _add_reports(command: _Adder) -> None:
    listed = command("list", "List your projects.")
    listed.add_argument("--status", metavar="WORDS", help="such as crashed,failed")
    listed.add_argument("--query", metavar="TEXT", help="text in the name, bot or id")
    listed.add_argument("--sort", metavar="FIELD", help="such as name or -updated_at")
    command("status", "Show one project in full.").add_argument("project")
    logs = command("logs", "Show the output of an agent.")
    logs.add_argument("project")
    logs.add_argument("-f", "--follow", action="store_true", help="continue until the agent stops")
    logs.add_argument("--tail", metavar="LINES")
    logs.add_argument("--since", metavar="TIME", help="a time, or how long ago (5m, 2h, 7d)")
    logs.add_argument("--run", metavar="NUMBER", help="an earlier run")
    stats = command("stats", "Show what an agent uses of the machine, now or since a time.")
    stats.add_argument("project")
    stats.add_argument("--since", metavar="TIME")
    usage = command("usage", "Show the models and tokens that an agent has used.")
    usage.add_argument("project")
    usage.add_argument("--since", metavar="TIME")
    usage.add_argument("--until", metavar="TIME")
    usage.add_argument("--by", choices=["day", "hour"], default="day")
    usage.add_argument("--csv", action="store_true")


def _add_credentials(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--email")
    parser.add_argument("--password-file", metavar="FILE", help="the file with the password; - is standard input")


def _add_lifetime(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scope", choices=["read", "write"], default="write")
    parser.add_argument("--days", choices=DAYS, default="90", help="how long the key is valid")


def _add_wait(parser: argparse.ArgumentParser, seconds: int) -> None:
    parser.add_argument("--no-wait", action="store_true", help="return once the command is accepted")
    parser.add_argument(
        "--timeout", type=_seconds, default=float(seconds), metavar="SECONDS", help=f"default: {seconds}"
    )


def _seconds(written: str) -> float:
    seconds = float(written)
    if not 0 <= seconds <= 86_400:
        raise ValueError
    return seconds


_seconds.__name__ = "number of seconds"  # for argparse's message about a wrong value
