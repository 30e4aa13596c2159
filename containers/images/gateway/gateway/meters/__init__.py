"""Reads the usage from a provider's answer while the answer passes through."""
