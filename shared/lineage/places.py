"""Data sets in the document of lineage, where they lie, and what their tags are called."""

import re
from urllib.parse import unquote

from shared.lineage.document import Dataset
from shared.model import Declared

PLACEHOLDER_TYPE = "DataSet"
_PROCESS = re.compile(r"throughline:[^/]*://(?P<namespace>[^/]+)/(?P<job>[^/]+)/.")
_STORE = re.compile(r"^[A-Za-z0-9+.-]+://[^/?]*")


def place(qualified_name: str, asset_type: str) -> tuple[str, str, str]:
    """The store (`scheme://host`, else the type), the zone (container or database; may be empty) and the short name."""
    found = _STORE.match(qualified_name)
    store = found.group() if found else asset_type
    path = qualified_name[found.end() :] if found else qualified_name
    segments = [each for each in path.partition("?")[0].split("/") if each]
    zone = segments[0] if len(segments) > 1 else ""
    return store, zone, segments[-1] if segments else qualified_name


def job_of(process: str) -> tuple[str, str]:
    """The namespace and the identity of the job in a process's qualified name; empty where it has another form.

    The form is that of shared/translation/process/identity.py: `throughline:VERSION://NAMESPACE/JOB/SINK`, both quoted.
    """
    found = _PROCESS.match(process)
    return (unquote(found["namespace"]), unquote(found["job"])) if found else ("", "")


def dataset_of(
    name: str, asset_type: str, declared: Declared, event_name: tuple[str, str] = ("", ""), shown: str = ""
) -> Dataset:
    """A data set by its qualified name and type, with what events declare of it; `event_name`: its namespace and name
    in events. `shown`: its short name, if the qualified name does not end with that.
    """
    store, zone, short = place(name, asset_type)
    return Dataset(
        qualified_name=name,
        type=asset_type,
        name=shown or short,
        store=store,
        zone=zone,
        placeholder=asset_type == PLACEHOLDER_TYPE,
        owner=declared.owner,
        description=declared.description,
        tags=tuple(sorted({tag_name(key, value) for key, value, column in declared.tags if not column})),
        namespace=event_name[0],
        full_name=event_name[1],
        hierarchy=declared.levels,
    )


def tag_name(key: str, value: str) -> str:
    """A tag of OpenLineage's facet `tags` as one text: `key:value`, or the key alone where it only says true."""
    return key if value.lower() in {"", "true"} else f"{key}:{value}"
