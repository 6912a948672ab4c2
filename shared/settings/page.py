"""The tables of docs/reference/settings.md, from `SETTINGS`. `python -m shared.settings.page FILE` rewrites them.

Each table stands between two comments: `<!-- settings -->` … `<!-- /settings -->`, and the same with `sources`.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from shared.settings.setting import Setting, SettingSource
from shared.settings.table import SETTINGS


def settings_table() -> str:
    """A Markdown table with a line for each setting: name, default, bounds, meaning, and what a change touches."""
    lines = ["| setting | default | bounds | meaning | a change touches |", "|---|---|---|---|---|"]
    lines += [
        f"| `{each.name}` | {_default(each)} | {each.bounds} | {each.meaning} | {each.effect.value} |"
        for each in SETTINGS
    ]
    return "\n".join(lines)


def sources_table() -> str:
    """A Markdown table of the settings by where commands take them from."""
    lines = ["| commands take from | these settings |", "|---|---|"]
    for source in SettingSource:
        names = ", ".join(f"`{each.name}`" for each in SETTINGS if each.source is source)
        lines.append(f"| **{source.name.lower()}**: {source.value} | {names} |")
    return "\n".join(lines)


def _default(setting: Setting) -> str:
    return "required" if setting.default is None else f"`{setting.default}`" if setting.default else ""


def rendered(page: str) -> str:
    """The page with its tables as they are now. Raises ValueError where it lacks a table's comments."""
    tables: Mapping[str, str] = {"settings": settings_table(), "sources": sources_table()}
    for name, table in tables.items():
        before, after = f"<!-- {name} -->", f"<!-- /{name} -->"
        if before not in page or after not in page:
            raise ValueError(f"the page lacks {before} … {after}, where the table belongs")
        head, tail = page.split(before, maxsplit=1)[0], page.split(after)[1]
        page = f"{head}{before}\n\n{table}\n\n{after}{tail}"
    return page


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(rendered(file.read_text()))
