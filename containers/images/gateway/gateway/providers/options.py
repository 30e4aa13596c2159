"""Removes options whose effect is unknown. Pure.

Servers keep adding options, and some of these cost money: they ignore the limit of the answer (LiteLLM's
`additional_drop_params`), search documents (Azure's `data_sources`), or ask several or other models. So if an agent has
a budget or may use only some models, only those options pass that are known to cost nothing beyond the request's bytes
and the answer's length and to choose no model, or that other modules bound.
"""

import re
from collections.abc import Iterable
from typing import Any

from gateway.providers.parsed_call import CHOICE_OPTIONS, LENGTH_OPTIONS
from gateway.providers.spelling import KNOWN_OPTIONS

_OPENAI = """
    audio dimensions echo encoding_format frequency_penalty function_call include input_type instructions language
    logit_bias logprobs max_tool_calls metadata modalities parallel_tool_calls presence_penalty prompt_cache_key
    prompt_cache_retention response_format safety_identifier seed stop store stream_format suffix temperature text
    tool_choice top_logprobs top_p truncation user verbosity voice
"""
_ANTHROPIC = "cache_control output_config output_format stop_sequences system top_k"
_OPENROUTER = """
    image_config include_reasoning min_p models repetition_penalty route session_id structured_outputs top_a trace
    transforms
"""
_OTHER_PROVIDERS = """
    citation_options disable_search disable_tool_validation do_sample document_image_limit document_page_limit documents
    embedding_type embedding_types enable_thinking exclude_domains include_domains late_chunking normalized
    output_dimension output_dtype perf_metrics_in_response preserve_thinking prompt_mode prompt_truncate_len random_seed
    reasoning_format request_id result_format return_images safe_prompt sample_rate search_after_date_filter
    search_before_date_filter search_domain_filter search_mode search_recency_filter task thinking_budget tool_stream
    truncate user_id volume_normalization context_length_exceeded_behavior
"""
"""Options of Mistral, Groq, xAI, Qwen, Zhipu, DeepSeek, Perplexity, Together, Fireworks, Cohere, Jina and Voyage."""
_SELF_HOSTED_SERVERS = """
    add_generation_prompt add_special_tokens allowed_openai_params allowed_token_ids bad_words cache cache_prompt
    cache_salt chat_template_kwargs continue_final_message drop_params dry_allowed_length dry_base dry_multiplier
    dry_penalty_last_n dry_sequence_breakers dynatemp_exponent dynatemp_range ebnf format grammar guided_choice
    guided_decoding_backend guided_grammar guided_json guided_regex guided_whitespace_pattern id_slot ignore_eos
    include_stop_str_in_output json_schema keep_alive length_penalty litellm_session_id litellm_trace_id min_keep
    min_tokens mirostat mirostat_eta mirostat_tau n_indent n_keep n_probs no_stop_trim parse_tool_calls
    post_sampling_probs priority prompt_logprobs regex repeat_last_n repeat_penalty return_progress return_token_ids
    return_tokens return_tokens_as_token_ids samplers separate_reasoning skip_special_tokens
    spaces_between_special_tokens stop_token_ids stream_reasoning stream_timeout structural_tag t_max_predict_ms tags
    tfs_z think timeout timings_per_token top_n_sigma truncate_prompt_tokens typical_p use_beam_search xtc_probability
    xtc_threshold
"""
"""Options of vLLM, SGLang, llama.cpp, Ollama and LiteLLM."""
FREE_OF_CHARGE = frozenset(" ".join((_OPENAI, _ANTHROPIC, _OPENROUTER, _OTHER_PROVIDERS, _SELF_HOSTED_SERVERS)).split())
ALLOWED_OPTIONS = (
    FREE_OF_CHARGE | KNOWN_OPTIONS | {*CHOICE_OPTIONS, *(name for names in LENGTH_OPTIONS.values() for name in names)}
)


REMOVED_HEADER = "X-Berth-Removed-Options"
"""The header of an answer that names the removed options, so that a developer sees why they had no effect."""
MAX_NAMED = 20
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
"""Names that may stand in a header. An agent can invent any others."""


def remove_unknown_options(document: dict[str, Any]) -> list[str]:
    """Removes options that are not allowed, so that the provider answers as if they had not been given.

    Returns their names.
    """
    removed = sorted(document.keys() - ALLOWED_OPTIONS)
    for name in removed:
        del document[name]
    return removed


def remove_fallback_options(document: dict[str, Any]) -> list[str]:
    """Leaves only the names of fallback models, because options of their own could make the answer longer or dearer.

    Returns the names of the removed options.
    """
    removed = set[str]()
    for key in ("models", "fallbacks"):
        others = document.get(key)
        for each in others if isinstance(others, list) else ():
            for name in each.keys() - {"model"} if isinstance(each, dict) else ():
                removed.add(f"{key}.{name}")
                del each[name]
    return sorted(removed)


def removal_header(removed: Iterable[str]) -> dict[str, str]:
    """Returns the header that names the removed options, or no header if none has a name that may stand there."""
    names = [name for name in removed if _NAME.fullmatch(name)][:MAX_NAMED]
    return {REMOVED_HEADER: ", ".join(names)} if names else {}
