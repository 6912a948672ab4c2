"""The files of a source on this machine, as Hadoop lists them. Imports no PySpark."""

import os
from collections.abc import Iterator
from pathlib import Path


def files_below(place: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files below a folder without those in hidden folders; of a file, itself; none where nothing is. Links are
    followed, but no folder is listed again within itself. Raises OSError where a folder may not be listed.
    """
    if place.is_file():
        yield str(place), place.stat()
    elif place.is_dir():
        yield from _below(str(place), frozenset())


def _below(folder: str, upper_folders: frozenset[tuple[int, int]]) -> Iterator[tuple[str, os.stat_result]]:
    """`upper_folders`: the device and number of each folder on the way to this one."""
    folder_status = os.stat(folder)  # noqa: PTH116 - pathlib is slow for very many files
    folder_key = (folder_status.st_dev, folder_status.st_ino)
    if folder_key in upper_folders:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if not entry.name.startswith(("_", ".")):
                    yield from _below(entry.path, upper_folders | {folder_key})
            elif entry.is_file():
                yield entry.path, entry.stat()
