"""Run proofs one after the other: each claim's verdict, and what was made is taken away whatever happens."""

import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shared.errors import CatalogRefused, Retry
from throughline.cli.deploy.azure_cli import AzureCliError
from throughline.cli.deploy.progress import DeployError
from throughline.cli.prove import catalog, deployment
from throughline.cli.prove.evidence import Evidence, ProofContext, anonymous, not_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement about Azure, Purview or Spark's platforms that rests on documentation or on others' source:
    `claims.toml` has them by group, docs/reference/unproven.md shows them.

    `id` is stable: reports name it. `sentence` is what is claimed; `instead` what was done without a subscription.
    `proof` is the name of the proof that `throughline prove` runs (PROOFS); empty: people have to look.
    """

    id: str
    group: str
    sentence: str
    instead: str
    proof: str = ""


def _read(text: str) -> Iterator[Claim]:
    for group, claims in tomllib.loads(text).items():
        for name, fields in claims.items():
            sentence, instead = fields["claim"], fields["instead"]
            yield Claim(id=name, group=group, sentence=sentence, instead=instead, proof=fields.get("proof", ""))


CLAIMS = tuple(_read(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8")))
"""All claims, in the order of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A proof: by what `claims.toml` names it, and what it does to the deployment or the catalog (`effect`; empty: it
    only reads). `option`: what must be given to run it; `asks`: a question of its own is asked, because it disturbs.
    """

    name: str
    run: Callable[[ProofContext], Mapping[str, Evidence]]
    effect: str = ""
    option: str = ""
    asks: bool = False


PROOFS = (
    Proof(name="what_if", run=deployment.what_if),
    Proof(name="roles", run=deployment.roles),
    Proof(name="keys", run=deployment.keys),
    Proof(
        name="canary",
        run=catalog.canary,
        effect="sends three events of a check; the catalog has a process and two data sets for a moment",
    ),
    Proof(
        name="columns",
        run=catalog.columns,
        effect="creates and removes a data set of each type with columns",
        option="--purview",
    ),
    Proof(
        name="classification",
        run=catalog.classification,
        effect="creates and removes a data set, with a classification and a term that exist",
        option="--purview",
    ),
    Proof(name="search", run=catalog.search, option="--purview"),
    Proof(name="names", run=catalog.names, option="--purview"),
    Proof(
        name="throttling",
        run=catalog.throttling,
        effect="calls the catalog as fast as it answers, for half a minute: others wait meanwhile",
        option="--throttle",
        asks=True,
    ),
    Proof(
        name="swap",
        run=deployment.swap,
        effect="swaps the receiver's slot into production and back, while hundreds of events of checks are sent",
        asks=True,
    ),
    Proof(
        name="stopped",
        run=deployment.stopped,
        effect="stops the receiver until an alert is raised, 15 minutes at most: EVENTS SENT MEANWHILE ARE LOST",
        asks=True,
    ),
    Proof(name="clean_up", run=catalog.clean_up),
)
"""In the order in which they run: what disturbs comes last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimResult:
    """A claim with its evidence, and the seconds that its proof took."""

    claim: Claim
    evidence: Evidence
    seconds: float = 0.0


def chosen(ids: Sequence[str]) -> tuple[Proof, ...]:
    """The proofs of these claims, of all where none is named; the last one always runs. Raises LookupError."""
    claims = {claim.id: claim for claim in CLAIMS}
    if unknown := [name for name in ids if name not in claims]:
        raise LookupError(f"there is no claim {', '.join(unknown)}")
    if by_hand := [name for name in ids if not claims[name].proof]:
        raise LookupError(f"people have to look at {', '.join(by_hand)}: no proof is automatic")
    proofs = {claims[name].proof for name in ids}
    return tuple(proof for proof in PROOFS if not ids or proof.name in proofs or proof is PROOFS[-1])


def prove(
    context: ProofContext, proofs: Sequence[Proof], options: frozenset[str], agrees: Callable[[Proof], bool]
) -> Iterator[ClaimResult]:
    """Run the proofs: the result of each claim as it is known; of claims without a proof at the end.

    `options`: those that were given. `agrees` asks before a proof that disturbs. Ctrl-C ends the proof that runs, which
    puts back what it changed; those that follow are not run, but what is left is still looked for.
    """
    interrupted = False
    for proof in PROOFS:
        start, results = time.monotonic(), dict[str, Evidence]()
        reason = "it was interrupted before" if interrupted and proof is not PROOFS[-1] else ""
        reason = reason or _hindrance(proof, proofs, options, agrees)
        if not reason:
            try:
                results |= proof.run(context)
            except KeyboardInterrupt:
                interrupted, reason = True, "it was interrupted"
            except (AzureCliError, DeployError, CatalogRefused, Retry) as error:
                reason = f"{type(error).__name__}: {error}"
        seconds = round(time.monotonic() - start, 1)
        for claim in CLAIMS:
            if claim.proof == proof.name:
                evidence = results.get(claim.id) or not_run(reason or "the way to it failed")
                yield ClaimResult(claim=claim, evidence=_anonymous(evidence, context), seconds=seconds)
    for claim in CLAIMS:
        if not claim.proof:
            yield ClaimResult(claim=claim, evidence=not_run("people have to look"))


def _hindrance(proof: Proof, proofs: Sequence[Proof], options: frozenset[str], agrees: Callable[[Proof], bool]) -> str:
    """Why a proof is not run; empty: it is."""
    if proof not in proofs:
        return "it was not chosen"
    if proof.option and proof.option not in options:
        return f"it needs {proof.option}"
    return "" if not proof.asks or agrees(proof) else "it was not agreed to"


def _anonymous(evidence: Evidence, context: ProofContext) -> Evidence:
    facts = {
        name: anonymous(value, context.deployed) if isinstance(value, str) else value
        for name, value in evidence.facts.items()
    }
    return replace(evidence, reason=anonymous(" ".join(evidence.reason.split()), context.deployed), facts=facts)
