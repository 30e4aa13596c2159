"""A project's credentials: verified with outside servers, and encrypted at rest."""
