"""A cache of application facts: most runs of an application find the same facts as the run before.

Entries may be stale. No result depends on them alone: after a run's rows are written its application is read from
storage, and where facts have changed the run is processed again.
"""

import threading
from collections import OrderedDict

from shared.records.application.record import Application, read_application
from shared.storage.port import Storage

_MAX_APPLICATIONS = 1024


class ApplicationCache:
    """The last `size` applications that were read. Thread-safe."""

    def __init__(self, size: int = _MAX_APPLICATIONS) -> None:
        self._most = size
        self._known: OrderedDict[str, Application] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, storage: Storage, run: str) -> Application:
        """The facts of an application run; a point read where it is not cached."""
        with self._lock:
            known = self._known.get(run)
        if known is None:
            known = read_application(storage, run)
            self.note(known)
        return known

    def note(self, known: Application) -> None:
        """Cache what storage holds now."""
        with self._lock:
            self._known.pop(known.run, None)
            self._known[known.run] = known
            if len(self._known) > self._most:
                self._known.popitem(last=False)
