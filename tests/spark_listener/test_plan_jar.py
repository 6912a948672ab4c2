"""The plan listener's jar: the same bytes from the same files, in Java 8's format."""

import struct
import zipfile
from pathlib import Path

from throughline.plan_jar import plan_jar

JAVA_8 = 52  # the major version of its class files (JVMS, table 4.1-A)


def test_two_builds_are_equal(tmp_path: Path) -> None:
    assert plan_jar(build=tmp_path).read_bytes() == plan_jar().read_bytes()


def test_every_class_runs_on_java_8() -> None:
    with zipfile.ZipFile(plan_jar()) as jar:
        classes = [jar.read(name) for name in jar.namelist() if name.endswith(".class")]
    assert classes
    assert {struct.unpack(">IHH", content[:8])[2] for content in classes} == {JAVA_8}
