"""The claims: statements about Azure, Purview and Spark's platforms that rest on documentation or on others' source.

`claims.toml` has them by group. docs/reference/unproven.md shows them; a test holds the page to the table.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """`id` is stable: reports name it. `sentence` is what is claimed; `instead` what was done without a subscription.
    `proof` is the name of the proof that `throughline prove` runs (`proving.PROOFS`); empty: people have to look.
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

_HEAD = """\
<!-- written by `make reference`: edit throughline/cli/prove/claims.toml instead -->

# Unproven in Azure

For people who decide whether to rely on Throughline in Azure: which statements rest on documentation or other people's
source code, and what was tried instead. Throughline was built on one machine, without an Azure subscription.
[`throughline prove`](../operate/prove.md) tries the claims marked *prove* in a subscription of yours; its report is
welcome as an issue. If you prove or refute another one, please change `throughline/cli/prove/claims.toml`.

## Proved outside of Azure

The package has run on Microsoft's functions host 4.1037.0 with its Python worker 4.34.0 (Python 3.11), its blob
extension 5.3.2 and 5.3.7, and Azurite 3.35.0: four functions load, routes and keys work, identity settings serve blobs,
queues, tables and secrets, Event Grid's webhook starts the parser, and Application Insights gets the lines that the
alerts read. Some Azure packages were older than the pinned ones.
"""


def page() -> Iterator[str]:
    """The lines of docs/reference/unproven.md."""
    yield _HEAD
    for group in dict.fromkeys(claim.group for claim in CLAIMS):
        yield from (f"## {group}", "", "| id | claim | what was done instead | tried by |", "|---|---|---|---|")
        for claim in CLAIMS:
            if claim.group == group:
                way = "*prove*" if claim.proof else ""
                yield f"| `{claim.id}` | {claim.sentence} | {claim.instead} | {way} |"
        yield ""
