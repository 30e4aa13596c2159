"""CONNECT: the way to the few other hosts that an agent may reach."""
