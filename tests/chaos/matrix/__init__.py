"""Every process on which the service depends, with every fault of it and every verb, on a whole installation.

    .venv/bin/python -m tests.chaos.matrix                          # all; goes on where the last run ended
    .venv/bin/python -m tests.chaos.matrix engine/drip mail/hang    # these faults, each with every verb
    .venv/bin/python -m tests.chaos.matrix --sample 1 --seed 42     # what the tests take with --sample-seed=42
    .venv/bin/python -m tests.chaos.matrix --table                  # what has been tried, and what has not

See tests/chaos/README.md.
"""
