"""What carries requests and answers: bounded, streamed, with nothing of the real credential."""
