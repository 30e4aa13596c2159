"""The models that the assistant uses by default, per provider."""

from berth_agent.providers import Provider

DEFAULT_MODELS = {
    Provider.ANTHROPIC: "claude-haiku-5-5",
    Provider.OPENROUTER: "openrouter/auto",
    Provider.OPENAI: "gpt-5.4-mini",
}
VOICE_MODELS = {Provider.OPENAI: "gpt-4o-mini-transcribe", Provider.OPENROUTER: "openai/gpt-4o-mini-transcribe"}
"""The models that transcribe voice messages. Anthropic has none."""
