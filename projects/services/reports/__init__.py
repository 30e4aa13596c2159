"""Reports about a project: its log, its runs, and its usage."""
