"""Reads from a provider's answer whether it accepts the key, and whether the account can pay. Pure.

Only calls that cost something prove that the account can pay. The list of models is often there without any key.
"""

from collections.abc import Mapping

from gateway.entries.entry import Kind
from gateway.proofs import NOTHING, Fact, Proof, read_object, words_of
from gateway.rules.paths import Call

_ANSWERED = Proof(frozenset({Fact.KEY, Fact.PERMISSION, Fact.CREDIT}))
_PAID = Proof(frozenset({Fact.KEY, Fact.CREDIT}))
_KNOWN = Proof(frozenset({Fact.KEY}))
_UNKNOWN = Proof(refused=Fact.KEY)
_UNPAID = Proof(frozenset({Fact.KEY}), Fact.CREDIT)
_DOUBTFUL = Proof(doubtful=frozenset({Fact.CREDIT}))
"""An error that may be about credit in words that are not known here. The agent may know them."""
_NOT_PERMITTED = Proof(frozenset({Fact.KEY}), Fact.PERMISSION)

_FREE = frozenset({Call.LOOK, Call.COUNT})
_OF_MODELS = frozenset({Call.CHAT, Call.RESPONSES, Call.MESSAGES})

_CREDIT_CODES = frozenset({"insufficient_quota", "billing_error"})
_CREDIT_WORDS = ("your credit balance is too low", "insufficient credits", "key limit exceeded")
"""How the messages of Anthropic (400) and OpenRouter (403) begin, in lower case."""
_SCOPE_WORDS = ("insufficient permissions", "missing scopes")
"""OpenAI's words (401) for a key that is valid, but not for this call."""

_LATE = {
    "authentication_error": 401, "invalid_api_key": 401, "api_error": 500, "overloaded_error": 529, "server_error": 500,
    "timeout_error": 504,
}  # fmt: skip
"""The status that an error would have if it did not come in an answer that has begun, by its type or code."""


def read_proof(call: Call, kind: Kind, *, describes_key: bool, status: int, body: bytes = b"") -> Proof:
    """`describes_key`: the call asks about the key itself. `body` is an error's body."""
    if 200 <= status < 300 and call in _FREE:
        return _KNOWN if _needs_key(kind, describes_key=describes_key) else NOTHING
    if 200 <= status < 300:
        return _ANSWERED if call in _OF_MODELS else _PAID
    return _read_error(call, status, _words_in(read_object(body)))


def read_late_proof(call: Call, error: Mapping[str, object]) -> Proof:
    """`error` is what an answer that has begun with status 200 has instead of its rest. OpenRouter sends each error so
    that occurs once a model is asked, and the others while they stream.
    """
    words = _words_in(error)
    inner = error.get("error")
    code = (inner if isinstance(inner, dict) else error).get("code")
    status = code if isinstance(code, int) else next((_LATE[each] for each in words if each in _LATE), 400)
    is_of_scope = any(sign in each for each in words for sign in _SCOPE_WORDS)
    return _read_error(call, 401 if is_of_scope else status, words)


def _words_in(error: Mapping[str, object]) -> list[str]:
    return [each.lower() for each in words_of(error)]


def _read_error(call: Call, status: int, words: list[str]) -> Proof:
    if not 400 <= status < 500:
        return NOTHING
    if status == 402 or any(each in _CREDIT_CODES or each.startswith(_CREDIT_WORDS) for each in words):
        return _UNPAID
    if status != 401:
        return NOTHING if call in _FREE else _DOUBTFUL
    if any(sign in each for each in words for sign in _SCOPE_WORDS):
        return _NOT_PERMITTED if call in _OF_MODELS else NOTHING
    return _UNKNOWN


def _needs_key(kind: Kind, *, describes_key: bool) -> bool:
    """Whether this provider answers a free call only with a valid key. Nothing is known about compatible servers."""
    return kind in (Kind.OPENAI, Kind.ANTHROPIC) or (kind is Kind.OPENROUTER and describes_key)
