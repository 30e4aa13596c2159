"""What follows from the facts about a project. Pure: no database, no engine."""
