"""Regular expressions of users, judged before they meet what anybody sends.

Python's engine tries every way to match: a repeat inside a repeat takes time that doubles with each character, and each
further `.*` multiplies it by the name's length. Neither is needed to tell the parts of a name apart.
"""

import re

_MOST_WILDCARDS = 2
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
    """Why a pattern might take for ever, and what to write instead; an empty text when it will not."""
    repeated, wildcards = _nested_repeat(pattern)
    if repeated:
        return "a group that is repeated holds a repeat or a choice: repeat a class instead, as in [^/]+"
    if wildcards > _MOST_WILDCARDS:
        return f"it holds more than {_MOST_WILDCARDS} repeats of a point: write [^/]+ for a part of a path"
    return ""


def _nested_repeat(pattern: str) -> tuple[bool, int]:
    """Whether a repeated group holds a repeat or a choice, and how many repeats of a point there are."""
    pieces = [found[0] for found in _PIECE.finditer(pattern)]
    inside: list[bool] = [False]
    """For each group that is open, whether it holds a repeat or a choice; the first is the whole."""
    wildcards = 0
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
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
