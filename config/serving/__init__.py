"""Runs the processes of the service."""
