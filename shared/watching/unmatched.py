"""Rules of the watch that match no message, most often by a misspelled name."""

from collections.abc import Collection, Iterator

from shared.lineage.document import LineageDocument
from shared.rules_file.nearest import did_you_mean
from shared.rules_file.patterns import matcher
from shared.rules_file.remark import Remark
from shared.watching.rules import RoutingRule, WatchRules


def unmatched(rules: WatchRules, document: LineageDocument, policies: Collection[str] = ()) -> tuple[Remark, ...]:
    """The rules without an effect on this lineage, in the file's order. Empty if there is no lineage yet.

    `policies`: the names of the watched policies, which can be subjects too.
    """
    if not document.datasets:
        return ()
    return tuple(_found(rules, document, policies))


def _found(rules: WatchRules, document: LineageDocument, policies: Collection[str]) -> Iterator[Remark]:
    nodes = {name for each in document.datasets for name in (each.name, each.qualified_name)}
    nodes |= {name for each in document.processes for name in (each.name, each.qualified_name)}
    owners = {owner for each in document.datasets for owner in each.owner.split(", ") if owner}
    names = {"subjects": nodes | set(policies), "downstream": nodes, "owners": owners}
    all_of_them: RoutingRule | None = None
    for rule in rules.rules:
        if all_of_them:
            text = f"the rule in line {all_of_them.line} matches every message, so none comes to this one"
            yield Remark(line=rule.line, text=text)
            continue
        if rule.matches_all:
            all_of_them = rule
        for key, known in names.items():
            patterns = getattr(rule, key)
            if patterns and not any(map(matcher(patterns), known)):
                text = f"{key} {', '.join(patterns)} match nothing in the lineage.{did_you_mean(patterns, known)}"
                yield Remark(line=rule.line, text=text.removesuffix("."))
