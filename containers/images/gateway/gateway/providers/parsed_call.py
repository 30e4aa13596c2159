"""A provider call, parsed from an agent's request. Pure."""

from dataclasses import dataclass, field
from typing import Any

from gateway.entries.entry import Limits
from gateway.providers.bounds import bound_input
from gateway.providers.extracted_texts import ExtractedTexts
from gateway.providers.reasoning import reasoning_budget
from gateway.providers.time_slices import Slices
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

MAX_CHOICES = 128
MAX_ANSWER_TOKENS = 2**24
"""Tokens. No model writes more, so no more is reserved even if an agent requests more."""
MAX_NAME_LENGTH = 200
TOKENS_PER_SPOKEN_BYTE = 2
"""Audio tokens per byte of a text to read aloud: 21 tokens a second (from OpenAI's price per minute), in which people
speak about 15 bytes of text."""
SLOWEST_SPEED = 0.25
"""The slowest speed that OpenAI accepts."""

CHOICE_OPTIONS = ("n", "best_of", "n_cmpl")
"""The options for the number of answers. llama.cpp prefers the last one to the first."""
LENGTH_OPTIONS = {
    Call.CHAT: ("max_completion_tokens", "max_tokens", "n_predict", "max_new_tokens"),
    Call.RESPONSES: ("max_output_tokens",),
    Call.MESSAGES: ("max_tokens",),
}
"""The options for the length of an answer, by kind of call. The first one is set if a call has none, or only one of the
last two: some self-hosted servers (llama.cpp) prefer these, and others ignore them."""


@dataclass(slots=True)
class ParsedCall:
    call: Call
    document: dict[str, Any]
    model: str
    input: int
    """The most tokens that the input can have."""
    output: int
    """The most tokens that the answer can have, for all choices together."""
    choices: int
    is_stream: bool
    hide_usage: bool = False
    is_cached: bool = False
    """Whether the provider may write some of the input to a cache, which costs more."""
    fallbacks: tuple[str, ...] = ()
    """Models that may answer instead of the first one, for example because it is busy."""
    may_reason: bool = False
    """Whether the model may reason without showing it."""
    reasoning_tokens: int = 0
    """The reasoning budget in tokens. The limit of the answer's length must be higher."""
    texts: ExtractedTexts = field(default_factory=ExtractedTexts)
    """The long texts that placeholders in the document stand for."""
    is_large: bool = False
    """Whether the document was read incrementally, and must be written like that."""
    body: bytes = b""
    """The body to send, once it is written."""
    removed: list[str] = field(default_factory=list)
    """The names of the options that were removed from it."""

    @property
    def has_length(self) -> bool:
        """Whether this kind of call can limit the length of its answer."""
        return self.call in LENGTH_OPTIONS

    received: bytes = b""
    """The received body, as long as it may have to be parsed again."""
    is_released: bool = False
    """Whether the call must be parsed again before it can be written."""

    def release_document(self) -> None:
        """Frees the parsed document while the call waits, because it can need many times the memory of the body."""
        if self.received:
            self.document, self.texts, self.is_released = {}, ExtractedTexts(), True

    def clear(self) -> None:
        """Frees the request once the provider has it, so that a long answer does not keep it in memory."""
        self.document, self.texts, self.body = {}, ExtractedTexts(), b""


def parse_options(
    call: Call, document: dict[str, Any], size: int, limits: Limits, texts: ExtractedTexts
) -> Slices[ParsedCall]:
    """Reads the options that affect the cost. `size` is the size of the whole request in bytes. Raises RefusedError."""
    model = read_model_name(document.get("model"))
    if document.get("background"):
        raise RefusedError(Why.BAD, "The gateway does not support answers in the background.")
    stream = document.get("stream") or False
    if not isinstance(stream, bool):
        raise RefusedError(Why.BAD, "stream must be true or false.")
    choices = _choices(call, document)
    length = _answer_length(call, document, size, limits)
    tokens, is_cached = yield from bound_input(document, size, limits, texts.length)
    return ParsedCall(
        call, document, model, tokens, choices * length, choices, stream, is_cached=is_cached, texts=texts
    )


def read_model_name(value: object) -> str:
    """Returns the name of a model. Raises RefusedError if it is invalid, such as half a surrogate pair."""
    if not isinstance(value, str) or not value:
        raise RefusedError(Why.BAD, "You must provide a model parameter.")
    if len(value) > MAX_NAME_LENGTH or not value.isprintable():
        raise RefusedError(Why.BAD, f"The name of a model has up to {MAX_NAME_LENGTH} characters that can be printed.")
    if "," in value:
        raise RefusedError(Why.BAD, "A call names one model.")  # LiteLLM asks every model in a list
    return value


def _choices(call: Call, document: dict[str, Any]) -> int:
    most = 1
    prompts = document.get("prompt")
    for name in CHOICE_OPTIONS if call in LENGTH_OPTIONS else ():
        value = document.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise RefusedError(Why.BAD, f"{name} must be a whole number.")
        most = max(most, value or 1)
    if isinstance(prompts, list) and not all(
        isinstance(each, int) for each in prompts
    ):  # integers: one prompt's tokens
        most *= max(1, len(prompts))
    if most > MAX_CHOICES:
        raise RefusedError(Why.BAD, f"A request may have at most {MAX_CHOICES} choices.")
    return most


def _answer_length(call: Call, document: dict[str, Any], size: int, limits: Limits) -> int:
    """Returns the most tokens that one choice of the answer can have. Raises RefusedError for invalid lengths."""
    if call not in LENGTH_OPTIONS:
        return max(limits.media_tokens, _speech_tokens(document, size)) if call is Call.SPEECH else 0
    lengths = []
    for name in LENGTH_OPTIONS[call]:
        value = document.get(name)
        if value is None:
            document.pop(name, None)
        elif isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
            raise RefusedError(Why.BAD, f"{name} must be a whole number, and not below 0.")
        elif value:  # some servers take 0 for no limit
            lengths.append(min(value, MAX_ANSWER_TOKENS))
    return max(lengths, default=min(MAX_ANSWER_TOKENS, limits.answer_tokens + max(0, reasoning_budget(document))))


def _speech_tokens(document: dict[str, Any], size: int) -> int:
    speed = document.get("speed")
    if isinstance(speed, bool) or not isinstance(speed, int | float):
        speed = 1.0
    return min(MAX_ANSWER_TOKENS, round(TOKENS_PER_SPOKEN_BYTE * size / min(1.0, max(SLOWEST_SPEED, speed))))
