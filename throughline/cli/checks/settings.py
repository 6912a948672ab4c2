"""Whether this shell's settings are the functions', for `doctor`."""

from collections.abc import Iterator

from shared.bootstrap import Worker
from shared.errors import Misconfigured
from shared.records.control import settings_on_record
from shared.settings.reading import differing
from throughline.cli.checks.findings import CheckResult, bad, good
from throughline.cli.context.effective_settings import recorded_text

_SUBJECT = "settings"


def check_settings(parts: Worker) -> Iterator[CheckResult]:
    """One finding. Raises StorageUnavailable."""
    try:
        settings = settings_on_record(parts.storage)
        different = differing(settings.texts) if settings else ()
    except Misconfigured as error:
        yield bad("settings-unreadable", _SUBJECT, str(error))
        return
    if settings is None:
        yield good(_SUBJECT, "none on record: the functions put theirs there when they start")
    elif different:
        names = tuple(difference.name for difference in different)
        yield bad("settings-differ", _SUBJECT, "; ".join(map(str, different)), names=names)
    else:
        yield good(_SUBJECT, recorded_text(settings))
