"""What a project tells of itself: its log, its runs, and what it has used."""
