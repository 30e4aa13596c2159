"""Tests of the filter in front of the engine's socket."""
