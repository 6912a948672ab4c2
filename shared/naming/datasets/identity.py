"""Who a data set is, whatever it is called: its canonical identity, and what a run tells of the place it ran in."""

import msgspec


class Identity(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A data set's canonical OpenLineage identity: its folded physical location."""

    namespace: str
    name: str


class RunEnvironment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a run tells of its place, which its data sets' names leave out.

    `workspace` is the host of a Databricks workspace (`adb-….azuredatabricks.net`), `mounts` are pairs of a mount point
    and the source it stands for, as in the run facet `environment-properties`.
    """

    workspace: str = ""
    mounts: tuple[tuple[str, str], ...] = ()

    @property
    def host(self) -> str:
        """The workspace's host alone, in lower case: people write it as an address too."""
        return self.workspace.lower().removeprefix("https://").partition("/")[0]


NO_ENVIRONMENT = RunEnvironment()
"""A run that tells nothing of its place."""
