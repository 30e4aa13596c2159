"""berth keys: manages API keys. Each command opens a session of its own, because a key may not
create or revoke keys.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from berth_cli.api import Api, Document
from berth_cli.contexts import Context, Contexts, change_contexts
from berth_cli.documents import as_object, as_rows, moment, text
from berth_cli.errors import CommandError, UsageError
from berth_cli.output import Output
from berth_cli.sign_in import days_of, revoke_key, session
from berth_cli.tables import write_ago, write_table
from berth_cli.terminal import print_err, print_out


def keys(options: argparse.Namespace, context: Context, out: Output) -> int:
    verb = {"list": _list, "new": _make, "rotate": _rotate, "revoke": _revoke}[options.verb]
    if options.verb == "rotate" and not (options.key or context.key_id):
        raise UsageError("Name a key: `berth keys list` shows their ids.")
    with session(options, context) as api:
        verb(options, context, api, out)
    return 0


def _list(_options: argparse.Namespace, context: Context, api: Api, out: Output) -> None:
    document = api.call("GET", "auth/keys")
    rows = [
        [
            text(row, "name") + (" (this one)" if text(row, "id") == context.key_id else ""),
            text(row, "scope"),
            text(row, "hint"),
            text(row, "expires_at")[:10] or "never",
            f"{write_ago(moment(row, 'last_used_at'))} ago" if text(row, "last_used_at") else "never",
            text(row, "id"),
        ]
        for row in as_rows(document.content)
    ]
    out.show(document, write_table(["NAME", "SCOPE", "ENDS WITH", "EXPIRES", "USED", "ID"], rows))


def _make(options: argparse.Namespace, _context: Context, api: Api, out: Output) -> None:
    out.goes_on = "The key may exist anyway. `berth keys list` shows it."
    wanted = {"name": options.name, "scope": options.scope, "expires_in_days": days_of(options)}
    document = api.call("POST", "auth/keys", wanted)
    _show_key(document, api, out)
    out.progress("It is shown only this once.")


def _rotate(options: argparse.Namespace, context: Context, api: Api, out: Output) -> None:
    """Stores the new key in the context if it is the context's own, and shows it otherwise."""
    key_id = options.key or context.key_id
    document = api.call("POST", f"auth/keys/{quote(key_id, safe='')}/rotate")
    content = as_object(document.content)
    if key_id == context.key_id and context.name:
        try:
            change_contexts(lambda contexts: _renew(contexts, context, content))
        except (CommandError, KeyboardInterrupt):
            _show_key(document, api, out)
            print_err(
                "The new key could not be saved, and is shown this once. The old one works for at most another day."
            )
            raise
        out.line("This context has a new key. The old one works for at most another day.")
        return
    _show_key(document, api, out)
    out.progress("It is shown only this once. The old one works for at most another day.")


def _renew(contexts: Contexts, context: Context, content: dict[str, Any]) -> Contexts:
    """Returns the contexts with the new key in place of the rotated one. The current context stays."""
    now = contexts.known.get(context.name)
    if now is None or now.key_id != context.key_id:
        raise CommandError(f"Another command has changed the context {context.name} meanwhile.")
    renewed = replace(now, token=text(content, "key"), key_id=text(content, "id"))
    return replace(contexts, known={**contexts.known, context.name: renewed})


def _show_key(document: Document, api: Api, out: Output) -> None:
    """Shows the new key. Revokes it if it cannot be shown, because nobody has it."""
    content = as_object(document.content)
    try:
        out.show(document, [])
        if not out.as_json:
            print_out(text(content, "key"))
    except (CommandError, OSError, KeyboardInterrupt):
        out.goes_on = ""
        if revoke_key(api, text(content, "id"), why_kept="The new key, which could not be shown,"):
            print_err("berth: The new key could not be shown, and has been revoked.")
        raise


def _revoke(options: argparse.Namespace, _context: Context, api: Api, out: Output) -> None:
    api.call("DELETE", f"auth/keys/{quote(options.key, safe='')}")
    out.line("It is refused from now on.")
