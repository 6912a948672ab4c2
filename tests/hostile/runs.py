"""Publish to a failing local catalog over real HTTP, and count the calls.

Waiting only advances a clock of the run; only unanswered calls take real time.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.atlas.entities import ProcessEntity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import CredentialToken, RateLimiter, RetryPolicy, SteadyAtlasClient
from shared.publishing.context import Published, PublishOptions, ResolutionOptions
from shared.reading.processes import recorded
from shared.records.publish_queue import read_queue
from shared.storage.memory import MemoryStorage
from shared.translation.aggregate import SupersessionPolicy
from tests.support.events import write
from tests.support.publishing import post_and_deliver, publish
from tests.support.troubled_catalog import TroubledCatalog

PROCESSES = 120
BATCH = 10
ROUNDS = 400
"""Ticks of the sweeper, a minute each: the longest backoff is six hours."""

LAKE = b'"abfss://raw@acct.dfs.core.windows.net"'
"""A namespace whose data sets are searched for, one call each; no scan includes local files."""

SCOPE = "https://catalog.example.com/.default"
EFFORT = RetryPolicy(connect=1, read=0.4, tries=3, max_pause=5)


@dataclass
class Time:
    """The clock of all parts: waiting advances it."""

    passed: float = 0.0
    began: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(days=1))

    def now(self) -> datetime:
        return self.began + timedelta(seconds=self.passed)

    def seconds(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.passed += seconds


class Renewing:
    """A credential that keeps its token, and requests another one after a number of calls."""

    def __init__(self, server: TroubledCatalog) -> None:
        self._server = server
        self._token = server.token
        self._asked = 0

    def get_token(self, *_: str) -> Any:
        self._asked += 1
        if self._asked % 3 == 0:
            self._token = self._server.good_token()

        class Token:
            token = self._token

        return Token()


@dataclass
class Run:
    """One complete publishing. `total`: all calls to the catalog; `well`: successful ones; `searches` among these."""

    published: Published
    total: int
    well: int
    held: dict[str, ProcessEntity]
    storage: MemoryStorage
    number_left: int
    minutes: float


def publish_all_against(server: TroubledCatalog, *troubles: str, search: bool = False, heal_after: int = ROUNDS) -> Run:
    """Publish everything to an empty catalog with these troubles, which end after `heal_after` rounds."""
    server.have_troubles()
    server.reset(types=True)
    server.reset_calls()
    server.have_troubles(*troubles)
    storage, clock, publish_result = MemoryStorage(), Time(), Published()
    for number in range(PROCESSES):
        bodies = write(f"r{number}", f"app{number}", "10:00", f"/in{number}", sink=f"/out{number}")
        post_and_deliver(storage, *(body.replace(b'"file"', LAKE) if search else body for body in bodies))
    options = PublishOptions(
        batch=BATCH,
        call_bound=timedelta(seconds=EFFORT.bound),
        patience=SupersessionPolicy(quiet=timedelta(days=100_000)),
        finding=ResolutionOptions(search=search),
        now=clock.now,
        seconds=clock.seconds,
    )
    rate_limiter = RateLimiter(20, clock=clock.seconds, sleep=clock.sleep)
    client = SteadyAtlasClient(
        server.endpoint,
        CredentialToken(Renewing(server), scope=SCOPE),
        retry_policy=EFFORT,
        rate_limiter=rate_limiter,
    )
    catalog = AtlasCatalog(client)
    struck: dict[str, int] = {}
    for number in range(ROUNDS):
        publish_result.add(publish(storage, catalog, options))
        if not read_queue(storage).entries:
            break
        clock.passed += 60
        if number == heal_after:
            struck = server.troubles()
            server.have_troubles()
    struck = struck or server.troubles()
    calls = server.calls()["by_outcome"]
    server.have_troubles()
    unheard = sum(count for trouble, count in struck.items() if trouble.startswith(("lost", "cut")))
    names = [process.qualified_name for process, _ in recorded(storage, options)]
    client.close()
    plain = SteadyAtlasClient(
        server.endpoint,
        CredentialToken(Renewing(server), scope=SCOPE),
        retry_policy=RetryPolicy(),
    )
    held_process_entities = {
        name: held_process.entity for name, held_process in AtlasCatalog(plain).read_processes(names).items()
    }
    plain.close()
    return Run(
        published=publish_result,
        total=sum(count for answers in calls.values() for count in answers.values()),
        well=sum(count for answers in calls.values() for code, count in answers.items() if code < "3") - unheard,
        held=held_process_entities,
        storage=storage,
        number_left=len(read_queue(storage).entries),
        minutes=clock.passed / 60,
    )


HOSTILE: dict[str, tuple[str, ...]] = {
    "a storm of 429 at every tenth call": ("throttle:every=10,row=5,after=2",),
    "a 429 at every other call": ("throttle:every=2,after=1",),
    "429 that ask for minutes": ("throttle:every=15,after=120",),
    "408": ("timeout:every=4",),
    "503 in rows": ("away:every=9,row=4",),
    "answers that are lost": ("lost:every=6,seconds=3",),
    "writes whose answers are lost, three in a row": ("lost:every=8,row=3,on=writes,seconds=3",),
    "answers that are cut off": ("cut:every=5,on=writes",),
    "too slow now and then": ("slow:every=7,seconds=1",),
    "half-applied bulks": ("half:every=3,on=bulk",),
    "bulks that are executed in part": ("part:every=3,on=bulk",),
    "500 now and then": ("choke:every=5",),
    "bulks refused for no reason": ("refuse:every=4,on=bulk",),
    "tokens that expire": ("expire:every=12",),
    "all of it": (
        "throttle:every=19,row=2,after=2",
        "timeout:every=23",
        "lost:every=29,on=writes,seconds=3",
        "half:every=13,on=bulk",
        "part:every=11,on=bulk",
        "choke:every=17",
        "expire:every=31",
    ),
}


SEARCHED = ("a storm of 429 at every tenth call", "429 that ask for minutes", "503 in rows", "all of it")
"""The troubles that are also tried with batches that take more calls than succeed in a row."""

POISONS = {"500 on one entity": ("choke:on=bulk,name=/out77",), "400 on one entity": ("refuse:on=bulk,name=/out77",)}
HEALED_AFTER = 40
"""Rounds."""
