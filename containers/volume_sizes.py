"""Counts the files of agents' volumes and the space that they take, with a script in a container that mounts them."""

from collections.abc import Iterator, Sequence

from containers.hardening import MEBIBYTE
from containers.vocabulary import DiskUse

COUNTING_LIMIT = 60.0
"""Seconds for one container."""

MEMORY, NANO_CPUS, PIDS = 256 * MEBIBYTE, 500_000_000, 128
"""What such a container may use."""

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_COUNT_FOR, _COUNT_PART_FOR = 40, 12
"""Seconds for a whole volume, and then for a part of it if the whole takes longer. Their sum is below
`COUNTING_LIMIT`."""

_SCRIPT = r"""
exact='
    files=$(find . -xdev -mindepth 1 -print0 | tr -dc "\0" | head -c "$2" | wc -c)
    size=0
    test "$files" -ge "$2" || size=$(du -skx . | { read -r size _ && echo "$size"; })
    echo "measured $1 $files $size"
'
batch='set -- "$#" $(du -skc "$@" | tail -n 1); echo "$1 $2"'
measure() {
    cd "/v/$1" || return
    timeout "$3" sh -c "$exact" exact "$1" "$2" && return
    timeout "$4" find . -xdev -mindepth 1 ! -type d -links 1 -exec sh -c "$batch" batch {} + | {
        files=0 size=0
        while read -r more kilobytes; do files=$((files + more)) size=$((size + kilobytes)); done
        echo "at-least $1 $files $size"
    }
}
"""
"""Names may contain line breaks, so NUL bytes are counted. `head` limits the count, because an agent may create any
number of files. In a partial count nothing counts twice: it counts only files with a single link, and of each batch
only the total that `du` prints last."""


def counting_script(most: Sequence[int]) -> str:
    """Returns a script that counts volume 0, 1, … at the same time, each up to this number of files."""
    lines = [f"(measure {place} {files} {_COUNT_FOR} {_COUNT_PART_FOR}) &" for place, files in enumerate(most)]
    return "\n".join([_SCRIPT, *lines])


def counting_target(place: int) -> str:
    """Returns where the script looks for the volume."""
    return f"/v/{place}"


def read_counts(printed: str, keys: Sequence[str]) -> Iterator[tuple[str, DiskUse]]:
    """Yields what the script has printed about the volumes of these keys."""
    for line in printed.splitlines():
        match line.split():
            case ["measured" | "at-least" as how, place, files, size] if int(place) < len(keys):
                is_part = how == "at-least"
                yield keys[int(place)], DiskUse(used=int(size) * 1024, files=int(files), is_part=is_part)
