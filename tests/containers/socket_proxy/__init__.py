"""Tests of what stands before the engine's socket."""
