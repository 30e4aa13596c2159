"""For programs that know nothing of Berth: one is run as a child, behind a relay that keeps the contract for it.

The child asks Telegram and the provider through the relay, which holds the credentials and sees all that they answer.
"""
