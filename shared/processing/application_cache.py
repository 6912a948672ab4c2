"""What was known of applications lately: most runs of an application find nothing more told of it than the run before.

It may be old. Nothing is put on record by it alone: whoever settles a run looks at storage once its own rows are
written, as always, and settles it anew where more was told.
"""

import threading
from collections import OrderedDict

from shared.records.application_record import Application, read_application
from shared.storage.port import Storage

_MAX_APPLICATIONS = 1024


class ApplicationCache:
    """The applications that were met last. For all threads of a process."""

    def __init__(self, size: int = _MAX_APPLICATIONS) -> None:
        self._most = size
        self._known: OrderedDict[str, Application] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, storage: Storage, run: str) -> Application:
        """What is known of an application: a point read where it is new here."""
        with self._lock:
            known = self._known.get(run)
        if known is None:
            known = read_application(storage, run)
            self.note(known)
        return known

    def note(self, known: Application) -> None:
        """This is what storage holds now."""
        with self._lock:
            self._known.pop(known.run, None)
            self._known[known.run] = known
            if len(self._known) > self._most:
                self._known.popitem(last=False)
