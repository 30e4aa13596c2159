"""Has promtool say what the rules make of what /metrics told."""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.config.metrics.reading import Scrape
from tests.paths import ROOT

RULES = ROOT / "docs/monitoring/alerts.yml"
WELL, WRONG = 20, 35
"""Minutes for which all is well, and for which something is wrong then."""

Told = Mapping[str, float]


def alerts() -> dict[str, str]:
    """The expression of each, by its name."""
    parts = re.split(r"^ +- alert: ", RULES.read_text(), flags=re.MULTILINE)[1:]
    return {part.split("\n")[0]: part.partition("expr:")[2].partition("labels:")[0] for part in parts}


def series_of(told: Scrape) -> dict[str, float]:
    """Each sample as it is written in an expression."""
    return {
        f"{each.name}{{{','.join(f'{name}={json.dumps(value)}' for name, value in sorted(each.labels.items()))}}}":
        each.value
        for each in told.samples
    }  # fmt: skip


def tell(before: Told, after: Told) -> list[dict[str, str]]:
    """A story of both: a counter grows each minute as it did between them, and what is no counter changes once."""
    story = []
    for name in sorted(before.keys() | after.keys()):
        was, becomes = before.get(name), after.get(name)
        is_counter = re.match(r"\w+_(total|count|bucket|sum)\{", name)
        if is_counter and becomes is not None:
            values = f"{_lasting(was, WELL)} {becomes}+{becomes - (was or 0)}x{WRONG}"
        else:
            values = f"{_lasting(was, WELL)} {_lasting(becomes, WRONG)}"
        story.append({"series": name, "values": values.replace("inf", "Inf")})
    return story


def _lasting(value: float | None, minutes: int) -> str:
    return f"_x{minutes}" if value is None else f"{value}+0x{minutes}"


def expect(alert: str, story: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """That it is silent while all is well, and fires at the end."""
    firing = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) > bool 0'
    return {
        "name": alert,
        "interval": "1m",
        "input_series": list(story),
        "promql_expr_test": [
            {"expr": f'count(ALERTS{{alertname="{alert}"}})', "eval_time": f"{WELL - 2}m", "exp_samples": []},
            {"expr": firing, "eval_time": f"{WELL + WRONG - 2}m", "exp_samples": [{"labels": "{}", "value": 1}]},
        ],
    }


def expect_silence(story: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    silent = {"expr": "count(ALERTS)", "eval_time": f"{WELL + WRONG - 2}m", "exp_samples": []}
    return {"name": "well", "interval": "1m", "input_series": list(story), "promql_expr_test": [silent]}


def run_promtool(promtool: str, folder: Path, tests: Sequence[Mapping[str, Any]]) -> str:
    """What it complains of. JSON is YAML."""
    file = folder / "tests.yml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": list(tests)}))
    command = [promtool, "test", "rules", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return "" if ended.returncode == 0 else ended.stdout + ended.stderr
