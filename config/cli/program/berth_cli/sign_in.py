"""berth login and logout: uses a password once, and then an API key."""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from berth_cli.addresses import name_of, read_address
from berth_cli.api import Api
from berth_cli.contexts import Context, change_contexts, read_contexts
from berth_cli.documents import as_object, text
from berth_cli.errors import CommandError, RefusedError, UnreachableError, UsageError
from berth_cli.output import Output
from berth_cli.private_files import read_secret
from berth_cli.terminal import ask, ask_secret, can_ask, print_err, printable

KEY_PREFIX = "berth_"
CODES = 3
"""Attempts at the code of a second factor before the user must repeat the command."""


def log_in(options: argparse.Namespace, out: Output) -> int:
    former = read_contexts()
    named = options.context or os.environ.get("BERTH_CONTEXT", "")
    url = options.url or getattr(former.known.get(named or former.current), "url", "")
    url = url or ask("Address of the installation", option="`berth login URL`")
    url = read_address(url, allows_http=options.insecure_http)
    name = named or name_of(url)
    known = former.known.get(name)
    same = known if known and known.url == url else None
    ca = _read_ca(options) or (same.ca if same else "")
    context = Context(name=name, url=url, ca=ca, insecure_http=options.insecure_http)
    if options.with_key or options.key_file:
        context = _take_key(options, context)
    else:
        context = _make_key(options, context, email=same.email if same else "")
    out.line(f"You are signed in to {context.url} as {context.email}. The context is called {name}.")
    if os.environ.get("BERTH_URL") and not os.environ.get("BERTH_CONTEXT"):
        out.progress(f"BERTH_URL is set and takes precedence over this context, unless you add --context {name}.")
    return 0


def log_out(options: argparse.Namespace, context: Context, out: Output) -> int:
    if not context.name or not context.token:
        raise UsageError("You are not signed in there.")
    if options.revoke and context.key_id:
        with session(options, context) as api:
            _end_key(api, context)
    former = change_contexts(lambda contexts: contexts.without(context))
    if context.name in former.known and not former.has(context):
        raise CommandError(
            f"Another login to {context.name} happened meanwhile, and its token is kept. Log out again to forget it."
        )
    out.line(f"The token of {context.name} has been forgotten here.")
    if options.revoke and not context.key_id:
        raise CommandError("The key itself still works: no login has created it. Revoke it on the settings page.")
    if not options.revoke:
        out.progress(
            "The key itself still works: revoke it on the settings page, or use `berth logout --revoke` instead."
        )
    return 0


def _end_key(api: Api, context: Context) -> None:
    """Revokes the context's key. A key that is already gone counts as revoked, if its owner is signed in."""
    try:
        api.call("DELETE", f"auth/keys/{context.key_id}")
    except RefusedError as error:
        if error.status != 404:
            raise
        if (email := text(api.call("GET", "me").content, "email")) != context.email:
            raise CommandError(f"The key belongs to {context.email}, and {email} cannot revoke it.") from None


@contextmanager
def session(options: argparse.Namespace, context: Context) -> Iterator[Api]:
    """Opens a session for one command and ends it afterwards, because the API lets no key create or revoke keys."""
    if context.token and not context.token.startswith(KEY_PREFIX):
        yield Api(context, warn=print_err)
        return
    api, _email = _open_session(options, context)
    try:
        yield api
    finally:
        with suppress(CommandError):
            api.call("POST", "auth/logout", patience=0)


def _read_ca(options: argparse.Namespace) -> str:
    return str(Path(options.ca).expanduser().absolute()) if options.ca else ""


def days_of(options: argparse.Namespace) -> int | None:
    return None if options.days == "never" else int(options.days)


def _take_key(options: argparse.Namespace, context: Context) -> Context:
    """Stores a key that was created on the settings page."""
    source = options.key_file or ("" if can_ask() else "-")
    key = read_secret(source, what="the API key") if source else ask_secret("API key").strip()
    me = as_object(Api(context, token=key, warn=print_err).call("GET", "me").content)
    context = replace(context, token=key, email=text(me, "email"))
    former = change_contexts(lambda contexts: contexts.with_one(context)).known.get(context.name)
    if former and former.token != key:
        _tell_goes_on(former, context)
    return context


def _make_key(options: argparse.Namespace, context: Context, *, email: str) -> Context:
    """Creates a key for this machine, and revokes the key of the previous login."""
    api, email = _open_session(options, replace(context, email=email))
    try:
        name = printable(f"berth on {socket.gethostname()}")[:64]
        wanted = {"name": name, "scope": options.scope, "expires_in_days": days_of(options)}
        made = as_object(api.call("POST", "auth/keys", wanted).content)
        if not text(made, "key"):
            raise UnreachableError(f"{api.transport.host} has answered without a key.")
        context = replace(context, token=text(made, "key"), key_id=text(made, "id"), email=email)
        try:
            former = change_contexts(lambda contexts: contexts.with_one(context)).known.get(context.name)
        except (CommandError, KeyboardInterrupt):
            revoke_key(api, context.key_id, why_kept="The new key, which could not be saved,")
            raise
        if former and former.key_id and (former.url, former.email) == (context.url, email):
            revoke_key(api, former.key_id, why_kept="The former key of this machine")
        elif former:
            _tell_goes_on(former, context)
    finally:
        with suppress(CommandError):
            api.call("POST", "auth/logout", patience=0)
    return context


def _open_session(options: argparse.Namespace, context: Context) -> tuple[Api, str]:
    """Returns the API of a new session, and the email of its user."""
    email = options.email or ask("Email", default=context.email, option="--email")
    if options.password_file:
        password = read_secret(options.password_file, what="the password", has_spaces=True)
    else:
        password = ask_secret("Password", option="--password-file")
    body = {"email": email, "password": password}
    api = Api(context, token="", warn=print_err)
    for _ in range(CODES):
        content = _send_credentials(api, body)
        if content is not None:
            return Api(context, token=text(content, "token"), warn=print_err), text(content, "user", "email") or email
        if "code" in body:
            print_err("This code is wrong, too old or already used.")
        body["code"] = ask_secret("Code of the second factor").strip()
    raise CommandError("No code was right. Check the clock of the phone, then log in again.")


def _send_credentials(api: Api, body: dict[str, str]) -> dict[str, Any] | None:
    """Returns the API's answer, or None if a code is needed and the user can be asked for it. Raises `CommandError`."""
    try:
        return as_object(api.call("POST", "auth/login", body).content)
    except RefusedError as error:
        if error.problem.get("code") != "second_factor_required" or not can_ask():
            raise
        return None


def _tell_goes_on(former: Context, context: Context) -> None:
    at = "" if former.url == context.url else f" at {former.url}"
    print_err(f"The key that this machine had for {former.email}{at} works until they revoke it.")


def revoke_key(api: Api, key_id: str, *, why_kept: str) -> bool:
    """Revokes a key, and returns whether it did. A key that is already gone counts as revoked. If it cannot be revoked,
    the user is told.
    """
    try:
        api.call("DELETE", f"auth/keys/{key_id}")
    except CommandError as error:
        if not (isinstance(error, RefusedError) and error.status == 404):
            print_err(f"berth: {why_kept} still works: {error} Revoke it on the settings page.")
            return False
    return True
