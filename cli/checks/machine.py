"""This machine: Python, and what the local world needs beside it."""

import sys
from collections.abc import Callable, Iterator

from cli.checks.findings import Finding, bad, good
from local.toolchain.java import JavaHome, NoJavaError, find_java
from local.toolchain.node import NodeError, NodeTools, find_node

_PYTHON = (3, 11)


def check_machine(
    *,
    local: bool,
    python: tuple[int, int, int] = sys.version_info[:3],
    java_of: Callable[[], JavaHome] = find_java,
    node_of: Callable[[], NodeTools] = find_node,
) -> Iterator[Finding]:
    """Python; with `local` also Java and Node.js, which a deployment in Azure does not need here."""
    version = ".".join(map(str, python))
    yield good("python", version) if python[:2] >= _PYTHON else bad("python-old", "python", version)
    if not local:
        return
    try:
        java = java_of()
        yield good("java", f"{java.version}, from {java.source}")
    except NoJavaError as error:
        yield bad("java-missing", "java", str(error))
    try:
        yield good("node", str(node_of().node))
    except NodeError as error:
        yield bad("node-missing", "node", str(error))
