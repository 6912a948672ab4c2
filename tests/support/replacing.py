"""Replace a file that others read: they see the old content or the new one, never a part."""

from pathlib import Path


def replace_text(file: Path, text: str) -> None:
    """Write the text beside the file, and put it in its place in one step."""
    fresh_path = file.with_suffix(".new")
    fresh_path.write_text(text)
    fresh_path.replace(file)
