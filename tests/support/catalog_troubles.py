"""Injected failures of a catalog, for tests and for trying out their effects.

A trouble is written `KIND` or `KIND:option=value,…`, as in `throttle:every=10,row=5,after=2`. Only counts decide which
calls it affects: the same calls meet the same failures.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any


class Does(Enum):
    """How much of an affected call is executed."""

    NOTHING = "nothing"
    HALF = "the first half of its entities"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of failure: its description, how much of the call is executed, and the `status` of the answer.

    `slow`: executed after a delay; `late`: answered after a delay; `cut`: not answered.
    """

    what: str
    does: Does = Does.NOTHING
    status: int | None = None
    slow: bool = False
    late: bool = False
    cut: bool = False


KINDS: dict[str, Kind] = {
    "throttle": Kind(what="429 with Retry-After (`after` seconds), nothing is done", status=429),
    "away": Kind(what="503, nothing is done", status=503),
    "timeout": Kind(what="408, nothing is done", status=408),
    "choke": Kind(what="500, nothing is done; with `name`: on one entity", status=500),
    "refuse": Kind(what="400, nothing is done; with `name`: of one entity", status=400),
    "slow": Kind(what="it is done `seconds` later", does=Does.ALL, slow=True),
    "lost": Kind(what="it is done, and answered `seconds` later, after the client's timeout", does=Does.ALL, late=True),
    "cut": Kind(what="it is done, and the connection ends without an answer", does=Does.ALL, cut=True),
    "half": Kind(what="half of a bulk is done, then 500", does=Does.HALF, status=500),
    "part": Kind(what="half of a bulk is done, and the answer names only that half", does=Does.HALF),
    "expire": Kind(what="the token expires: 401 until the client has the next one", status=401),
}
_ON = ("all", "reads", "writes", "bulk")


class TroubleError(ValueError):
    """The text of a trouble is not valid; the message lists what is."""


@dataclass(slots=True, kw_only=True)
class Trouble:
    """A failure and the calls that it affects: of each `every` calls, `row` in a row; `times` in all (0: no limit).

    `on` limits it to all calls, reads, writes or bulks; `name` to calls whose text contains it. `calls` and `struck`
    count the matching calls, and those that it affected.
    """

    kind: str
    every: int = 1
    row: int = 1
    times: int = 0
    on: str = "all"
    name: str = ""
    after: float = 1.0
    seconds: float = 1.0
    calls: int = 0
    struck: int = 0

    @property
    def how(self) -> Kind:
        """The kind of the failure."""
        return KINDS[self.kind]

    @classmethod
    def of(cls, text: str) -> "Trouble":
        """Read a trouble's text. Raises TroubleError."""
        kind, _, options = text.partition(":")
        if kind not in KINDS:
            raise TroubleError(f"{kind!r} is not a trouble: choose one of {', '.join(KINDS)}")
        trouble = cls(kind=kind)
        for option in filter(None, options.split(",")):
            name, _, value = option.partition("=")
            if name not in _OPTIONS:
                raise TroubleError(f"{name!r} is no option of a trouble: one of {', '.join(_OPTIONS)}")
            try:
                setattr(trouble, name, type(_OPTIONS[name])(value))
            except ValueError as error:
                raise TroubleError(f"{name}={value}: {error}") from error
        if trouble.on not in _ON:
            raise TroubleError(f"on={trouble.on}: one of {', '.join(_ON)}")
        if trouble.every < 1 or trouble.row < 1:
            raise TroubleError("every and row are numbers from 1 on")
        return trouble

    def __str__(self) -> str:
        values = {name: getattr(self, name) for name in _OPTIONS}
        options = [f"{name}={value}" for name, value in values.items() if value != _OPTIONS[name]]
        return f"{self.kind}:{','.join(options)}" if options else self.kind

    def strikes(self, *, bulk: bool, writes: bool, text: str) -> bool:
        """Count a call, if it matches; return whether the failure affects it. `text`: the whole content of the call."""
        matches = {"all": True, "reads": not writes, "writes": writes, "bulk": bulk}[self.on]
        if not matches or self.name not in text:
            return False
        place = self.calls % (self.every - 1 + self.row)
        self.calls += 1
        if place < self.every - 1 or (self.times and self.struck >= self.times):
            return False
        self.struck += 1
        return True


_OPTIONS: dict[str, Any] = {
    field.name: field.default for field in fields(Trouble) if field.name not in {"kind", "calls", "struck"}
}
"""The options of a trouble, with their defaults."""


class Troubles:
    """The troubles of a catalog, and how often each affected a call."""

    def __init__(self, troubles: Iterable[Trouble] = ()) -> None:
        self.become(troubles)

    def become(self, troubles: Iterable[Trouble]) -> None:
        """Replace all troubles (empty: no failures), and make the first token valid again."""
        self._troubles = list(troubles)
        self._expired = 0

    def token(self, first: str) -> str:
        """The token that is valid now."""
        return f"{first}.{self._expired}" if self._expired else first

    def strike(self, verb: str, *, writes: bool, text: str) -> Trouble | None:
        """Return the first trouble that affects this call, if any. `text`: the whole content of the call."""
        for trouble in self._troubles:
            if trouble.strikes(bulk=verb == "POST entity/bulk", writes=writes, text=text):
                self._expired += trouble.kind == "expire"
                return trouble
        return None

    def to_json(self) -> dict[str, Any]:
        """Return each trouble's text, with the numbers of matching and of affected calls."""
        return {"troubles": [{"trouble": str(t), "calls": t.calls, "struck": t.struck} for t in self._troubles]}
