"""Files and folders that a command writes: one sentence where it may not."""

import gzip
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from throughline.cli.ui.console import counted, fail, out


@contextmanager
def writing(place: Path | str, *, code: int = 2) -> Iterator[None]:
    """Make the folder of `place`, which the block writes. End the command with this exit code and one sentence where an
    OSError stops that.
    """
    try:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        fail(f"{place} can't be written: {error.strerror or error}. Name another path", code=code)


def save_events(raws: Iterable[bytes], path: Path) -> None:
    """Write events as JSON lines, gzipped if the name ends in .gz, and report how many. Ends the command where the file
    can't be written.
    """
    saved = 0
    with writing(path), path.open("wb") if path.suffix != ".gz" else gzip.open(path, "wb") as file:
        for raw in raws:
            file.write(raw.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n")
            saved += 1
    out.print(f"{counted(saved, 'event')} saved to {path}", markup=False)


def refuse_unwritable(folder: Path, todo: str) -> None:
    """End the command with exit code 2 where no file can be made in the folder, or where the folder does not exist and
    can't be made. `todo` says what to do. It leaves nothing behind.
    """
    existing_folder = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing_folder):
            pass
    except OSError as error:
        fail(f"{folder} can't be written: {error.strerror or error}. {todo}", code=2)
