"""Runs promtool with the alert rules on what /metrics has reported."""

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
"""Minutes without a fault, and minutes of the fault after them."""

Told = Mapping[str, float]


def alerts() -> dict[str, str]:
    """Returns the expression of each alert by its name."""
    parts = re.split(r"^ +- alert: ", RULES.read_text(), flags=re.MULTILINE)[1:]
    return {part.split("\n")[0]: part.partition("expr:")[2].partition("labels:")[0] for part in parts}


def series_of(told: Scrape) -> dict[str, float]:
    """Returns each sample as it is written in an expression."""
    return {
        f"{each.name}{{{','.join(f'{name}={json.dumps(value)}' for name, value in sorted(each.labels.items()))}}}":
        each.value
        for each in told.samples
    }  # fmt: skip


def tell(before: Told, after: Told) -> list[dict[str, str]]:
    """Returns a series of both: a counter grows each minute as it did between them, and anything else changes once."""
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
    """Expects that the alert is silent while all is well, and fires at the end."""
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
    """Returns the errors that promtool reports. It accepts JSON, because JSON is YAML."""
    file = folder / "tests.yml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": list(tests)}))
    command = [promtool, "test", "rules", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return "" if ended.returncode == 0 else ended.stdout + ended.stderr
