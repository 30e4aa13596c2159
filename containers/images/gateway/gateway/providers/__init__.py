"""Handles agents' calls to model providers."""
