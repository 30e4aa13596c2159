"""What may be typed: each command with its options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import lru_cache

from berth_cli import VERSION
from berth_cli.errors import UsageError

_Adder = Callable[[str, str], argparse.ArgumentParser]

FILES = {"ca", "key_file", "password_file", "telegram_token_file", "api_key_file", "settings"}

DAYS = ("30", "90", "365", "never")


@lru_cache(maxsize=1)
def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="berth",
        description="Deploys and commands your agents on an installation of Berth. Exit codes: 0 done, 1 refused, or "
        "an agent that does not run well (degraded, too), 2 wrong usage, 3 not settled in time.",
        epilog="BERTH_URL and BERTH_TOKEN take the place of `berth login`; the token goes to that address and to no "
        "other. --context, else BERTH_CONTEXT, counts before both and has the token of its login. Projects are named "
        "by name, id, or the beginning of either.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"berth {VERSION}")
    common = _common()
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, told: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=told, description=told, parents=[common], allow_abbrev=False)

    _add_accounts(command)
    _add_deploying(command)
    _add_control(command)
    _add_reports(command)
    command("upgrade", "Fetch this program anew from the installation.")
    shells = command("completion", "Write what lets a shell complete commands and names.")
    shells.add_argument("shell", choices=["bash", "zsh", "fish"])
    return parser


def check_texts(options: argparse.Namespace) -> None:
    """Raises `UsageError` for bytes that are no text, which nothing but the name of a file may have."""
    for name, said in vars(options).items():
        for each in said if isinstance(said, list) else [said]:
            if name not in FILES and isinstance(each, str) and any("\ud800" <= one <= "\udfff" for one in each):
                raise UsageError(f"“{each}” is no text in the encoding of this terminal.")


def _common(*, inner: bool = False) -> argparse.ArgumentParser:
    """`inner`: of a verb below a command, where nothing said leaves what was said before it."""
    common = argparse.ArgumentParser(add_help=False)
    default = argparse.SUPPRESS if inner else ""
    off = argparse.SUPPRESS if inner else False
    common.add_argument("--json", action="store_true", default=off, help="print the API's own document")
    common.add_argument("--context", default=default, metavar="NAME", help="which of your installations")
    common.add_argument("--ca", default=default, metavar="FILE", help="the certificates to trust, and no others")
    common.add_argument(
        "--insecure-http", action="store_true", default=off, help="let http carry tokens to another machine"
    )
    return common


def _add_accounts(command: _Adder) -> None:
    login = command("login", "Sign in, and keep an API key for the time after it.")
    login.add_argument("url", nargs="?", default="", metavar="URL")
    login.add_argument(
        "--with-key", action="store_true", help="take an API key that you have made on the settings page"
    )
    login.add_argument("--key-file", metavar="FILE", help="where that key stands; - is standard input")
    _add_credentials(login)
    _add_lifetime(login)
    logout = command("logout", "Forget the token of a context.")
    logout.add_argument("--revoke", action="store_true", help="end the key itself too, which takes the password")
    _add_credentials(logout)
    _add_keys(command)
    context = command("context", "List the installations that you know, or go to one of them.")
    context.add_argument("name", nargs="?", default="")
    command("whoami", "Tell who you are there, and what your token may do.")


def _add_keys(command: _Adder) -> None:
    keys = command("keys", "List, make, rotate and revoke API keys. Each takes the password.")
    verbs = keys.add_subparsers(dest="verb", metavar="VERB", required=True)
    listed = verbs.add_parser("list", help="those that there are", parents=[_common(inner=True)], allow_abbrev=False)
    new = verbs.add_parser(
        "new", help="make one, and show it this once", parents=[_common(inner=True)], allow_abbrev=False
    )
    new.add_argument("name")
    _add_lifetime(new)
    rotate = verbs.add_parser(
        "rotate", help="replace one; else this context's", parents=[_common(inner=True)], allow_abbrev=False
    )
    rotate.add_argument("key", nargs="?", default="", metavar="ID")
    revoke = verbs.add_parser("revoke", help="end one", parents=[_common(inner=True)], allow_abbrev=False)
    revoke.add_argument("key", metavar="ID")
    for each in (listed, new, rotate, revoke):
        _add_credentials(each)


def _add_deploying(command: _Adder) -> None:
    deploy = command("deploy", "Deploy an agent. In a terminal what is missing is asked for.")
    deploy.add_argument("name", nargs="?", help="what it is called")
    deploy.add_argument("--type")
    change = command("change", "Change an agent: its name, plan, settings or credentials.")
    change.add_argument("project")
    change.add_argument("--name")
    change.add_argument("--restart", action="store_true", help="let it apply now")
    for each in (deploy, change):
        each.add_argument("--plan")
        each.add_argument("--egress", choices=["internet", "gateway"], help="what the agent reaches")
        each.add_argument(
            "--telegram-token-file", metavar="FILE", help="where the bot's token stands; - is standard input"
        )
        each.add_argument("--api-key-file", metavar="FILE", help="where the provider's key stands; - is standard input")
        each.add_argument("--settings", metavar="FILE", help="a JSON object; - is standard input")
        each.add_argument(
            "--set", action="append", metavar="NAME=TEXT", help="one setting; NAME:=JSON for what is no text"
        )
        _add_wait(each, 120)


def _add_control(command: _Adder) -> None:
    told = {"start": "Start agents.", "stop": "Stop agents.", "restart": "Restart agents.",
            "rm": "Delete agents, and all that they remember."}  # fmt: skip
    for name, sentence in told.items():
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
    listed.add_argument("--query", metavar="TEXT", help="in name, bot or id")
    listed.add_argument("--sort", metavar="FIELD", help="such as name or -updated_at")
    command("status", "Tell all of one project.").add_argument("project")
    logs = command("logs", "Read what an agent has printed.")
    logs.add_argument("project")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until it ends")
    logs.add_argument("--tail", metavar="LINES")
    logs.add_argument("--since", metavar="TIME", help="a time, or how long ago (5m, 2h, 7d)")
    logs.add_argument("--run", metavar="NUMBER", help="an earlier run")
    stats = command("stats", "Tell what an agent uses of the machine, now or since a time.")
    stats.add_argument("project")
    stats.add_argument("--since", metavar="TIME")
    usage = command("usage", "Tell what an agent has used of models.")
    usage.add_argument("project")
    usage.add_argument("--since", metavar="TIME")
    usage.add_argument("--until", metavar="TIME")
    usage.add_argument("--by", choices=["day", "hour"], default="day")
    usage.add_argument("--csv", action="store_true")


def _add_credentials(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--email")
    parser.add_argument("--password-file", metavar="FILE", help="where the password stands; - is standard input")


def _add_lifetime(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scope", choices=["read", "write"], default="write")
    parser.add_argument("--days", choices=DAYS, default="90", help="how long the key lives")


def _add_wait(parser: argparse.ArgumentParser, seconds: int) -> None:
    parser.add_argument("--no-wait", action="store_true", help="end once the command is accepted")
    parser.add_argument(
        "--timeout", type=_seconds, default=float(seconds), metavar="SECONDS", help=f"{seconds} unless said"
    )


def _seconds(written: str) -> float:
    seconds = float(written)
    if not 0 <= seconds <= 86_400:
        raise ValueError
    return seconds


_seconds.__name__ = "number of seconds"  # argparse calls it so where it is none
