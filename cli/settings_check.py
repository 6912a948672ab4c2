"""Whether this shell's settings are the functions', for `doctor`."""

from collections.abc import Iterator

from cli.trial import Step
from shared.bootstrap import Worker
from shared.errors import Misconfigured
from shared.pipeline import settings_on_record
from shared.settings import differing


def check_settings(parts: Worker) -> Iterator[Step]:
    """One step. Raises StorageUnavailable."""
    try:
        found = settings_on_record(parts.storage)
        different = differing(found.texts) if found else ()
    except Misconfigured as error:
        yield Step(name="settings", good=False, found=str(error))
        return
    if found is None:
        text = "none on record: the functions put theirs there when they start"
        yield Step(name="settings", good=True, found=text)
    elif different:
        names = " ".join(each.name for each in different)
        advice = f"commands that write refuse to: `unset {names}`, or set them so for the functions"
        yield Step(name="settings", good=False, found="; ".join(map(str, different)), advice=advice)
    else:
        yield Step(
            name="settings", good=True, found=f"the functions', on record since {found.since:%Y-%m-%d %H:%M} UTC"
        )
