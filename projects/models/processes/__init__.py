"""State that the processes of the service share: leases, heartbeats, and facts about the machine."""
