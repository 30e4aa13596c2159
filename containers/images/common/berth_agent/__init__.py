"""The agent's side of the contract with Berth: what every image reads, checks and reports. Standard library only."""
