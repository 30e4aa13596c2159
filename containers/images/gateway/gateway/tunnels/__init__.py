"""CONNECT tunnels to the hosts that an agent is allowed to reach."""
