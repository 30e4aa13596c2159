"""What the assistant itself chooses where it depends on the provider."""

from berth_agent.providers import Provider

DEFAULT_MODELS = {
    Provider.ANTHROPIC: "claude-haiku-5-5",
    Provider.OPENROUTER: "openrouter/auto",
    Provider.OPENAI: "gpt-5.4-mini",
}
VOICE_MODELS = {Provider.OPENAI: "gpt-4o-mini-transcribe", Provider.OPENROUTER: "openai/gpt-4o-mini-transcribe"}
"""Which write down what a sound says. Anthropic has none."""
