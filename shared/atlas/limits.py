"""What Purview documents as its limits, and texts that keep within them: nothing beyond one is ever sent.

A name 4 KB, a property 32 KB, an asset 2 MB (Microsoft's page on the catalog's limits). Bytes are those of UTF-8.
"""

from shared.naming.rules.rule import bounded

LONGEST_NAME = 4 * 1024
"""Atlas takes longer ones, and minutes for each."""
LONGEST_PROPERTY = 32 * 1024
LARGEST_ASSET = 2 * 1024 * 1024

_ENDING = "…"


def name_within(name: str) -> str:
    """A name, cut with a digest of the whole at its end where it is too long, so that it stays the only one."""
    return bounded(name, LONGEST_NAME, most_bytes=LONGEST_NAME)


def text_within(text: str, most: int = LONGEST_PROPERTY) -> str:
    """A text for people, cut at its end where it is too long."""
    if len(text.encode(errors="surrogatepass")) <= most:
        return text
    kept = text.encode(errors="surrogatepass")[: most - len(_ENDING.encode())]
    return kept.decode(errors="ignore") + _ENDING


def references_within(keys: list[tuple[str, str]], left: int) -> list[tuple[str, str]]:
    """As many of these assets as a process can refer to with so many bytes left: as a server keeps a reference, with
    its type, its name and what stands around them.
    """
    for number, (kind, name) in enumerate(keys):
        left -= len(kind) + len(name.encode(errors="surrogatepass")) + _AROUND
        if left < 0:
            return keys[:number]
    return keys


_AROUND = 200
"""Bytes of guid, keys and signs of one reference."""
