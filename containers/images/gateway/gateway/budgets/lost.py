"""What a process that was killed had reserved, which counts in full. Pure."""

from collections.abc import Iterable

from gateway.budgets.changes import Cell, Counts, Reservation, add_to

Reserved = tuple[str, int, int, int]
"""An advance: project, hour, tokens and money."""


def count_lost(reservations: Iterable[Reservation], advances: Iterable[Reserved]) -> dict[Cell, Counts]:
    cells: dict[Cell, Counts] = {}
    for left in reservations:
        counts = Counts(requests=1, estimated=1, input=left.input, output=left.output, money=left.money)
        add_to(cells, {Cell(left.project, left.hour, left.model): counts})
    for project, hour, tokens, money in advances:
        if tokens > 0 or money > 0:
            # Calls that drew on the advance may not have been written.
            counts = Counts(estimated=1, output=max(0, tokens), money=max(0, money))
            add_to(cells, {Cell(project, hour, ""): counts})
    return cells
