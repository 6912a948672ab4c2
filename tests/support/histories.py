"""Random histories of a few applications that write over one another, each the same for the same seed.

Few names, many deeds: what an application's runs report for one another and what becomes of data sets meet in every
order.
"""

import random
from dataclasses import dataclass, field
from typing import Any

from tests.support.events import event

PATHS = ("/a", "/b", "/s", "/t", "/u", "/mnt/raw/x")
TABLES = {path: f"default.{path[1:]}" for path in PATHS if path.count("/") == 1} | {"/other.db/s": "other.s"}
HOST = "adb-12.3.azuredatabricks.net"
NOTEBOOK, JOB = "spark.databricks.notebook.path", "spark.databricks.job.id"
MOUNTS = [{"mountPoint": "/mnt/raw", "source": "abfss://raw@contoso.dfs.core.windows.net/"}]
Said = dict[str, Any]


@dataclass(kw_only=True)
class _Writer:
    """Writes a history, event by event: `events` are those so far."""

    draw: random.Random
    applications: int
    longest: int
    events: list[bytes] = field(default_factory=list)
    said: list[tuple[str, Said]] = field(default_factory=list)
    """Each run with what it said, for what comes late."""
    clock: float = 0.0
    runs: int = 0

    def write_all(self) -> list[bytes]:
        deeds = (
            self.write,
            self.write,
            self.write,
            self.write,
            self.stream,
            self.fate,
            self.fate,
            self.drop,
            self.want,
            self.late,
            self.stray,
        )
        names = [f"app{number}" for number in range(self.applications)]
        for name in names:
            if self.chance(0.5):
                self.say(name, "START")
        for _ in range(self.draw.randint(2, self.longest)):
            self.draw.choice(deeds)(self.draw.choice(names))
        for name in names:
            if self.chance(0.6):
                self.say(name, self.draw.choice(("COMPLETE", "COMPLETE", "FAIL")))
        return self.events

    def chance(self, part: float) -> bool:
        return self.draw.random() < part

    def path(self) -> str:
        return self.draw.choice((*PATHS, "/s", "/t"))

    def say(self, run: str, kind: str, **said: Any) -> None:
        self.clock += self.draw.choice((0.3, 1, 20))
        minutes, seconds = divmod(self.clock, 60)
        hours, minutes = divmod(int(minutes), 60)
        self.events.append(event(run, kind, f"{10 + hours:02}:{minutes:02}:{seconds:09.6f}", **said))

    def run(self, application: str, **said: Any) -> None:
        """A run with a START or not, and with an end or not."""
        self.runs += 1
        name = f"r{self.runs}"
        said = {**self.extras(), **said, "application": application}
        if self.chance(0.5):
            self.say(name, "START", **said)
        if self.chance(0.9):
            self.say(name, "FAIL" if self.chance(0.1) else "COMPLETE", **said)
        self.said.append((name, said))

    def extras(self) -> Said:
        """What any run may report beside its data sets."""
        more: Said = {}
        if self.chance(0.4):
            more["tables"] = TABLES
        if self.chance(0.15):
            more["properties"] = self.properties()
        if self.chance(0.1):
            more["job"] = f"{HOST}.adaptive_spark_plan.out"
        return more

    def properties(self) -> Any:
        name = self.draw.choice(("one", "one", "two"))
        return self.draw.choice(({NOTEBOOK: f"/Users/{name}"}, {JOB: name}, {"mountPoints": MOUNTS}))

    def write(self, application: str) -> None:
        sink = self.path()
        sources = [self.path() for _ in range(self.draw.choice((1, 1, 2)))]
        columns = {self.draw.choice("xy"): [(path, self.draw.choice("xy")) for path in sources]}
        self.run(application, inputs=sources, outputs=[sink], columns=columns if self.chance(0.7) else None)

    def stray(self, application: str) -> None:
        """A run whose first event names another application than the others."""
        self.runs += 1
        name, path, sink = f"r{self.runs}", self.path(), self.path()
        state = {sink: ("DROP", "")} if self.chance(0.3) else {}
        for kind, by in (("START", f"app{self.draw.randrange(self.applications)}"), ("COMPLETE", application)):
            self.say(name, kind, inputs=[] if state else [path], outputs=[sink], states=state, application=by)

    def stream(self, application: str) -> None:
        """Batches side by side, and a write that names no source inside of them."""
        batches = [(f"r{self.runs + 1 + number}", [self.path()]) for number in range(self.draw.choice((1, 1, 2)))]
        self.runs += len(batches)
        for name, inputs in batches:
            if self.chance(0.6):
                self.say(name, "START", inputs=inputs, application=application, streaming=True)
        sink = self.path()
        self.run(application, inputs=[sink] if self.chance(0.5) else [], outputs=[sink])
        for name, inputs in batches:
            if self.chance(0.9):
                kind = "FAIL" if self.chance(0.1) else "COMPLETE"
                self.say(name, kind, inputs=inputs, application=application, streaming=True)
            self.said.append((name, {"inputs": inputs, "application": application, "streaming": True}))

    def fate(self, application: str) -> None:
        path = self.path()
        state = self.draw.choice(("DROP", "TRUNCATE", "RENAME", "CREATE"))
        before = self.path() if state == "RENAME" else ""
        self.run(application, outputs=[path], states={path: (state, before)})

    def drop(self, application: str) -> None:
        """By the table's name alone."""
        name = self.draw.choice(("s", "t", "default.s", "other.s", "u"))
        self.run(application, job="app.drop_table", sql=f"{self.draw.choice(('DROP', 'TRUNCATE'))} TABLE {name}")

    def want(self, application: str) -> None:
        """A statement that names one table more than the events do."""
        source, other, sink = self.draw.sample(["a", "b", "s", "t", "u"], 3)
        subquery = f"(SELECT max(r.y) FROM {other} r)"  # noqa: S608 - nobody runs it
        sql = f"INSERT INTO {sink} SELECT f.x, {subquery} AS y FROM {source} f"  # noqa: S608 - nobody runs it
        self.run(application, inputs=[f"/{source}"], outputs=[f"/{sink}"], tables=TABLES, sql=sql)

    def late(self, application: str) -> None:
        """One more event of an earlier run: it adds something, or takes it all back. What a run reports of
        its application is the same in all its events, or missing.
        """
        if not self.said:
            self.write(application)
            return
        name, said = self.draw.choice(self.said)
        adds: Said = {
            "inputs": {"inputs": [*said.get("inputs", ()), self.path()]},
            "outputs": {"outputs": [*said.get("outputs", ()), self.path()]},
            "properties": {"properties": said.get("properties") or self.properties()},
        }
        kind = self.draw.choice((*adds, "FAIL", "COMPLETE"))
        said |= adds.get(kind, {})
        self.say(name, kind if kind in {"FAIL", "COMPLETE"} else "RUNNING", **said)


def history(seed: int, *, applications: int = 3, longest: int = 9) -> list[bytes]:
    """The events of a random history, in the order of their times."""
    draw = random.Random(f"history {seed}")
    return _Writer(draw=draw, applications=draw.randint(1, applications), longest=longest).write_all()
