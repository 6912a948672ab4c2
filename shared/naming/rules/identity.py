"""A data set's canonical identity, and the run environment on which it may depend."""

import msgspec


class Identity(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A data set's canonical OpenLineage identity: its folded physical location."""

    namespace: str
    name: str


class RunEnvironment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a run ran, as far as names of data sets depend on it.

    `workspace`: host of a Databricks workspace (`adb-….azuredatabricks.net`). `mounts`: pairs of mount point and
    source, from the run facet `environment-properties`.
    """

    workspace: str = ""
    mounts: tuple[tuple[str, str], ...] = ()

    @property
    def host(self) -> str:
        """The workspace's host in lower case, without a scheme or path."""
        return self.workspace.lower().removeprefix("https://").partition("/")[0]


NO_ENVIRONMENT = RunEnvironment()
"""Nothing is known of the run's environment."""
