"""Helpers for tests of dead letters."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from shared.naming.names import Names
from shared.naming.stores.rule_forms import rule
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS, EVENTS, StoredEvent
from tests.support.processing import Watched


class Stepped(Watched):
    """Storage that also forwards named arguments."""

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            self.step_in(name, arguments)
            return getattr(self.real, name)(*arguments, **named)

        return called


def replace_blob(storage: MemoryStorage, place: StoredEvent, packed_event: bytes) -> None:
    """Replace a blob's content, as damage in storage or a repair would; an event that is not folded is read from it."""
    storage._blobs[EVENTS][place.blob] = (packed_event, datetime.now(UTC))
    row = storage.read(APPLICATIONS, place.application, place.row_key)
    if row:
        values = {name: value for name, value in row.values.items() if name != "packed"}
        storage.upsert(APPLICATIONS, replace(row, values=values))


RULE_WITH_UNKNOWN_GROUP = Names(rules=(rule("mine", type="fs_path", namespace="file", path=".*", to="{host}/{path}"),))
"""A user's rule that refers to groups which its patterns do not have."""
