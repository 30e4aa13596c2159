"""Computes the most tokens that sounds to transcribe can cost, before they are sent. Pure."""

from math import ceil

from gateway.entries.entry import Entry
from gateway.meters.usage import AUDIO_TOKENS_PER_SECOND
from gateway.providers.audio_forms import Form
from gateway.providers.sound_length import longest_sound
from gateway.providers.time_slices import Slices
from gateway.rules.refusals import RefusedError, Why

BYTES_PER_SECOND = 750
"""The fewest bytes per second of audio: 6 kbit/s, the lowest rate of Opus (RFC 6716). Only silence needs less."""
UNTOLD = 2**24
"""Tokens of a sound whose length is unknown: 233 hours, more than any server reads in one call."""
_UNTOLD_WORDS = (
    "This agent has a budget, and the gateway cannot tell how long this sound is. "
    "Send Ogg with Opus or Vorbis, WAV, MP3, or MP4 with AAC."
)


def bound_sounds(entry: Entry, form: Form, size: int) -> Slices[int]:
    """Returns the most tokens that a form of this size can cost. Without a budget, what it usually costs at most.

    Raises RefusedError if its length is unknown and the budget is smaller than the most that it could cost.
    """
    if not entry.budget.is_set:
        hidden = entry.limits.unseen_tokens if form.adds_hidden_input else 0
        return AUDIO_TOKENS_PER_SECOND * -(-size // BYTES_PER_SECOND) + hidden
    seconds: float | None = None if form.adds_hidden_input else 0.0
    for sound in form.sounds:
        found = yield from longest_sound(sound)
        seconds = None if seconds is None or found is None else seconds + found
    if seconds is not None:
        return min(UNTOLD, ceil(AUDIO_TOKENS_PER_SECOND * seconds)) + form.text_size
    limits = (entry.budget.day_tokens, entry.budget.month_tokens)
    if any(limit is not None and limit < UNTOLD for limit in limits):
        raise RefusedError(Why.BAD, _UNTOLD_WORDS)
    return UNTOLD
