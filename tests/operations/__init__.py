"""docs/operations.md, word for word."""
