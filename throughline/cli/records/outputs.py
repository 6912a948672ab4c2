"""Whether an event writes a data set that people name."""

from shared.errors import Refused
from shared.openlineage.decoding import decode
from shared.openlineage.wire import Dataset
from shared.rules_file import matcher


def writes(raw: bytes | None, name: str) -> bool:
    """Whether the event in these bytes names this data set as an output: by its name, the end of its path, or a pattern
    with `*` and `?`; also by its name in a catalog of tables. False for bytes that are no event.
    """
    try:
        body = decode(raw or b"").body
    except Refused:
        return False
    fits = matcher([name, f"*/{name.lstrip('/')}"])
    return any(fits(spelled) for output in (body.outputs if body else None) or () for spelled in _names(output))


def no_write_of(name: str) -> str:
    """The sentence where no stored event writes it."""
    return (
        f"no stored event names {name!r} as an output. A file that pandas, open() or a shell writes is in no event,"
        " because Spark sees no write"
    )


def _names(dataset: Dataset) -> tuple[str, ...]:
    links = dataset.facets.symlinks.identifiers if dataset.facets and dataset.facets.symlinks else None
    path = f"{dataset.namespace.rstrip('/')}/{dataset.name.lstrip('/')}".rstrip("/")
    return (dataset.name, path, *(link.name for link in links or ()))
