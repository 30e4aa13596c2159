"""How people are told: owners of their agents, and operators of the service."""
