"""Random histories of a few applications that overwrite each other's data, reproducible by seed.

Few names and many actions combine the runs' facts about one another and the lifecycles of data sets in every order.
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
Fields = dict[str, Any]


@dataclass(kw_only=True)
class _Writer:
    """Writes a history event by event: `events` are the events so far."""

    draw: random.Random
    applications: int
    longest: int
    events: list[bytes] = field(default_factory=list)
    runs_so_far: list[tuple[str, Fields]] = field(default_factory=list)
    """Each run with the fields of its events, for late events."""
    clock: float = 0.0
    runs: int = 0

    def write_all(self) -> list[bytes]:
        actions = (
            self.write,
            self.write,
            self.write,
            self.write,
            self.stream,
            self.lifecycle,
            self.lifecycle,
            self.drop,
            self.want,
            self.late,
            self.stray,
        )
        names = [f"app{number}" for number in range(self.applications)]
        for name in names:
            if self.chance(0.5):
                self.emit(name, "START")
        for _ in range(self.draw.randint(2, self.longest)):
            self.draw.choice(actions)(self.draw.choice(names))
        for name in names:
            if self.chance(0.6):
                self.emit(name, self.draw.choice(("COMPLETE", "COMPLETE", "FAIL")))
        return self.events

    def chance(self, part: float) -> bool:
        return self.draw.random() < part

    def path(self) -> str:
        return self.draw.choice((*PATHS, "/s", "/t"))

    def emit(self, run: str, kind: str, **fields: Any) -> None:
        self.clock += self.draw.choice((0.3, 1, 20))
        minutes, seconds = divmod(self.clock, 60)
        hours, minutes = divmod(int(minutes), 60)
        self.events.append(event(run, kind, f"{10 + hours:02}:{minutes:02}:{seconds:09.6f}", **fields))

    def run(self, application: str, **fields: Any) -> None:
        """Add a run, with or without START and end."""
        self.runs += 1
        name = f"r{self.runs}"
        fields = {**self.extras(), **fields, "application": application}
        if self.chance(0.5):
            self.emit(name, "START", **fields)
        if self.chance(0.9):
            self.emit(name, "FAIL" if self.chance(0.1) else "COMPLETE", **fields)
        self.runs_so_far.append((name, fields))

    def extras(self) -> Fields:
        """Return fields that any run may report besides its data sets."""
        fields: Fields = {}
        if self.chance(0.4):
            fields["tables"] = TABLES
        if self.chance(0.15):
            fields["properties"] = self.properties()
        if self.chance(0.1):
            fields["job"] = f"{HOST}.adaptive_spark_plan.out"
        return fields

    def properties(self) -> Any:
        name = self.draw.choice(("one", "one", "two"))
        return self.draw.choice(({NOTEBOOK: f"/Users/{name}"}, {JOB: name}, {"mountPoints": MOUNTS}))

    def write(self, application: str) -> None:
        sink = self.path()
        sources = [self.path() for _ in range(self.draw.choice((1, 1, 2)))]
        columns = {self.draw.choice("xy"): [(path, self.draw.choice("xy")) for path in sources]}
        self.run(application, inputs=sources, outputs=[sink], columns=columns if self.chance(0.7) else None)

    def stray(self, application: str) -> None:
        """Add a run whose first event names another application than the others."""
        self.runs += 1
        name, path, sink = f"r{self.runs}", self.path(), self.path()
        state = {sink: ("DROP", "")} if self.chance(0.3) else {}
        for kind, event_application in (
            ("START", f"app{self.draw.randrange(self.applications)}"),
            ("COMPLETE", application),
        ):
            self.emit(
                name, kind, inputs=[] if state else [path], outputs=[sink], states=state, application=event_application
            )

    def stream(self, application: str) -> None:
        """Add concurrent stream batches, and a write without a source during them."""
        batches = [(f"r{self.runs + 1 + number}", [self.path()]) for number in range(self.draw.choice((1, 1, 2)))]
        self.runs += len(batches)
        for name, inputs in batches:
            if self.chance(0.6):
                self.emit(name, "START", inputs=inputs, application=application, streaming=True)
        sink = self.path()
        self.run(application, inputs=[sink] if self.chance(0.5) else [], outputs=[sink])
        for name, inputs in batches:
            if self.chance(0.9):
                kind = "FAIL" if self.chance(0.1) else "COMPLETE"
                self.emit(name, kind, inputs=inputs, application=application, streaming=True)
            self.runs_so_far.append((name, {"inputs": inputs, "application": application, "streaming": True}))

    def lifecycle(self, application: str) -> None:
        path = self.path()
        state = self.draw.choice(("DROP", "TRUNCATE", "RENAME", "CREATE"))
        previous_path = self.path() if state == "RENAME" else ""
        self.run(application, outputs=[path], states={path: (state, previous_path)})

    def drop(self, application: str) -> None:
        """Add a run that drops or truncates a table by its name only."""
        name = self.draw.choice(("s", "t", "default.s", "other.s", "u"))
        self.run(application, job="app.drop_table", sql=f"{self.draw.choice(('DROP', 'TRUNCATE'))} TABLE {name}")

    def want(self, application: str) -> None:
        """Add a run whose statement names one table more than its events."""
        source, other, sink = self.draw.sample(["a", "b", "s", "t", "u"], 3)
        subquery = f"(SELECT max(r.y) FROM {other} r)"  # noqa: S608 - nobody runs it
        sql = f"INSERT INTO {sink} SELECT f.x, {subquery} AS y FROM {source} f"  # noqa: S608 - nobody runs it
        self.run(application, inputs=[f"/{source}"], outputs=[f"/{sink}"], tables=TABLES, sql=sql)

    def late(self, application: str) -> None:
        """Add one more event of an earlier run, which adds something or retracts everything.

        A run's facts about its application are the same in all its events, or missing.
        """
        if not self.runs_so_far:
            self.write(application)
            return
        name, fields = self.draw.choice(self.runs_so_far)
        adds: Fields = {
            "inputs": {"inputs": [*fields.get("inputs", ()), self.path()]},
            "outputs": {"outputs": [*fields.get("outputs", ()), self.path()]},
            "properties": {"properties": fields.get("properties") or self.properties()},
        }
        kind = self.draw.choice((*adds, "FAIL", "COMPLETE"))
        fields |= adds.get(kind, {})
        self.emit(name, kind if kind in {"FAIL", "COMPLETE"} else "RUNNING", **fields)


def history(seed: int, *, applications: int = 3, longest: int = 9) -> list[bytes]:
    """Return the events of a random history, in the order of their times."""
    draw = random.Random(f"history {seed}")
    return _Writer(draw=draw, applications=draw.randint(1, applications), longest=longest).write_all()
