"""Reads from an answer of the Bot API whether Telegram accepts the token, and whether another program polls. Pure.

Telegram answers 401 or 404 to a wrong token with every method, and 404 also to a method that it does not know.
"""

from gateway.proofs import NOTHING, Fact, Proof, read_object
from gateway.telegram.methods import is_known, is_poll

_ACCEPTED = Proof(frozenset({Fact.TOKEN}))
_POLLED = Proof(frozenset({Fact.TOKEN, Fact.POLLING}))
_REFUSED = Proof(refused=Fact.TOKEN)
_CONFLICT = Proof(frozenset({Fact.TOKEN}), Fact.POLLING)


def read_proof(method: str, status: int, body: bytes = b"") -> Proof:
    """`method` is empty for a file, which proves nothing. `body` is an error's body."""
    if not method:
        return NOTHING
    if 200 <= status < 300:
        return _POLLED if is_poll(method) else _ACCEPTED
    if status == 401 or (status == 404 and is_known(method) and read_object(body).get("error_code") == 404):
        return _REFUSED
    return _CONFLICT if status == 409 and is_poll(method) else NOTHING
