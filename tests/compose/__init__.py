"""Tests of the service as containers."""
