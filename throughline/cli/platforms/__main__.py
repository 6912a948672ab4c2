"""`python -m throughline.cli.platforms`: write the tables of runtimes into the pages of the platforms."""

from throughline.cli.platforms.runtimes import table
from throughline.project import ROOT

_DOCS = ROOT / "docs/get-started"
PAGES = {name: _DOCS / f"{name}.md" for name in ("synapse", "databricks", "fabric")}
BEGIN, END = "<!-- runtimes: written by `make runtimes` -->", "<!-- end of runtimes -->"


def with_table(page: str, platform: str) -> str:
    """The page's text with the platform's table between its two marks. Raises ValueError where a mark is missing."""
    head, began, remainder = page.partition(BEGIN)
    _, end_mark, tail = remainder.partition(END)
    if not (began and end_mark):
        raise ValueError(
            f"docs/get-started/{platform}.md lacks the marks {BEGIN!r} and {END!r} around its table of runtimes"
        )
    return "\n".join((f"{head}{BEGIN}", *table(platform), f"{END}{tail}"))


if __name__ == "__main__":
    for name, path in PAGES.items():
        path.write_text(with_table(path.read_text(), name))
