"""What a project's status is, why, and what follows from it."""
