"""The settings of agents: how they are written, judged by a schema, and changed."""
