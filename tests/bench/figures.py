"""The figures of a benchmark, each a ratio of two sides that were measured in the same run."""

import itertools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[2]
"""The project."""

_PERCENTILES = 100
_WIDTHS = (37, 15, 8, 8, 7)
"""Widths of the table's columns, for a terminal of 80 columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`value` (in `unit`) beside `other`, which is `compared_with`; `ratio` is the median over the rounds.

    `goal` is the bound of the ratio, if an issue sets one: `<= 1.3` or `>= 0.6`. `sizes` are the amounts measured,
    `details` further observations.
    """

    benchmark: str
    name: str
    value: float
    unit: str
    compared_with: str
    other: float
    ratio: float
    goal: str = ""
    sizes: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def meets_goal(self) -> bool | None:
        """Whether the ratio meets the goal; None without a goal."""
        sign, _, bound = self.goal.partition(" ")
        if not sign:
            return None
        return self.ratio <= float(bound) if sign == "<=" else self.ratio >= float(bound)


Row = tuple[str, float, str, float]
"""A measured value: its name, the value, its unit, and its goal."""


def against_goals(benchmark: str, rows: Iterable[Row], sizes: Mapping[str, Any]) -> list[Figure]:
    """Return the figures of values that are compared with their goals: rates (`…/s`) are to reach them, others to stay
    below.
    """
    return [
        Figure(
            benchmark=benchmark,
            name=name,
            value=value,
            unit=unit,
            compared_with="its goal",
            other=goal,
            ratio=value / goal,
            goal=">= 1" if unit.endswith("/s") else "<= 1",
            sizes=sizes,
        )
        for name, value, unit, goal in rows
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """The values of two sides, one for each round. The sides took turns, so that other load hit both."""

    ours: Sequence[float]
    others: Sequence[float]

    @property
    def ratio(self) -> float:
        """The median of the rounds' own ratios."""
        return median(our_value / other for our_value, other in zip(self.ours, self.others, strict=True))

    def figure(self, *, scale: float = 1.0, **facts: Any) -> Figure:
        """Return the figure of the medians, multiplied by `scale` for its unit."""
        spread = [round(our_value / other, 3) for our_value, other in zip(self.ours, self.others, strict=True)]
        return Figure(
            value=median(self.ours) * scale,
            other=median(self.others) * scale,
            ratio=self.ratio,
            details={"ratios": spread, **facts.pop("details", {})},
            **facts,
        )


def children_cpu() -> float:
    """The CPU seconds so far of all processes that this one has started, directly or not, and that still run."""
    return sum(sum(process.cpu_times()[:2]) for process in psutil.Process().children(recursive=True))


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which `percent` % of the values lie; at least two values are needed."""
    return quantiles(values, n=_PERCENTILES, method="inclusive")[percent - 1]


def document(figures: Iterable[Figure], *, quick: bool) -> dict[str, Any]:
    """Return all figures with the commit and the machine, as plain values."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": "python -m tests.bench " + " ".join(sys.argv[1:]),
        "quick": quick,
        "commit": _commit(),
        "machine": machine(),
        "figures": [{**asdict(figure), "meets_goal": figure.meets_goal} for figure in figures],
    }


def machine() -> dict[str, Any]:
    """Describe the machine and its load."""
    return {
        "cpus": os.cpu_count(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def write(figures: Sequence[Figure], out: Path, *, quick: bool) -> None:
    """Write all figures as JSON."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document(figures, quick=quick), indent=2, ensure_ascii=False) + "\n")


def show(figures: Sequence[Figure], console: Console) -> None:
    """Print a small table for each benchmark, headed by what it is compared with."""
    console.print(_table("", "ours", "other", "ratio", "goal", header=True))
    for (benchmark, compared_with), own_figures in itertools.groupby(
        figures, lambda figure: (figure.benchmark, figure.compared_with)
    ):
        console.print(f"[bold]{benchmark}[/] [dim]against {compared_with}[/]")
        table = _table("", "", "", "", "", header=False)
        for each in own_figures:
            colour = {None: "default", True: "green", False: "red"}[each.meets_goal]
            table.add_row(
                f"  {each.name}",
                f"{_short(each.value)} {each.unit}",
                _short(each.other),
                f"[{colour}]{each.ratio:.2f}x[/]",
                each.goal,
            )
        console.print(table)


def _table(*titles: str, header: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=header)
    for title, width in zip(titles, _WIDTHS, strict=True):
        table.add_column(title, width=width, no_wrap=True, justify="left" if width == max(_WIDTHS) else "right")
    return table


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _commit() -> str:
    """The commit, with a plus when files differ from it; `unknown` outside a repository."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        return f"{commit}+" if _git("status", "--porcelain") else commit
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    outcome = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return outcome.stdout.strip()


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "unknown")
