"""A Bot API server and a model provider for an image that is tried: one person writes one message to one bot.

Standard library only: they are a program of their own, which runs in a container beside the agent, where nothing else
can be reached.
"""
