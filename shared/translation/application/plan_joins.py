"""Join plans to the listener's runs of the same executions, where the plan listener did not know these runs. Pure.

Both name the same application run, and say of an execution's end the same time in milliseconds: that of Spark's event.
Where several executions of an application end at once, what they do, write and read tells them apart.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import msgspec

from shared.openlineage.operations import node_of
from shared.openlineage.run import MergedDataset, MergedRun

MAX_AT_ONCE = 24
"""Executions of an application that end at one moment: of more none is joined."""
JOINED = "its plan counts with the listener's run of the same execution"
"""The reason of a plan's run that is skipped, because the plan is joined to another run."""
_MAX_NAMES = 8
"""Names of data sets that tell executions apart."""
_NOT_SQL = frozenset({"APPLICATION", "RDD_JOB"})


class Execution(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What tells an execution of Spark from others: when it ended, its `operation`, and what it wrote and read, by the
    last parts of their names. All of these are digests, since names may contain secrets. `is_plan`: its run is of a
    plan alone, else of the listener alone. `began` orders the executions of one kind.
    """

    ended: datetime
    is_plan: bool
    began: str
    operation: str = ""
    outputs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


def execution_of(run: MergedRun) -> Execution | None:
    """The execution of a run that ended, if the plan or the listener's run of it may be missing."""
    is_alone = run.plan_execution is not None
    is_sql = run.job_type.upper() not in _NOT_SQL and run.integration.upper() in {"", "SPARK"}
    if run.ended is None or run.is_application or (run.has_plan and not is_alone) or not is_sql:
        return None
    return Execution(
        ended=run.last,
        is_plan=is_alone,
        began=f"{run.plan_execution:012}" if is_alone else run.first.isoformat(),
        operation=_digest(node_of(run.job.name, run.application.name if run.application else "")),
        outputs=_names(run.outputs),
        inputs=_names(run.inputs),
    )


def _names(datasets: Iterable[MergedDataset]) -> tuple[str, ...]:
    """The last parts of the names, as digests: of a path the folder, of a table's name the table."""
    names = (name for dataset in datasets for _, name in (dataset.key, *dataset.symlinks))
    parts = {name.strip("/").replace("/", ".").rpartition(".")[2].lower() for name in names}
    return tuple(sorted(map(_digest, parts)))[:_MAX_NAMES]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=4).hexdigest()


def joins_in(runs: Iterable[MergedRun]) -> dict[str, str]:
    """As `plan_joins`, for runs of any applications."""
    runs = tuple(runs)
    if all(run.plan_execution is None for run in runs):
        return {}
    by_application: dict[str, dict[str, Execution]] = {}
    for run in runs:
        if execution := execution_of(run):
            by_application.setdefault(run.application_run, {})[run.run_id] = execution
    return {plan: run for executions in by_application.values() for plan, run in plan_joins(executions).items()}


def plan_joins(executions: Mapping[str, Execution]) -> dict[str, str]:
    """From the run of a plan to the listener's run of the same execution. `executions`: those of one application, by
    run, in any order. A plan without a partner is left out: its run stands for itself.
    """
    at_once: dict[datetime, list[str]] = {}
    for run_id in sorted(executions, key=lambda run: (executions[run].began, run)):
        at_once.setdefault(executions[run_id].ended, []).append(run_id)
    joins: dict[str, str] = {}
    for runs in at_once.values():
        plans = [run for run in runs if executions[run].is_plan]
        if plans and len(runs) <= MAX_AT_ONCE:
            joins |= _joins(executions, plans, [run for run in runs if not executions[run].is_plan])
    return joins


def _joins(executions: Mapping[str, Execution], plans: list[str], runs: list[str]) -> dict[str, str]:
    joins: dict[str, str] = {}
    for rule in _RULES:
        for plan in tuple(plans):
            partner = next((run for run in runs if rule(executions[plan], executions[run])), None)
            if partner:
                joins[plan] = partner
                plans.remove(plan)
                runs.remove(partner)
    if len(plans) == len(runs) == 1 and not (executions[plans[0]].outputs and executions[runs[0]].outputs):
        joins[plans[0]] = runs[0]
    return joins


def _is_same(plan: Execution, run: Execution) -> bool:
    return _is_same_write(plan, run) and plan.inputs == run.inputs


def _reads_the_same(plan: Execution, run: Execution) -> bool:
    return _is_same_write(plan, run) and not set(plan.inputs).isdisjoint(run.inputs)


def _is_same_write(plan: Execution, run: Execution) -> bool:
    return plan.operation == run.operation and _writes_the_same(plan, run)


def _writes_the_same(plan: Execution, run: Execution) -> bool:
    return not set(plan.outputs).isdisjoint(run.outputs)


_RULES: tuple[Callable[[Execution, Execution], bool], ...] = (
    _is_same,
    _reads_the_same,
    _is_same_write,
    _writes_the_same,
)
"""From the strictest on: what a stricter rule joins is no partner for the others."""
