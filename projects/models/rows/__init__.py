"""Rows of projects as their readers need them: narrow ones for lists and the watcher, whole ones for commands."""
