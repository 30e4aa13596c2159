"""The rules about projects: pure functions of facts, without database or engine."""
