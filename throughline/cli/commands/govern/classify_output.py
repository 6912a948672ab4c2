"""What `throughline classify` prints."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from shared.classifying.attached import Mark
from shared.classifying.planning import ClassificationPlan
from shared.governance.propagation import TagExplanation, TagState, remarks
from shared.governance.rules import Rules, Term
from shared.lineage.document import Edge, LineageDocument
from throughline.cli.ui.console import listed, note, out, plain


def _counts(document: LineageDocument, classification_plan: ClassificationPlan) -> dict[str, dict[str, int]]:
    """By classification: the numbers of columns that are tagged, clean, and not known."""
    columns = [number for number, column in enumerate(document.columns) if column.name]
    counts = {
        name: Counter(map(tag_propagation.state, columns))
        for name, tag_propagation in classification_plan.propagations.items()
    }
    return {
        name: {state.value: counts_by_state[state] for state in TagState}
        for name, counts_by_state in sorted(counts.items())
    }


def show(
    document: LineageDocument,
    rules: Rules,
    classification_plan: ClassificationPlan,
    *,
    most: int,
    verbs: tuple[str, str] = ("to attach", "to take away"),
) -> None:
    """Print a plan, at most so many marks of each kind (0: all), and the rules without an effect."""
    for name, counts in _counts(document, classification_plan).items():
        text = ", ".join(f"{number:,} {state}" for state, number in counts.items())
        out.print(f"[bold]{plain(name)}[/]: {text}")
    signs = {"[green]+[/]": tuple(classification_plan.attach), "[red]-[/]": classification_plan.detach}
    for sign, marks in signs.items():
        lines = (f"{sign} [bold]{plain(mark.name)}[/] {plain(mark.qualified_name)}" for mark in marks)
        listed(lines, most, "--wide")
    out.print(f"{len(classification_plan.attach):,} {verbs[0]}, {len(classification_plan.detach):,} {verbs[1]}")
    reasons = {
        "on scanned assets, which are left alone: --onto-scanned includes them": classification_plan.scanned,
        "attached by others already": classification_plan.others,
        "attached by another rules file already": classification_plan.joined,
        "no longer given by this rules file, but by another": classification_plan.left,
        "kept, since it is not known whether the value still arrives": classification_plan.kept,
        "on columns or data sets that the catalog does not have": classification_plan.absent,
    }
    for reason, marks in reasons.items():
        if marks:
            note("left", f"{len(marks):,} {reason}")
    for remark in remarks(document, rules, today=datetime.now(UTC).date(), catalog=classification_plan.tags):
        note("unused", f"{rules.place}:{remark.line}: {remark.text}")


_LISTS = ("attach", "detach", "joined", "left", "scanned", "others", "kept", "absent")


def plan_as_json(document: LineageDocument, classification_plan: ClassificationPlan) -> dict[str, object]:
    """A plan as `--json` has it."""

    def documents(marks: Iterable[Mark]) -> list[dict[str, str]]:
        return [{str(mark.kind): mark.name, "type": mark.type, "qualified_name": mark.qualified_name} for mark in marks]

    return {
        "classifications": _counts(document, classification_plan),
        **{name: documents(getattr(classification_plan, name)) for name in _LISTS},
    }


def reason(explanation: TagExplanation) -> str:
    """The reason of a state, in one sentence."""
    if explanation.declassified:
        approval = explanation.declassified.approval
        return f"Declassified by {approval.author} until {approval.expires}: {approval.reason}"
    begins = f"It begins by the rule in line {explanation.origin.line}" if explanation.origin else ""
    if explanation.state is TagState.TAGGED:
        return begins
    if explanation.state is TagState.UNKNOWN and begins:
        return f"{begins}, and may arrive or not: on the way is code that Spark's plan does not show"
    if explanation.state is TagState.UNKNOWN:
        return "The source of a value on the way is not known"
    return f"{begins}, and a mask stops it" if explanation.stopped_at else "No value of a column that has it arrives"


def reason_of_term(rule: Term) -> str:
    """The reason why a column has a term, in one sentence."""
    subject = "its data set" if rule.of_datasets else "it"
    return f"The rule in line {rule.line} gives {subject} the term"


def step(document: LineageDocument, edge: Edge) -> str:
    """An edge in a line: both columns, what happens, and the process."""
    ends = (document.columns[edge.input], document.columns[edge.output])
    source_name, other = (f"{document.datasets[end.dataset].name}.{end.name}" for end in ends)
    edge_text = f"{edge.kind.value}: {edge.description}" if edge.description else edge.kind.value
    return f"{source_name} → {other} ({edge_text}; {document.processes[edge.process].name})"


def explanation_as_json(document: LineageDocument, explanation: TagExplanation) -> dict[str, object]:
    """An explanation as `--json` has it."""
    return {
        "classification": explanation.classification,
        "state": explanation.state.value,
        "reason": reason(explanation),
        "way": [{"step": step(document, edge), "stops": edge is explanation.stopped_at} for edge in explanation.way],
    }
