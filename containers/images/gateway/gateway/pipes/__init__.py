"""Carries requests and answers: limited in size, streamed, and without the real credential."""
