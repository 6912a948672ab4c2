"""Post an event for each new blob until it is accepted."""

import contextlib
import heapq
import json
import logging
import threading
import time
import uuid
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import urllib3

from throughline.local.event_grid.subscriptions import Subscription
from throughline.local.event_grid.watch import BlobWatch
from throughline.local.host.http.webhook import EVENT_TYPE, PATH
from throughline.local.host.storage import HostStorage, Listed, StorageError

_LOG = logging.getLogger("throughline.world")
_POSTS_AT_ONCE = 4
_POST_SECONDS = 30.0
_PAUSES = (0.5, 1.0, 2.0, 5.0)  # before an event is posted again; Azure takes 10 s, 30 s, 1 min …
_NOT_AGAIN = (400, 413)  # Event Grid gives up on these at once
_SECOND = timedelta(seconds=1)  # storage's times are whole seconds


@dataclass(frozen=True, slots=True, order=True)
class _Delivery:
    """A pending event: when (monotonic seconds) it is posted next, and how often that failed."""

    due: float
    number: int
    subscription: Subscription = field(compare=False)
    blob: Listed = field(compare=False)
    failures: int = field(default=0, compare=False)


class EventGrid:
    """Posts to the host at `url` while its context lasts; lists the account of `connection` every `poll` seconds.

    An event is posted `delay` seconds after its blob was found. The file `note` keeps, from one start to the next, the
    time since which blobs may not have been posted; without it all blobs are new. `key` is the host's system key
    blobs_extension, if it needs one.
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
        key: str = "",
    ) -> None:
        self.calls: Counter[str] = Counter()
        self.posts: Counter[str] = Counter()
        """The numbers of posts that were answered by a 2xx, and of all other posts."""
        self._connection = connection
        self._storage: HostStorage
        self._url, self._key = url, key
        self._subscriptions, self._note, self._poll, self._delay = subscriptions, note, poll, delay
        self._pool = urllib3.PoolManager(maxsize=_POSTS_AT_ONCE, retries=False, timeout=urllib3.Timeout(_POST_SECONDS))
        self._due: list[_Delivery] = []
        self._number = 0
        self._under_way: dict[Future[bool], _Delivery] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="event grid", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to list and to post."""
        self._thread.start()

    def stop(self) -> None:
        """Wait for the current posts, and end."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        self._storage = HostStorage(self._connection, self.calls)
        since = self._since()
        watches = [
            (subscription, BlobWatch(self._storage, subscription.pattern, since))
            for subscription in self._subscriptions
        ]
        with ThreadPoolExecutor(_POSTS_AT_ONCE, "event grid") as threads:
            look_at = 0.0
            while not self._stopping.is_set():
                now = time.monotonic()
                if now >= look_at:
                    self._look(watches)
                    look_at = time.monotonic() + self._poll
                self._collect()
                while self._due and self._due[0].due <= now and len(self._under_way) < _POSTS_AT_ONCE:
                    delivery = heapq.heappop(self._due)
                    self._under_way[threads.submit(self._post, delivery)] = delivery
                self._stopping.wait(0.005 if self._under_way else max(0.0, min(look_at - now, 0.05)))

    def _look(self, watches: list[tuple[Subscription, BlobWatch]]) -> None:
        listing_time = datetime.now(UTC)
        try:
            new_blobs = [(subscription, blob) for subscription, watch in watches for blob in watch.look()]
        except StorageError as error:
            _LOG.debug("event grid: %s", error)
            return
        now = time.monotonic()
        for subscription, blob in new_blobs:
            self._number += 1
            heapq.heappush(self._due, _Delivery(now + self._delay, self._number, subscription, blob))
        if new_blobs or self._due or self._under_way:
            waiting = [delivery.blob.modified for delivery in (*self._due, *self._under_way.values())]
            self._remember(min([listing_time - _SECOND, *waiting]))

    def _collect(self) -> None:
        """Queue events that were not accepted again."""
        for posted in [future for future in self._under_way if future.done()]:
            delivery = self._under_way.pop(posted)
            if not posted.result():
                due_time = time.monotonic() + _PAUSES[min(delivery.failures, len(_PAUSES) - 1)]
                heapq.heappush(self._due, replace(delivery, due=due_time, failures=delivery.failures + 1))

    def _post(self, delivery: _Delivery) -> bool:
        """Post an event, or put it into the queue; return False when it must be posted again."""
        subscription = delivery.subscription
        if subscription.queue:
            return self._put(delivery)
        hook = f"{self._url}{PATH}?functionName=Host.Functions.{subscription.function}"
        headers = {"Content-Type": "application/json", EVENT_TYPE: "Notification"}
        if self._key:
            headers["x-functions-key"] = self._key
        body = json.dumps([self._event(subscription, delivery.blob)]).encode()
        try:
            status = self._pool.request("POST", hook, body=body, headers=headers).status
        except urllib3.exceptions.HTTPError:
            status = 0
        is_taken = 200 <= status < 300  # noqa: PLR2004 -- any success
        self.posts["taken" if is_taken else "failed"] += 1
        if status in _NOT_AGAIN:
            _LOG.warning("the functions host answered %s to an event of %s: it is dropped", status, delivery.blob.name)
        return is_taken or status in _NOT_AGAIN

    def _put(self, delivery: _Delivery) -> bool:
        try:
            self._storage.put_message(delivery.subscription.queue, self._event(delivery.subscription, delivery.blob))
        except StorageError as error:
            _LOG.debug("event grid: %s", error)
            return False
        self.posts["taken"] += 1
        return True

    def _event(self, subscription: Subscription, blob: Listed) -> dict[str, Any]:
        container = subscription.pattern.container
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

    def _remember(self, since: datetime) -> None:
        if self._note is not None:
            self._note.write_text(json.dumps({"since": since.isoformat()}))
