"""The installations that this user knows, each with its token, in one private file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from berth_cli.addresses import read_address
from berth_cli.errors import CommandError, UsageError
from berth_cli.private_files import explain, locked, make_private_folder, settings_folder, write_whole
from berth_cli.terminal import print_err

FILE = "contexts.json"


@dataclass(frozen=True)
class Context:
    """`key_id` is the id of an API key that a login has created, so that the next login can revoke it."""

    name: str
    url: str
    token: str = field(default="", repr=False)
    email: str = ""
    key_id: str = ""
    ca: str = ""
    insecure_http: bool = False


@dataclass(frozen=True)
class Contexts:
    current: str = ""
    known: dict[str, Context] = field(default_factory=dict)

    def with_one(self, context: Context) -> Contexts:
        return Contexts(current=context.name, known={**self.known, context.name: context})

    def without(self, gone: Context) -> Contexts:
        """Removes the context, unless it has another token by now."""
        if not self.has(gone):
            return self
        known = {other: context for other, context in self.known.items() if other != gone.name}
        return Contexts(current="" if self.current == gone.name else self.current, known=known)

    def has(self, context: Context) -> bool:
        found = self.known.get(context.name)
        return found is not None and found.token.strip() == context.token


def read_contexts() -> Contexts:
    """Raises `CommandError` for a file that is not ours. Closes a file that others could read, and says so."""
    path = settings_folder() / FILE
    try:
        content = path.read_bytes()
        _close_to_others(path)
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise explain(error, f"{path} cannot be read") from None
    try:
        stored = json.loads(content)
        known = {name: _read_context(name, each) for name, each in stored["contexts"].items()}
        return Contexts(current=str(stored.get("current") or ""), known=known)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CommandError(f"{path} is damaged. Remove it, then run `berth login` again.") from None


def change_contexts(change: Callable[[Contexts], Contexts]) -> Contexts:
    """Reads, changes and writes the file under a lock. Returns the previous contexts."""
    folder = settings_folder()
    try:
        with locked(folder):
            former = read_contexts()
            changed = change(former)
            stored = {"current": changed.current, "contexts": {n: asdict(one) for n, one in changed.known.items()}}
            write_whole(folder / FILE, json.dumps(stored, indent=2).encode() + b"\n")
    except OSError as error:
        raise explain(error, f"{folder / FILE} cannot be written") from None
    return former


def choose_context(*, name: str = "", ca: str = "", insecure_http: bool = False) -> Context:
    """Returns the context of the command: the named one, else BERTH_URL, else the current one. Raises `UsageError`.

    BERTH_TOKEN is sent only to BERTH_URL. A context has a token of its own.
    """
    named, url = name or os.environ.get("BERTH_CONTEXT", ""), os.environ.get("BERTH_URL", "")
    context = None
    if named or not url:
        contexts = read_contexts()
        context = contexts.known.get(named or contexts.current)
        if context is None and named:
            raise UsageError(f"There is no context “{named}”. `berth context` lists the known ones.")
    if context is None:
        if not url:
            raise UsageError("No installation is chosen. Run `berth login https://…` first, or set BERTH_URL.")
        context = Context(name="", url=url, token=os.environ.get("BERTH_TOKEN", ""))
    insecure_http = insecure_http or context.insecure_http
    return Context(
        name=context.name,
        url=read_address(context.url, allows_http=insecure_http),
        token=context.token.strip(),
        email=context.email,
        key_id=context.key_id,
        ca=str(Path(ca).expanduser().absolute()) if ca else context.ca,
        insecure_http=insecure_http,
    )


def read_note(name: str) -> float:
    """Returns the time noted under this name, in seconds since 1970, or 0 if there is none."""
    try:
        return (settings_folder() / name).stat().st_mtime
    except OSError:
        return 0.0


def note(name: str) -> None:
    """Notes the current time under this name. Raises OSError."""
    make_private_folder(settings_folder())
    (settings_folder() / name).touch(mode=0o600)


def _read_context(name: str, stored: dict[str, Any]) -> Context:
    known = {each.name for each in fields(Context)} - {"name", "insecure_http"}
    texts = {key: str(value) for key, value in stored.items() if key in known}
    return Context(name=name, insecure_http=stored.get("insecure_http") is True, **texts)


def _close_to_others(path: Path) -> None:
    if os.name != "nt" and path.stat().st_mode & 0o077:
        path.chmod(0o600)
        print_err(f"berth: other users could read {path}. Now they cannot; create new keys.")
