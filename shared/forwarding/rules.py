"""Which run goes where: the targets, the rules in their order, and the file of both.

The file is TOML: parsed, or refused with every mistake in it.

    [targets.marquez]                # its address: THROUGHLINE_FORWARD_TARGETS, its token: THROUGHLINE_FORWARD_TOKENS
    kind = "marquez"

    [targets.copy]
    kind = "folder"
    mode = "raw"
    auth = "identity"

    [[rules]]                        # the first rule that matches decides; without any rule all runs go to all targets
    namespaces = ["prod*"]
    datasets = ["*sales*"]
    to = ["marquez", "copy"]
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from shared.errors import Misconfigured
from shared.rules_file import TEXT, YES_OR_NO, Key, RulesReader, list_of, matcher, one_of


class TargetKind(StrEnum):
    """What a target is."""

    OPENLINEAGE = "openlineage"
    MARQUEZ = "marquez"
    DATAHUB = "datahub"
    OPENMETADATA = "openmetadata"
    EVENTHUB = "eventhub"
    FOLDER = "folder"


class Mode(StrEnum):
    """What leaves of a run: one event with all that it did, or all its events as they came."""

    MERGED = "merged"
    RAW = "raw"


class Auth(StrEnum):
    """How a target knows us: not at all, by a fixed token, or by the identity of the app (Entra ID)."""

    NONE = "none"
    TOKEN = "token"  # noqa: S105 - the word of the file for it, no secret
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRule:
    """A target as the file describes it. Its address and its token are settings, because they may be secret.

    `scope`: for what a token of the identity is asked; empty: that of the kind. `explicit`: also send the facet
    `lineage`.
    """

    name: str
    kind: TargetKind
    mode: Mode = Mode.MERGED
    auth: Auth = Auth.NONE
    scope: str = ""
    explicit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardRule:
    """Sends the runs that match all of its keys `to` its targets. A key that is empty matches every run.

    `namespaces` and `jobs` are patterns of the job's namespace and name, `datasets` of the name or qualified name of an
    input or output.
    """

    namespaces: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    to: tuple[str, ...] = ()

    def matches(self, namespace: str, job: str, datasets: Iterable[str]) -> bool:
        """Whether the rule matches a run by its job and data sets."""
        return (
            matcher(self.namespaces)(namespace)
            and matcher(self.jobs)(job)
            and (not self.datasets or any(map(matcher(self.datasets), datasets)))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardRules:
    """The targets, and the rules in their order."""

    targets: tuple[TargetRule, ...] = ()
    rules: tuple[ForwardRule, ...] = ()

    def targets_for(self, namespace: str, job: str, datasets: tuple[str, ...]) -> tuple[str, ...]:
        """The targets of the first rule that matches; all targets where there are no rules."""
        if not self.rules:
            return tuple(target.name for target in self.targets)
        return next((rule.to for rule in self.rules if rule.matches(namespace, job, datasets)), ())


MAX_TARGETS = 20
MAX_RULES = 500
_PATTERNS = list_of(TEXT, "a list of texts")
_TARGET_KEYS = {
    "kind": Key(kind=one_of(TargetKind), meaning=one_of(TargetKind).words, needed=True),
    "mode": Key(kind=one_of(Mode), meaning="one event for a run, or its events as they came"),
    "auth": Key(kind=one_of(Auth), meaning="how the target knows us"),
    "scope": Key(kind=TEXT, meaning="for what a token of the identity is asked, such as api://CLIENT-ID/.default"),
    "explicit": Key(kind=YES_OR_NO, meaning="also send the facet lineage, which says what feeds which output"),
}
_RULE_KEYS = {
    "namespaces": Key(kind=_PATTERNS, meaning="patterns of the job's namespace"),
    "jobs": Key(kind=_PATTERNS, meaning="patterns of the job's name"),
    "datasets": Key(kind=_PATTERNS, meaning="patterns of an input or output"),
    "to": Key(kind=_PATTERNS, meaning="a list of targets, [] for runs that go nowhere", needed=True),
}
_OF_AZURE = frozenset({TargetKind.EVENTHUB, TargetKind.FOLDER})
"""Kinds that have a scope of their own."""


def parse_forward_rules(text: str, place: str) -> ForwardRules:
    """The targets and rules in a file's text; `place` is its path, for messages. Raises Misconfigured with all its
    mistakes.
    """
    reader = RulesReader(text, place)
    reader.only({"targets", "rules"})
    targets = reader.receivers(_TARGET_KEYS, "target", limit=MAX_TARGETS)
    rules = reader.routes(_RULE_KEYS, "target", targets, limit=MAX_RULES)
    if not targets:
        reader.wrong("there is no target: write [targets.NAME] with its kind", "targets")
    for entry in targets.values():
        values = entry.values
        by_identity = values.get("auth") is Auth.IDENTITY
        if by_identity and not values.get("scope") and values.get("kind") not in {*_OF_AZURE, None}:
            reader.wrong("auth identity needs scope, such as api://CLIENT-ID/.default", *entry.at, "auth")
        if values.get("scope") and not by_identity:
            reader.wrong('scope is for auth = "identity"', *entry.at, "scope")
        if values.get("explicit") and values.get("mode") is Mode.RAW:
            reader.wrong('explicit is for mode = "merged": raw events leave as they came', *entry.at, "explicit")
    reader.finish()
    return ForwardRules(
        targets=tuple(TargetRule(name=name, **entry.values) for name, entry in targets.items()),
        rules=tuple(ForwardRule(**{**entry.values, "to": tuple(dict.fromkeys(entry.values["to"]))}) for entry in rules),
    )


def check_targets(
    rules: ForwardRules, addresses: Mapping[str, str], tokens: Mapping[str, str], own_hosts: Collection[str]
) -> None:
    """Raise Misconfigured, with all mistakes, where a target lacks its address or its token, or is our own receiver:
    what it is sent would be sent again, and again. `own_hosts`: where that is, as far as it is known.
    """
    homeless = [target.name for target in rules.targets if target.name not in addresses]
    tokenless = [target.name for target in rules.targets if target.auth is Auth.TOKEN and target.name not in tokens]
    own_receivers = [target.name for target in rules.targets if _host(addresses.get(target.name, "")) in own_hosts]
    mistakes = []
    if homeless:
        examples = " ".join(f"{name}=https://…" for name in homeless)
        mistakes.append(f"{', '.join(homeless)} have no address: set THROUGHLINE_FORWARD_TARGETS to {examples}")
    if tokenless:
        examples = " ".join(f"{name}=TOKEN" for name in tokenless)
        mistakes.append(f"{', '.join(tokenless)} have no token: set THROUGHLINE_FORWARD_TOKENS to {examples}")
    if own_receivers:
        mistakes.append(
            f"{', '.join(own_receivers)} is our own receiver: name another address in THROUGHLINE_FORWARD_TARGETS"
        )
    if mistakes:
        raise Misconfigured(
            "The targets of forwarding are not complete:\n" + "\n".join(f"  - {mistake}" for mistake in mistakes)
        )


def _host(address: str) -> str:
    return urlsplit(address).netloc.rpartition("@")[2].lower()
