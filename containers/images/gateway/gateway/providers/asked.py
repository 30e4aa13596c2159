"""A call as an agent asks it, read from its request. Pure."""

from dataclasses import dataclass, field
from typing import Any

from gateway.entries.entry import Limits
from gateway.providers.bounds import bound_input
from gateway.providers.long_texts import LongTexts
from gateway.providers.slices import Slices
from gateway.providers.thoughts import least_of
from gateway.rules.paths import Call
from gateway.rules.refusals import RefusedError, Why

MOST_CHOICES = 128
LONGEST_ANSWER = 2**24
"""Tokens. No model writes so many; who asks for more is not reserved more."""
LONGEST_NAME = 200
OF_A_SPOKEN_BYTE = 2
"""Tokens of the sound of a text that is read aloud: 21 a second (OpenAI's price of a minute), in which people speak
some 15 bytes of it."""
SLOWEST = 0.25
"""Of the speeds that OpenAI takes."""

CHOICES = ("n", "best_of", "n_cmpl")
"""The names by which a call says how many answers it wants. llama.cpp obeys the last one before the first."""
LENGTHS = {
    Call.CHAT: ("max_completion_tokens", "max_tokens", "n_predict", "max_new_tokens"),
    Call.RESPONSES: ("max_output_tokens",),
    Call.MESSAGES: ("max_tokens",),
}
"""The names by which a call says how long its answer may be. The first one is set where there is none, or only one of
the last two: some servers of one's own (llama.cpp) obey these first, and others not at all."""


@dataclass(slots=True)
class Asked:
    call: Call
    document: dict[str, Any]
    model: str
    input: int
    """Tokens that the input has at the most."""
    output: int
    """Tokens that the answer has at the most: of all choices together."""
    choices: int
    is_stream: bool
    hides_usage: bool = False
    is_cached: bool = False
    """Whether the provider may keep some of the input, which makes that dearer."""
    others: tuple[str, ...] = ()
    """Models of which one answers where the first one is busy (OpenRouter)."""
    may_think: bool = False
    """Whether the model may think, and not show it."""
    thoughts: int = 0
    """Tokens that the answer must be longer than."""
    texts: LongTexts = field(default_factory=LongTexts)
    """For which something else stands in the document."""
    is_large: bool = False
    """Whether it is written in runs, as it was read."""
    body: bytes = b""
    """What is sent, once it is written."""

    @property
    def has_length(self) -> bool:
        """Whether such a call says how long its answer may be."""
        return self.call in LENGTHS

    came: bytes = b""
    """What it was read from, while it may have to be read anew."""
    is_aside: bool = False
    """Whether it must be read anew before it can be written."""

    def put_aside(self) -> None:
        """It has to wait: what was read can take many times the memory of what came."""
        if self.came:
            self.document, self.texts, self.is_aside = {}, LongTexts(), True

    def forget(self) -> None:
        """The provider has it: a long answer need not keep a large request in memory."""
        self.document, self.texts, self.body = {}, LongTexts(), b""


def read_asked(call: Call, document: dict[str, Any], size: int, limits: Limits, texts: LongTexts) -> Slices[Asked]:
    """`size` is that of the whole request in bytes. Raises RefusedError."""
    model = read_name(document.get("model"))
    if document.get("background"):
        raise RefusedError(Why.BAD, "Answers in the background cannot be asked for through the gateway.")
    stream = document.get("stream") or False
    if not isinstance(stream, bool):
        raise RefusedError(Why.BAD, "stream must be true or false.")
    choices = _choices(call, document)
    length = _length(call, document, size, limits)
    tokens, is_cached = yield from bound_input(document, size, limits, texts.length)
    return Asked(call, document, model, tokens, choices * length, choices, stream, is_cached=is_cached, texts=texts)


def read_name(value: object) -> str:
    """The name of a model. Raises RefusedError for what is none: half of a surrogate pair, say, which no file takes."""
    if not isinstance(value, str) or not value:
        raise RefusedError(Why.BAD, "You must provide a model parameter.")
    if len(value) > LONGEST_NAME or not value.isprintable():
        raise RefusedError(Why.BAD, f"The name of a model has up to {LONGEST_NAME} characters that can be printed.")
    return value


def _choices(call: Call, document: dict[str, Any]) -> int:
    most = 1
    prompts = document.get("prompt")
    for name in CHOICES if call in LENGTHS else ():
        value = document.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise RefusedError(Why.BAD, f"{name} must be a whole number.")
        most = max(most, value or 1)
    if isinstance(prompts, list) and not all(isinstance(each, int) for each in prompts):  # else they are tokens of one
        most *= max(1, len(prompts))
    if most > MOST_CHOICES:
        raise RefusedError(Why.BAD, f"No more than {MOST_CHOICES} choices can be asked for.")
    return most


def _length(call: Call, document: dict[str, Any], size: int, limits: Limits) -> int:
    """How long one choice of the answer may be."""
    if call not in LENGTHS:
        return max(limits.media_tokens, _spoken(document, size)) if call is Call.SPEECH else 0
    lengths = []
    for name in LENGTHS[call]:
        value = document.get(name)
        if value is None:
            document.pop(name, None)
        elif isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
            raise RefusedError(Why.BAD, f"{name} must be a whole number above 0.")
        else:
            lengths.append(min(value, LONGEST_ANSWER))
    return max(lengths, default=min(LONGEST_ANSWER, limits.answer_tokens + max(0, least_of(document))))


def _spoken(document: dict[str, Any], size: int) -> int:
    speed = document.get("speed")
    if isinstance(speed, bool) or not isinstance(speed, int | float):
        speed = 1.0
    return min(LONGEST_ANSWER, round(OF_A_SPOKEN_BYTE * size / min(1.0, max(SLOWEST, speed))))
