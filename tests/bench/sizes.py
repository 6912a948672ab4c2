"""How much is measured: by default enough for steady figures, with --quick only enough to show that it works."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Rounds and counts of each benchmark. Every count is fixed, so a run ends however slow the machine is."""

    decode_rounds: int = 7
    decode_bytes: int = 500_000
    """Bytes that one round reads of each family, by repeating it."""
    decode_scenarios: int | None = None
    """The first ones by name; None: all."""
    plan_rounds: int = 5
    plan_bytes: int = 23_000_000
    """The size of the largest events that users report."""
    plan_jar_blocks: int = 10
    plan_jar_writes: int = 20
    """Small writes of a block."""
    plan_jar_wide: int = 9
    """Writes of 450 columns."""
    curve_rounds: int = 3
    run_events: tuple[int, ...] = (1_000, 10_000, 100_000)
    table_columns: tuple[int, ...] = (100, 300, 1_000, 3_000, 10_000)
    """The listener itself omits column lineage above 1,000."""
    receiver_rounds: int = 5
    receiver_events: int = 60
    """Events of each client in each round; with several clients a third of it."""
    receiver_clients: tuple[int, ...] = (1, 8)
    storage_rounds: int = 7
    storage_calls: int = 60
    """Calls of each kind by each side in a round."""
    call_processes: int = 500
    import_rounds: int = 7
    start_rounds: int = 3
    start_commands: int | None = None
    """The first ones in the order of the help; None: all."""
    chain_rounds: int = 3
    chain_events: int = 300
    view_datasets: int = 10_000
    view_openings: int = 3
    """How many times the page is opened, and each text searched for."""
    view_columns: int = 9
    """Columns whose lineage is shown and expanded."""
    dbt_models: int = 5_000
    load_events: int = 20_000
    load_deadline: float = 1800.0
    """Seconds after which no more events are sent."""
    senders: int = 8
    deadline: float = 180.0
    """Seconds to wait for the end of one end-to-end round."""


DEFAULT = Sizes()
QUICK = Sizes(
    decode_rounds=3,
    decode_bytes=100_000,
    plan_rounds=2,
    plan_jar_blocks=3,
    plan_jar_writes=3,
    plan_jar_wide=2,
    curve_rounds=1,
    run_events=(100, 1_000),
    table_columns=(100, 1_000),
    receiver_rounds=2,
    receiver_events=12,
    storage_rounds=2,
    storage_calls=10,
    call_processes=50,
    import_rounds=1,
    start_rounds=1,
    chain_rounds=1,
    chain_events=30,
    view_datasets=500,
    dbt_models=100,
    load_events=200,
    deadline=60.0,
)


@dataclass(slots=True, kw_only=True)
class Steps:
    """Shows the progress of a benchmark."""

    progress: Progress
    task: TaskID = field(default=TaskID(0))

    def begin(self, description: str, total: int) -> None:
        """Begin a benchmark of `total` steps."""
        self.task = self.progress.add_task(description, total=total)

    def done(self) -> None:
        """Count a finished step."""
        self.progress.advance(self.task)

    def doing(self, description: str) -> None:
        """Show the current activity."""
        self.progress.update(self.task, description=description)


@contextmanager
def steps(console: Console) -> Iterator[Steps]:
    """Show a progress bar, and remove it at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield Steps(progress=progress)
