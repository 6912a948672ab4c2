"""`throughline send`: post events from files to a receiver, as a listener does."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import requests
import typer

from shared.http_errors import NO_ANSWER, name_of
from throughline.cli.commands.local.translate import EventFiles
from throughline.cli.context.target import HOME, Home, local_receiver
from throughline.cli.records.event_files import EventFound, events_in, files_of
from throughline.cli.ui.console import bar, fail, note, out
from throughline.cli.ui.options import Key

Url = Annotated[str, typer.Option(metavar="URL", help="The receiver; default: the local world's")]

_MAX_ATTEMPTS = 6
_TIMEOUT = 30
_RETRIED = frozenset({429, 500, 502, 503, 504})
_MAX_REASONS = 10


def send(
    files: EventFiles,
    *,
    url: Url = "",
    key: Key = "",
    at_once: Annotated[int, typer.Option(min=1, max=32, metavar="N", help="Concurrent requests")] = 4,
    home: Home = HOME,
) -> None:
    """Post events to a receiver, one request for each event. Events that it has already change nothing.

    Requests are retried with a backoff while the receiver is busy. Exit code 1 if an event was refused.

        throughline send events.jsonl
        throughline send backlog/*.jsonl.gz --url https://NAME.azurewebsites.net --key ...
    """
    paths = files_of(files)
    for path in paths:
        if str(path) != "-":
            next(events_in(path), None)  # raises for a file of another kind before anything is sent
    place = receiver(url, home)
    total = None if Path("-") in files else sum(1 for _ in _events(paths))  # read twice: far cheaper than sending
    deliver(_events(paths), total, url=place, key=key, at_once=at_once)


def deliver(events: Iterator[EventFound], total: int | None, *, url: str, key: str, at_once: int = 4) -> None:
    """Post events to the receiver at `url`, `at_once` at a time, with a bar for `total`, and print how many it kept.
    Ends the command where no receiver answers, and where an event was refused.
    """
    sender = _Sender(url=url, key=key)
    answers: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    first = list(islice(events, 1))
    for event_found in first:  # by itself: where no receiver answers, one error is enough
        _count(sender, sender.post(event_found), answers, reasons)
    with bar("sending", total) as update, ThreadPoolExecutor(at_once) as pool:
        update(advance=len(first))
        try:
            for answer in chain.from_iterable(pool.map(sender.post, chunk) for chunk in _chunks(events, at_once)):
                update(advance=1)
                _count(None, answer, answers, reasons)
        except KeyboardInterrupt:
            sender.stop.set()
            raise
    out.print(f"{answers['kept']:,} kept, {answers['ignored']:,} ignored, {answers['refused']:,} refused")
    for reason, count in reasons.most_common(_MAX_REASONS):
        note("refused", reason if count == 1 else f"{reason} (and {count - 1:,} more like it)")
    if answers["refused"]:
        raise typer.Exit(1)


def receiver(url: str, home: Path) -> str:
    """The receiver at this address, else the local world's; ends the command where there is none."""
    url = url or local_receiver(home)
    if not url.startswith(("http://", "https://")):
        fail(f"--url must start with http:// or https://, not {url!r}", code=2)
    return url.rstrip("/")


def _events(files: list[Path]) -> Iterator[EventFound]:
    return chain.from_iterable(map(events_in, files))


def _chunks(events: Iterator[EventFound], at_once: int) -> Iterator[list[EventFound]]:
    """Enough events at a time to keep every worker busy, and no more: files may be larger than memory."""
    while chunk := list(islice(events, 25 * at_once)):
        yield chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """The receiver's answer to an event: kept, ignored or refused, and why; `status` is 0 where there was none."""

    kind: str
    status: int
    reason: str = ""


def _count(sender: "_Sender | None", answer: _Answer, answers: Counter[str], reasons: Counter[str]) -> None:
    """Count an answer. `sender` is given with the first one: where no receiver answers, the command ends."""
    if sender and answer.status == 0:
        todo = "Check --url, or start a world with `throughline up`"
        fail(f"nothing answers at {sender.url}: {answer.reason}. {todo}", code=2)
    if sender and answer.status in {401, 403, 404}:
        fail(f"{sender.url} is not a receiver, or --key is not its key: it answers {answer.status}", code=2)
    answers[answer.kind] += 1
    if answer.reason:
        reasons[answer.reason] += 1


class _Sender:
    """Posts events over kept connections until `stop` is set."""

    def __init__(self, *, url: str, key: str) -> None:
        self.url = url
        self.stop = threading.Event()
        self._headers = {"Content-Type": "application/json; charset=UTF-8", **({"x-functions-key": key} if key else {})}
        self._session = requests.Session()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, requests.adapters.HTTPAdapter(pool_maxsize=32))

    def post(self, event_found: EventFound) -> _Answer:
        """Post one event, and retry with a backoff while the receiver is busy."""
        answer = _Answer(kind="refused", status=0, reason="it was not sent")
        for attempt in range(_MAX_ATTEMPTS):
            if self.stop.wait(min(0.1 * 2**attempt, 5) if attempt else 0):
                break
            answer = self._once(event_found)
            if answer.status and answer.status not in _RETRIED:
                break
        return answer

    def _once(self, event_found: EventFound) -> _Answer:
        try:
            response = self._session.post(
                f"{self.url}/api/v1/lineage",
                data=event_found.raw,
                headers=self._headers,
                timeout=_TIMEOUT,
                allow_redirects=False,
            )
            body = response.json() if response.status_code in {200, 201} else {}
        except (requests.JSONDecodeError, RecursionError):
            body = None
        except NO_ANSWER as error:
            return _Answer(kind="refused", status=0, reason=f"no answer ({name_of(error)})")
        if not isinstance(body, dict):
            return _Answer(kind="refused", status=404, reason="the answer is no JSON object")
        if response.status_code in {200, 201}:
            kind = "ignored" if body.get("status") == "ignored" else "kept"
            return _Answer(kind=kind, status=response.status_code)
        of_event = f"{event_found.place}: " if response.status_code == HTTPStatus.BAD_REQUEST else ""
        reason = f"{of_event}{response.status_code}: {response.text[:300]}"
        return _Answer(kind="refused", status=response.status_code, reason=reason)
