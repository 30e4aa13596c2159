"""The contents of pages, independent of requests: rows, curves, cards and steps."""
