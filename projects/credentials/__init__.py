"""A project's credentials: asked about outside, and encrypted at rest."""
