"""What the assistant itself says and chooses where it depends on the provider."""

from agent_contract import ProblemCode
from berth_agent.providers import Provider

DEFAULT_MODELS = {
    Provider.ANTHROPIC: "claude-haiku-5-5",
    Provider.OPENROUTER: "openrouter/auto",
    Provider.OPENAI: "gpt-5.4-mini",
}

CHAT_SENTENCES = {
    ProblemCode.PROVIDER_KEY: (
        "I cannot answer: my model provider rejects my API key. My owner has to give me a valid one."
    ),
    ProblemCode.PROVIDER_CREDIT: (
        "I cannot answer: my model provider says that no credit is left. My owner has to top it up."
    ),
    ProblemCode.PROVIDER_MODEL: (
        "I cannot answer: my model provider does not offer my model. My owner has to choose another."
    ),
    ProblemCode.PROVIDER_BUSY: "My model provider is busy right now. Please try again in a minute.",
    ProblemCode.PROVIDER_DOWN: "I cannot reach my model provider right now. Please try again in a few minutes.",
}
REFUSED_SENTENCE = "My model provider did not accept this message. Shorten it, or use /reset to begin anew."
