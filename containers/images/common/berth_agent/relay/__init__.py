"""Runs a program that knows nothing about Berth as a child process, behind a relay that fulfils the contract for it.

The child reaches Telegram and the provider through the relay, which holds the credentials and sees all answers.
"""
