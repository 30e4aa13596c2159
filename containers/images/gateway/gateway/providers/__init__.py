"""Calls to model providers."""
