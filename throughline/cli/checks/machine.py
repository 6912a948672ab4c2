"""This machine: Python, and what the local world needs beside it."""

import sys
from collections.abc import Callable, Iterator

from throughline.cli.checks.findings import CheckResult, bad, good
from throughline.local.toolchain.java import NEEDS, JavaHome, JavaNeed, NoJavaError, find_java
from throughline.local.toolchain.node import NodeError, NodeTools, find_node

_PYTHON = (3, 11)


def check_machine(
    *,
    local: bool,
    python: tuple[int, int, int] = sys.version_info[:3],
    java_of: Callable[[JavaNeed], JavaHome] = find_java,
    node_of: Callable[[], NodeTools] = find_node,
) -> Iterator[CheckResult]:
    """Python; with `local` also Node.js and the Java of each job, which a deployment in Azure does not need here."""
    version = ".".join(map(str, python))
    yield good("python", version) if python[:2] >= _PYTHON else bad("python-old", "python", version)
    if not local:
        return
    for need in NEEDS:
        try:
            java = java_of(need)
            yield good(f"java: {need}", f"{java.version}, from {java.source}")
        except NoJavaError as error:
            yield bad("java-missing", f"java: {need}", str(error))
    try:
        yield good("node", str(node_of().node))
    except NodeError as error:
        yield bad("node-missing", "node", str(error))
