"""The command line that people fetch from their installation: its program, and the one file that is made of it."""
