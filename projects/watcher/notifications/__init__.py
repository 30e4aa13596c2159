"""Notifies people of events, in threads for which no round waits."""
