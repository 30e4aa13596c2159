"""The rules about a project: what follows from the facts. Pure: no database, no engine."""
