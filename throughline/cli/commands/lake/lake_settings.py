"""The settings by which a lake is made: the functions', so that both publish the same lineage."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shared.settings.values import Settings
from throughline.cli.context.target import functions_settings
from throughline.cli.ui.console import fail, note

if TYPE_CHECKING:
    from throughline.lake.silver.refinement import Meaning
    from throughline.lake.tables.lake import Lake


def meaning_for(names: Path | None, home: Path) -> "Meaning":
    """The meaning for a run of the lake, without its time: by the functions' settings where a Throughline is named (or
    runs on this machine) and has them on record, else by the defaults. A file of `names` replaces theirs; where it
    differs, a note says so.
    """
    from throughline.lake.silver.refinement import Meaning  # noqa: PLC0415 - PySpark is slow to import

    names_file = (names.read_text(encoding="utf-8"), str(names)) if names else None
    function_settings = functions_settings(home)
    if function_settings is None:
        return Meaning(names=names_file)
    meaning = _of(function_settings)
    if names_file and names_file[0] != (meaning.names or ("", ""))[0]:
        note("settings", f"{names_file[1]} is not the functions' file of names: this lake can't be published")
    return replace(meaning, names=names_file) if names_file else meaning


def refuse_other_meaning(lake: "Lake", home: Path) -> None:
    """End the command where the lake was made by other settings than those of the functions."""
    from throughline.lake.pipeline import MEANING, MIXED  # noqa: PLC0415 - the same

    function_settings, noted = functions_settings(home), lake.progress(MEANING)
    if function_settings is None or noted == _of(function_settings).number:
        return
    other = "by other settings than the functions'"
    settings_text = "by several settings, one after the other" if noted == MIXED else other
    fail(
        f"this lake was made {settings_text} (file of names, times, indirect columns), "
        "and would publish other lineage than they"
        " do. Nothing was done: make a new one with `throughline lake run`, with the storage of the functions in the"
        " environment and no --names",
        code=2,
    )


def _of(settings: Settings) -> "Meaning":
    from throughline.lake.silver.refinement import Meaning  # noqa: PLC0415 - the same

    return Meaning(
        end_timeout=settings.times.end_timeout,
        quiet=settings.times.quiet,
        unseen=settings.times.unseen,
        names=(settings.names.text, settings.names.place) if settings.names else None,
        with_indirect=settings.indirect_columns,
    )
