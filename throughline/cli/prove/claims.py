"""The claims: statements about Azure, Purview and Spark's platforms that rest on documentation or on others' source.

`claims.toml` has them by group; docs/reference/unproven.md shows them.
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
