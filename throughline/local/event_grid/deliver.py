"""Post an event for each new blob until it is accepted."""

import contextlib
import json
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import urllib3

from throughline.local.event_grid.subscriptions import Subscription
from throughline.local.event_grid.watch import BlobWatch
from throughline.local.host.http.webhook import EVENT_TYPE, PATH
from throughline.local.host.storage import HostStorage, Listed, StorageError

_LOG = logging.getLogger("throughline.world")
_POSTS_AT_ONCE = 4
_POST_SECONDS = 30.0
_PAUSES = (0.5, 1.0, 2.0)  # before an event is posted again; Azure takes 10 s, 30 s, 1 min …
_LONGEST_PAUSE = 5.0
_NOT_AGAIN = (400, 413)  # Event Grid gives up on these at once
_SECOND = timedelta(seconds=1)  # storage's times are whole seconds


class EventGrid:
    """Posts to the host at `url` from `start` to `stop`; lists the account of `connection` every `poll` seconds.

    An event is posted `delay` seconds after its blob was found. The file `note` keeps, from one start to the next, the
    time since which blobs may not have been posted; without it all blobs are new.
    """

    def __init__(
        self,
        *,
        connection: str,
        url: str,
        subscriptions: tuple[Subscription, ...],
        note: Path | None = None,
        poll: float = 0.15,
        delay: float = 0.0,
    ) -> None:
        self.calls: Counter[str] = Counter()
        self._storage = HostStorage(connection, self.calls)
        self._url, self._subscriptions = url, subscriptions
        self._note, self._poll, self._delay = note, poll, delay
        self._pool = urllib3.PoolManager(maxsize=_POSTS_AT_ONCE, retries=False, timeout=urllib3.Timeout(_POST_SECONDS))
        self._waiting: dict[Future[None], datetime] = {}  # by event: when its blob was written
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="event grid", daemon=True)

    def start(self) -> None:
        """Begin to list and to post."""
        self._thread.start()

    def stop(self) -> None:
        """Wait for the current posts, and end."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        since = self._since()
        watches = {
            subscription: BlobWatch(self._storage, subscription.pattern, since) for subscription in self._subscriptions
        }
        threads = ThreadPoolExecutor(_POSTS_AT_ONCE, "event grid")
        while not self._stopping.is_set():
            self._look(watches, threads)
            self._stopping.wait(self._poll)
        threads.shutdown(cancel_futures=True)

    def _look(self, watches: Mapping[Subscription, BlobWatch], threads: ThreadPoolExecutor) -> None:
        listing_time, post_time = datetime.now(UTC), time.monotonic() + self._delay
        is_news = bool(self._waiting)
        self._waiting = {event: blob_time for event, blob_time in self._waiting.items() if not event.done()}
        try:
            new_blobs = [(subscription, blob) for subscription, watch in watches.items() for blob in watch.look()]
        except StorageError as error:
            _LOG.debug("event grid: %s", error)
            return
        for subscription, blob in new_blobs:
            self._waiting[threads.submit(self._deliver, subscription, blob, post_time)] = blob.modified
        if self._note is not None and (new_blobs or is_news):
            since = min([listing_time - _SECOND, *self._waiting.values()])
            self._note.write_text(json.dumps({"since": since.isoformat()}))

    def _deliver(self, subscription: Subscription, blob: Listed, post_time: float) -> None:
        """Post the event of a blob, or put it into the queue, until it is taken or this ends."""
        event = self._event(subscription.pattern.container, blob)
        pause = max(0.0, post_time - time.monotonic())
        for next_pause in chain(_PAUSES, repeat(_LONGEST_PAUSE)):
            if self._stopping.wait(pause):
                return
            if self._put(subscription.queue, event) if subscription.queue else self._post(subscription, event):
                return
            pause = next_pause

    def _post(self, subscription: Subscription, event: Mapping[str, Any]) -> bool:
        """Post an event; return False when it must be posted again."""
        hook = f"{self._url}{PATH}?functionName=Host.Functions.{subscription.function}"
        headers = {"Content-Type": "application/json", EVENT_TYPE: "Notification"}
        try:
            status = self._pool.request("POST", hook, body=json.dumps([event]).encode(), headers=headers).status
        except urllib3.exceptions.HTTPError:
            return False
        if status in _NOT_AGAIN:
            _LOG.warning("the functions host answered %s to an event of %s: it is dropped", status, event["subject"])
        return 200 <= status < 300 or status in _NOT_AGAIN  # noqa: PLR2004 -- any success

    def _put(self, queue: str, event: Mapping[str, Any]) -> bool:
        try:
            self._storage.put_message(queue, event)
        except StorageError as error:
            _LOG.debug("event grid: %s", error)
            return False
        return True

    def _event(self, container: str, blob: Listed) -> dict[str, Any]:
        return {
            "topic": "/subscriptions/local/resourceGroups/local/providers/Microsoft.Storage/storageAccounts/local",
            "subject": f"/blobServices/default/containers/{container}/blobs/{blob.name}",
            "eventType": "Microsoft.Storage.BlobCreated",
            "eventTime": blob.modified.isoformat(),
            "id": str(uuid.uuid4()),
            "data": {
                "api": "PutBlob",
                "eTag": blob.etag.strip('"'),
                "contentLength": blob.size,
                "contentType": "application/octet-stream",
                "blobType": "BlockBlob",
                "url": self._storage.blob_url(container, blob.name),
            },
            "dataVersion": "",
            "metadataVersion": "1",
        }

    def _since(self) -> datetime | None:
        with contextlib.suppress(FileNotFoundError, ValueError, LookupError):
            if self._note is not None:
                return datetime.fromisoformat(json.loads(self._note.read_text())["since"])
        return None
