"""What an agent remembers."""

FILES = {"history.db": "what was said", "notes/a": "b" * 10_000}
