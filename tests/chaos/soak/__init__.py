"""Hours of ordinary life with faults in it: five users, sixty agents, and curves that must stay flat.

    .venv/bin/python -m tests.chaos.soak                             # two hours
    .venv/bin/python -m tests.chaos.soak --minutes 30 --agents 60    # shorter
    .venv/bin/python -m tests.chaos.soak --picture docs/soak.svg     # where the picture of the curves goes

See tests/chaos/README.md.
"""
