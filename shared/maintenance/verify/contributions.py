"""Checks of contributions against the runs behind them, the references to their processes, and their contents."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from shared.maintenance.verify.checks import CheckStage, Inconsistency, RepairVerb, VerifyContext, check
from shared.maintenance.verify.repairs import (
    delete_supporter,
    is_orphan,
    process_again,
    process_supporters_again,
    publish_contribution_again,
    read_contribution,
)
from shared.records.application.process_index import RESOLVE_TOGETHER
from shared.records.digest_set import combined_digest
from shared.records.run_state import CONTENT, ContentKey, ContributionRecord, EntryKey, RunState, readable_run_state
from shared.reporting.run_outcomes import counted
from shared.storage.port import Storage
from shared.storage_layout import CONTENTS, CONTRIBUTIONS, PROCESS_REF, RUNS, STATE


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionRow:
    """A contribution: `unsupported` are runs behind it whose states, as they were read, do not list it; `lost_blob` is
    the blob of its content, where that is gone; `referenced`: whether its application run has the process's reference.
    """

    record: ContributionRecord
    unsupported: tuple[str, ...] = ()
    lost_blob: str = ""
    referenced: bool = True

    @property
    def key(self) -> ContentKey:
        """Its address."""
        return self.record.process, self.record.application_run, self.record.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmetState:
    """A run whose state lists contributions, or entries for its application, that were not read."""

    state: RunState
    contributions: tuple[ContentKey, ...]
    entries: tuple[EntryKey, ...]


def _named(key: ContentKey) -> str:
    return f"contribution of {key[1]} to process {key[0]}"


@check("lost content", RepairVerb.PROCESS)
def lost_contents(context: VerifyContext, found: ContributionRow) -> Iterator[Inconsistency]:
    """A contribution whose content is a blob that is gone."""
    if found.lost_blob and context.storage.get(CONTENTS, found.lost_blob) is None:
        description = f"its content, blob {found.lost_blob}, is gone"
        repair = partial(process_supporters_again, context, found.key)
        yield Inconsistency(subject=_named(found.key), description=description, repair=repair)


@check("orphan contribution", RepairVerb.DELETE)
def orphans(context: VerifyContext, found: ContributionRow) -> Iterator[Inconsistency]:
    """A contribution that names a run that does not support it."""
    for run_id in found.unsupported:
        if is_orphan(context.storage, run_id, found.key):
            description = f"names run {run_id}, which does not support it"
            repair = partial(delete_supporter, context, run_id, found.key)
            yield Inconsistency(subject=_named(found.key), description=description, repair=repair)


@check("lost reference", RepairVerb.PUBLISH)
def lost_references(context: VerifyContext, found: ContributionRow) -> Iterator[Inconsistency]:
    """An application run without a reference to a process that it wrote."""
    process, by, _ = found.key
    if found.referenced or not found.record.seen:
        return
    if context.storage.read(RUNS, by, f"{PROCESS_REF}{process}") is None:
        description = "its application run has no reference to the process"
        repair = partial(publish_contribution_again, context, found.key)
        yield Inconsistency(subject=_named(found.key), description=description, repair=repair)


@check("lost contribution", RepairVerb.PROCESS)
def lost_contributions(context: VerifyContext, found: UnmetState) -> Iterator[Inconsistency]:
    """A missing contribution or application row, or one that does not name its run."""
    storage, run_id = context.storage, found.state.run_id
    state = readable_run_state(storage.read(RUNS, run_id, STATE), storage)
    if state is None or not state.settled:
        return
    lost = [_named(key) for key in found.contributions if state.context_digest and _is_lost(storage, state, key)]
    for by, key in found.entries:
        if (by, key) in state.entries and storage.read(RUNS, by, key) is None:
            lost.append(f"entry {key.partition('|')[0]} for application {by}")
    repair = partial(process_again, context, run_id)
    for each in lost:
        yield Inconsistency(subject=f"run {run_id}", description=f"its {each} is gone", repair=repair)


def _is_lost(storage: Storage, state: RunState, key: ContentKey) -> bool:
    row = read_contribution(storage, key)
    if row is None or key not in state.current:
        return key in state.current
    record = ContributionRecord.without_content(row)
    supporter = record.supporters.get(state.run_id)
    return supporter.retracted if supporter else record.folded is None


def _contributions(context: VerifyContext) -> Iterator[ContributionRow]:
    survey = context.survey
    for fact in counted(context.progress, "contents", context.storage.blobs(CONTENTS)):
        survey.contents.add(combined_digest(fact.name))
    for row in counted(context.progress, "contributions", context.storage.scan(CONTRIBUTIONS)):
        application_run, _, digest = row.key.partition("|")
        if digest == RESOLVE_TOGETHER:
            continue
        record = ContributionRecord.without_content(row)
        key = (record.process, application_run, digest)
        if record.folded:
            survey.compacted.add(combined_digest(*key))
        supporters = [run for run, supporter in record.supporters.items() if not supporter.retracted]
        blob = CONTENT.blob(row)
        yield ContributionRow(
            record=record,
            unsupported=tuple(run for run in supporters if not survey.supported.meet(combined_digest(run, *key))),
            lost_blob=blob if blob and not survey.contents.meet(combined_digest(blob)) else "",
            referenced=survey.references.meet(combined_digest(application_run, record.process)),
        )


def _unmet_states(context: VerifyContext) -> Iterator[UnmetState]:
    survey = context.survey
    supported, entries = survey.supported.unmet(), survey.entries.unmet()
    rows = context.storage.scan(RUNS) if supported or entries else iter(())
    for row in counted(context.progress, "contributions of runs", rows):
        state = readable_run_state(row, context.storage) if row.key == STATE else None
        if state is None or not state.settled:
            continue
        lost = tuple(
            key
            for key in sorted(state.current)
            if combined_digest(state.run_id, *key) in supported and combined_digest(*key) not in survey.compacted
        )
        missing = tuple(entry for entry in sorted(state.entries) if combined_digest(*entry) in entries)
        if lost or missing:
            yield UnmetState(state=state, contributions=lost, entries=missing)


CONTRIBUTION_ROWS = CheckStage(read=_contributions, checks=(lost_contents, orphans, lost_references))
UNMET_STATES = CheckStage(read=_unmet_states, checks=(lost_contributions,))
