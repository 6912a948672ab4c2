"""Rows of tables of the lake, as a table or as JSON."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from throughline.cli.ui.console import note, print_json
from throughline.cli.ui.tables import print_table

_MAX_SHOWN = 1_000


def show_rows(rows: Any, narrow: Sequence[str], *, wide: bool, as_json: bool) -> None:
    """Print rows of a table of the lake: all columns with `wide`, else the `narrow` ones."""
    table = [row.asDict() for row in rows.limit(_MAX_SHOWN).collect()]
    shown_rows = [{name: _rounded(value) for name, value in row.items()} for row in table]
    if as_json:
        print_json(shown_rows)
        return
    names = rows.columns if wide else narrow
    numbers = {name.replace("_", " ") for name, kind in rows.dtypes if kind in {"bigint", "int", "double"}}
    cells = [[_text(row[name], wide=wide) for name in names] for row in shown_rows]
    print_table([name.replace("_", " ") for name in names], cells, numbers=numbers, wide=wide)
    if len(shown_rows) == _MAX_SHOWN:
        note("cut", f"only the first {_MAX_SHOWN:,} rows are shown")


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


def _text(value: Any, *, wide: bool) -> str:
    if isinstance(value, datetime):
        return value.isoformat() if wide else f"{value:%Y-%m-%d %H:%M}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
