"""The memory of an agent."""

FILES = {"history.db": "what was said", "notes/a": "b" * 10_000}
