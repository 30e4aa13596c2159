"""Tells people what has happened, by threads for which no round waits."""
