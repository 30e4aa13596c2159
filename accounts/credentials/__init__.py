"""Formats and checks of what proves who somebody is."""
