"""Rules for requests: who may send them, what they may contain, how many may come, and how they are refused."""
