"""What the processes of the service tell each other: who works, who leads, and what they found on the machine."""
