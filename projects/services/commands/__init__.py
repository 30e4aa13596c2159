"""What may be done to one project, and what a command needs on its way: each claims the project, acts, and records."""
