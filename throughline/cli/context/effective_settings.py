"""The settings that a command works by: the functions' where they are on record, this shell's where they are not.

Published lineage must not depend on the shell that publishes it. So a command that writes refuses settings of this
shell that differ, and one that only reads prints a note. Shadow mode on either side counts.
"""

from collections.abc import Mapping, Sequence

from shared.bootstrap import Worker, assemble, storage_of
from shared.errors import Misconfigured, StorageUnavailable
from shared.records.control import SettingsOnRecord, check_layout, settings_on_record
from shared.settings.reading import RECORDED, Difference, differing, load
from shared.settings.table import ENDPOINT, SHADOW
from shared.settings.values import Settings
from shared.storage.port import Storage
from throughline.cli.ui.console import fail, note

_ANY_ENDPOINT = "https://on.record"
_ANY_STORAGE = {"AzureWebJobsStorage": "UseDevelopmentStorage=true"}
"""Settings can't be without either: where only the others are wanted."""


def agreed(environment: Mapping[str, str], *, writes: bool) -> Worker:
    """The parts for a command, by the environment with `environment` above it and by what the functions put on record.

    Ends the command where it `writes` and settings of this shell differ, or the recorded ones cannot be read.
    Raises Misconfigured, also for data of another storage layout.
    """
    storage = _storage(environment)
    record = _on_record(storage, writes=writes)
    if record is None:
        parts = assemble(load(catalog=True, overrides=environment), storage=storage)
        if writes:
            note("settings", "no functions have recorded their settings in this storage: this shell's are used")
        return parts
    different = differing(record.texts)
    if writes and different:
        fail(_refusal(record, different), code=2)
    settings = load(catalog=True, overrides=environment, record=record.texts)
    if writes:
        note("settings", recorded_text(record))
    elif different:
        words = "; ".join(map(str, different))
        note("settings", f"{words}. This command uses this shell's; a command that writes would refuse them")
    if settings.shadow and writes:
        is_recorded = record.texts.get(SHADOW, "").lower() == "true"
        subject = "the functions are" if is_recorded else "this shell is (THROUGHLINE_SHADOW=true)"
        note("shadow mode", f"{subject} in shadow mode: nothing is written to the catalog")
    return assemble(settings, storage=storage)


def settings_of_functions(environment: Mapping[str, str]) -> Settings | None:
    """The settings by which the functions publish, read from the storage that the environment with `environment` names.

    None if none are on record, or storage does not answer. Raises Misconfigured, also if another version wrote them.
    """
    record = _on_record(_storage(environment), writes=False)
    return load(catalog=True, environment=_ANY_STORAGE, record=record.texts) if record else None


def _storage(environment: Mapping[str, str]) -> Storage:
    """Storage, where nothing is wrong with this environment. The catalog's address may be missing: it is on record."""
    try:
        return storage_of(load(catalog=True, overrides=environment, record={ENDPOINT: _ANY_ENDPOINT}).storage)
    except Misconfigured:
        load(catalog=True, overrides=environment)  # raises with everything that is missing
        raise


def _on_record(storage: Storage, *, writes: bool) -> SettingsOnRecord | None:
    """The settings on record. Raises Misconfigured where another version has written the rows."""
    try:
        check_layout(storage)
        return settings_on_record(storage)
    except StorageUnavailable as error:
        if writes:
            fail(f"{error}. This command needs the functions' settings, so nothing was done: run it again")
        note("settings", f"{error}. This shell's settings are used instead of the functions'")
        return None


def recorded_text(record: SettingsOnRecord) -> str:
    """The functions' settings that differ from the defaults, in one line: nothing else in this shell shows them."""
    changed = {name: text for name, text in record.texts.items() if text != (RECORDED[name].default or "")}
    texts = (name if name == "THROUGHLINE_NAMES" else f"{name}={text}" for name, text in changed.items())
    since = f"{record.since:%Y-%m-%d %H:%M} UTC"
    return f"those of the functions, on record since {since}: {', '.join(texts) or 'all are defaults'}"


def _refusal(record: SettingsOnRecord, different: Sequence[Difference]) -> str:
    lines = "\n".join(f"  - {difference}" for difference in different)
    names = " ".join(difference.name for difference in different)
    return (
        "settings of this shell differ from the functions', and published lineage must not depend on the shell."
        f" On record since {record.since:%Y-%m-%d %H:%M} UTC:\n{lines}\n"
        f"Nothing was done. To use the functions' settings: `unset {names}`. To change theirs: set them for the"
        " functions; they are on record a minute after these have started"
    )
