"""A fake Bot API server and a fake model provider for trials of images: one person writes one message to one bot.

They use only the standard library, because they run as a separate program in a container alongside the agent, where
nothing else can be reached.
"""
