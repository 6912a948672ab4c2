"""`python -m throughline.sbom [ARCHIVE]`: write the list of libraries in a package, as CycloneDX, beside it.

It is read from the archive itself, so it lists what is deployed. The same archive gives the same bytes: its SHA-256 is
the source of the serial number, and the time is that of the archive's entries.
Format: https://cyclonedx.org/docs/1.6/json/.
"""

import argparse
import hashlib
import sys
import tomllib
import uuid
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from throughline.package import ARCHIVE, FOLDER, PACKAGES
from throughline.project import ROOT

SUFFIX = ".cdx.json"

_NAMESPACE = uuid.UUID("b2a8c9a4-5a0c-4d57-9d57-6f6d3a2b9f10")


def sbom(archive: Path) -> str:
    """Return the list of an archive's libraries as JSON. Raises OSError and zipfile.BadZipFile for no archive."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    package = Component(
        name="throughline",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref="throughline",
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
    )
    with zipfile.ZipFile(archive) as file:
        libraries = list(_libraries(file))
        time = datetime(*file.infolist()[0].date_time, tzinfo=UTC)
    bom = Bom(
        components=libraries,
        serial_number=uuid.uuid5(_NAMESPACE, digest),
        metadata=BomMetaData(component=package, timestamp=time),
    )
    bom.register_dependency(package, libraries)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _libraries(file: zipfile.ZipFile) -> Iterator[Component]:
    """Yield a component for each METADATA of an archive: https://packaging.python.org/specifications/core-metadata/."""
    for name in file.namelist():
        if not (name.startswith(PACKAGES) and name.endswith(".dist-info/METADATA")):
            continue
        metadata = HeaderParser().parsestr(file.read(name).decode())
        library, version = metadata["Name"], metadata["Version"]
        purl = PackageURL("pypi", name=library, version=version)
        licensed = metadata["License-Expression"] or metadata["License"] or ""
        short = licensed if "\n" not in licensed else ""
        yield Component(
            name=library,
            version=version,
            purl=purl,
            bom_ref=purl.to_string(),
            licenses=[LicenseFactory().make_from_string(short)] if short else (),
        )


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m throughline.sbom", description=__doc__)
    parser.add_argument("archive", nargs="?", type=Path, default=FOLDER / ARCHIVE, help="the package of `make package`")
    archive = parser.parse_args().archive
    target = archive.with_suffix(SUFFIX)
    try:
        target.write_text(sbom(archive), encoding="utf-8")
    except (OSError, zipfile.BadZipFile) as error:
        sys.stderr.write(f"error: {archive} is no package ({error}): run `make package` first\n")
        return 1
    sys.stdout.write(f"{target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
