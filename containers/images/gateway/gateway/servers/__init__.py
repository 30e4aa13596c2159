"""Calls to servers of tools and searches, with credentials that the agents do not have."""
