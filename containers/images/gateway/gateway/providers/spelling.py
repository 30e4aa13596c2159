"""Refuses options in another spelling. Pure.

Servers written in Go (Ollama, LocalAI, new-api) read `MODEL` and `Max_Tokens` as `model` and `max_tokens`, and the last
one in the request counts. The gateway checks only the usual spelling, so it refuses other spellings of known options.
"""

from collections.abc import Iterable

from gateway.rules.refusals import RefusedError, Why

KNOWN_OPTIONS = frozenset({
    "anthropic_beta", "api_base", "api_key", "background", "base_url", "best_of", "betas", "chat_template",
    "container", "content_policy_fallbacks", "context_management", "context_window_fallback_dict",
    "context_window_fallbacks", "conversation", "custom_llm_provider", "enable_search", "extra_body",
    "extra_headers", "extra_query", "fallbacks", "functions", "headers", "inference_geo", "input",
    "max_completion_tokens", "max_new_tokens", "max_output_tokens", "max_tokens", "mcp_servers", "messages",
    "mm_processor_kwargs", "model", "model_list", "models", "n", "n_cmpl", "n_predict", "plugins", "prediction",
    "preset", "previous_response_id", "prompt", "provider", "reasoning", "reasoning_effort",
    "router_settings_override", "search_parameters", "service_tier", "speed", "stream", "stream_options",
    "thinking", "tools", "usage", "user_config", "vl_high_resolution_images", "web_search_options",
})  # fmt: skip
"""All options that the gateway checks, sets or removes."""


def check_spelling(names: Iterable[str]) -> None:
    """Raises RefusedError for another spelling of a known option.

    Like Go, this also treats the long s and the kelvin sign as the letters s and k.
    """
    for name in names:
        plain = name.casefold()
        if plain != name and plain in KNOWN_OPTIONS:
            raise RefusedError(Why.BAD, f"The option {plain} must be spelled like this, in lower case.")
