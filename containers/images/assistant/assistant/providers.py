"""What the assistant itself chooses where it depends on the provider."""

from berth_agent.providers import Provider

DEFAULT_MODELS = {
    Provider.ANTHROPIC: "claude-haiku-5-5",
    Provider.OPENROUTER: "openrouter/auto",
    Provider.OPENAI: "gpt-5.4-mini",
}
