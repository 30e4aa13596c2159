"""The settings of agents: how they are written, checked against a schema, and changed."""
