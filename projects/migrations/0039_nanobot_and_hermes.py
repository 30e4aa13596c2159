"""Two more agent types. Their images are large and built on request, so that they are not available until staff say so."""

from typing import Any

from django.db import migrations

TEXT = {"type": "string", "minLength": 1}
MODELS = "anthropic: claude-haiku-5-5\nopenrouter: openrouter/auto\nopenai: gpt-5.4-mini"
USER = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": 10**18},
        {"type": "string", "pattern": r"^([0-9]{1,18}|@[A-Za-z0-9_]{3,64}|\*)$"},
    ]
}
COMMON = {
    "allowed_users": {
        "type": "array",
        "title": "Allowed users",
        "minItems": 1,
        "maxItems": 200,
        "uniqueItems": True,
        "description": "Telegram user ids or @usernames; nobody else is answered. * is everybody.",
        "items": USER,
    },
    "model": {
        **TEXT,
        "title": "Model",
        "maxLength": 100,
        "description": "The model's name as its provider spells it.",
    },
    "instructions": {
        **TEXT,
        "title": "Instructions",
        "maxLength": 8000,
        "description": "How the agent is to behave.",
    },
    "provider": {
        "enum": ["anthropic", "openai", "openrouter"],
        "title": "Provider",
        "description": "Else told from the API key.",
    },
    "tools": {
        "type": "boolean",
        "title": "Shell and files",
        "default": False,
        "description": "Whether it may run commands and edit files inside its container. Its credentials are among the "
        "files that it can read then: the real ones where Berth runs without its gateway.",
    },
}
NANOBOT_ONLY = {
    "web": {
        "type": "boolean",
        "title": "Web",
        "default": False,
        "description": "Whether it may search the web and read pages, as far as its way out allows.",
    },
    "by_itself": {
        "type": "boolean",
        "title": "Works by itself",
        "default": False,
        "description": "Whether it thinks at intervals unasked (heartbeat, dream), which costs credit.",
    },
}
TYPES = [
    {
        "slug": "nanobot",
        "title": "nanobot",
        "description": "An agent with skills, schedules and a memory of its own; shell and web on request.",
        "image": "berth/nanobot:latest",
        "properties": COMMON | NANOBOT_ONLY,
    },
    {
        "slug": "hermes",
        "title": "Hermes",
        "description": "An agent that keeps notes on you and its past talks; shell, files and skills on request.",
        "image": "berth/hermes:latest",
        "properties": COMMON,
    },
]


def ship(apps: Any, schema_editor: Any) -> None:
    """Leaves alone what staff have called the same."""
    for facts in TYPES:
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": False,
            "required": ["allowed_users"],
            "properties": facts["properties"],
        }
        values = {name: facts[name] for name in ("title", "description", "image")}
        values |= {"settings_schema": schema, "default_models": MODELS, "min_memory_mb": 256, "stop_timeout": 15}
        apps.get_model("projects", "AgentType").objects.get_or_create(
            slug=facts["slug"], defaults={**values, "available": False}
        )


class Migration(migrations.Migration):
    dependencies = [("projects", "0038_engine_facts")]
    operations = [migrations.RunPython(ship, migrations.RunPython.noop)]
