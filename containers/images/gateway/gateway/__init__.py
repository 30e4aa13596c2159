"""The gateway: knows agents by a virtual credential, and puts in the real one on the way out."""
