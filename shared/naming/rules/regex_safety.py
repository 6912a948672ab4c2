"""Refuse users' regular expressions that could backtrack for ever on hostile names.

Python's engine backtracks: a repeat inside a repeat takes exponential time, and each further `.*` multiplies the time
by the name's length. Neither is needed to split a name.
"""

import re
from itertools import zip_longest

_MAX_WILDCARDS = 2
_PIECE = re.compile(
    r"""\\.                                   # an escape
    | \[\^?\]?(?:\\.|[^\]\\])*\]              # a class
    | \(\?P?[<'][^>=!)]*>                     # a group with a name
    | \(\?[^)]?                               # another kind of group
    | [()|]
    | \{\d*,?\d*\}                            # a repeat
    | [*+?]
    | .""",
    re.VERBOSE | re.DOTALL,
)
_REPEAT = re.compile(r"\{\d*,\d*\}|\{\d+\}")


def why_unsafe(pattern: str) -> str:
    """Why a pattern is unsafe and what to write instead; empty if it is safe."""
    repeated, wildcards = _nested_repeat(pattern)
    if repeated:
        return "a repeated group contains a repeat or an alternative: repeat a class instead, as in [^/]+"
    if wildcards > _MAX_WILDCARDS:
        return f"it has more than {_MAX_WILDCARDS} repeated dots: write [^/]+ for a part of a path"
    return ""


def _nested_repeat(pattern: str) -> tuple[bool, int]:
    """Whether a repeated group contains a repeat or an alternative, and the number of repeated dots."""
    pieces = [found[0] for found in _PIECE.finditer(pattern)]
    inside: list[bool] = [False]
    """For the whole and each open group: whether it contains a repeat or an alternative."""
    wildcards = 0
    for piece, following in zip_longest(pieces, pieces[1:], fillvalue=""):
        many = following in {"*", "+"} or bool(_REPEAT.fullmatch(following))
        if piece.startswith("("):
            inside.append(False)
        elif piece == ")" and len(inside) > 1:
            if inside.pop():
                if many:
                    return True, wildcards
                inside[-1] = True
        elif piece in {"|", "*", "+", "?"} or _REPEAT.fullmatch(piece):
            inside[-1] = True
        elif piece == "." and many:
            wildcards += 1
    return False, wildcards
