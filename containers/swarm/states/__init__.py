"""Agents' memory: written and copied on a node, emptied on all, or in a folder that all nodes reach."""
