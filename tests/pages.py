"""`python -m tests.pages`: write docs/reference/cli*.md and unproven.md, with commands, doctor's rules and claims, and
the tables of runtimes in docs/get-started.
"""

import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import typer.main

from throughline.cli.checks.findings import SECTIONS, DoctorRule
from throughline.cli.main import GROUPS, app
from throughline.cli.platforms.runtimes import runtimes_of
from throughline.cli.prove.proving import CLAIMS
from throughline.project import ROOT

FOLDER = ROOT / "docs/reference"
PLATFORM_PAGES = {name: ROOT / f"docs/get-started/{name}.md" for name in ("synapse", "databricks", "fabric")}
BEGIN, END = "<!-- runtimes: written by `make runtimes` -->", "<!-- end of runtimes -->"
_WIDTH = 80
_MADE = "<!-- written by `make reference`: edit throughline/cli/ instead -->"

_INDEX = """\
Every command explains itself: `throughline COMMAND --help`. These pages show
the same.

- **Which Throughline.** Commands talk to the one that the environment names
  ([settings](settings.md)), else to the local world that `throughline up` runs,
  in the folder of `--home`.
- **Exit codes.** 0 success; 1 a failure, damage that was found, or a name or id
  that nothing on record has, or several have; 2 arguments, files or settings
  that cannot be used; 3 a plan with changes to make, a broken policy, or
  something that `doctor` could not check; 4 a policy that is not known; 130
  after Ctrl-C.
- **Output.** Results go to standard output, progress and errors to standard
  error. At a terminal of 80 columns tables fold text; a long name is never
  broken, but gets a line of its own above its row. In a pipe each row is one
  line, as with `--wide`, which prints all columns. `--json` prints a document
  for programs.
"""

_FINDINGS = """\
# What doctor finds

`throughline doctor` checks the parts of a Throughline; with `--group GROUP` also a deployment in Azure, by read-only
calls of `az`. Each failure has a stable code, which `--json` prints as well, and one command. Doctor prints commands
ready to type; here, capitals stand for what it fills in. `--template` deploys `infra/main.bicep` again with all the
parameters of the last good deployment, so it sets what is missing and changes nothing else. Azure's answers were read
in its documentation and played in tests ([unproven.md](unproven.md)).

Four symptoms that are often met first elsewhere:

- **`Host.Startup[515]`** in the worker's log: the host did not start, and neither parser nor sweeper run:
  [`host-role`, `host-network` or `host-error`](#the-host).
- **503 at `/`** of an app: the same, seen from outside: [`root-503`](#the-host). The receiver's own 503, at
  `/api/v1/lineage`, is another: [`receiver-storage`](#the-receiver).
- **A worker that starts again every half minute**: it cannot reach its storage,
  [`host-restarts`](#the-host); findings about [roles and networks](#the-deployment) name the cause.
- **Messages that pile up**: the [`poison-queue`](#delivery-of-events).
"""

_CLAIMS = """\
<!-- written by `make reference`: edit throughline/cli/prove/claims.toml instead -->

# Unproven in Azure

For people who decide whether to rely on Throughline in Azure: which statements rest on documentation or other people's
source code, and what was tried instead. Throughline was built on one machine, without an Azure subscription.
[`throughline prove`](../operate/prove.md) tries the claims marked *prove* in a subscription of yours; its report is
welcome as an issue. If you prove or refute another one, please change `throughline/cli/prove/claims.toml`.

## Proved outside of Azure

The package has run on Microsoft's functions host 4.1037.0 with its Python worker 4.34.0 (Python 3.11), its blob
extension 5.3.2 and 5.3.7, and Azurite 3.35.0: four functions load, routes and keys work, identity settings serve blobs,
queues, tables and secrets, Event Grid's webhook starts the parser, and Application Insights gets the lines that the
alerts read. Some Azure packages were older than the pinned ones.
"""


def pages() -> Mapping[str, str]:
    """The text of each page, by its name in docs/reference."""
    root: Any = typer.main.get_command(app)
    return {
        "cli.md": "\n".join(_index(root)),
        **{_page(title): "\n".join(_group(title, root)) for title in GROUPS},
        "cli-findings.md": "\n".join(_findings()),
        "unproven.md": "\n".join(_claims()),
    }


def _page(title: str) -> str:
    return f"cli-{title.lower().replace(' ', '-')}.md"


def _index(root: Any) -> Iterator[str]:
    yield from (_MADE, "", "# Command line", "", _INDEX)
    for title, names in GROUPS.items():
        yield from (f"## [{title}]({_page(title)})", "")
        for name in names:
            yield from _item(f"[`throughline {name}`]({_page(title)}#throughline-{name})", _paragraphs(root, name)[0])
        yield ""
    yield from _item("[What doctor finds](cli-findings.md)", "every finding with its meaning and its command.")
    yield ""


def _paragraphs(root: Any, name: str) -> list[str]:
    return [paragraph.replace("\n", " ") for paragraph in inspect.cleandoc(root.commands[name].help).split("\n\n")]


def _group(title: str, root: Any) -> Iterator[str]:
    yield from (_MADE, "", f"# {title}", "")
    for name in GROUPS[title]:
        yield from _command(f"throughline {name}", root.commands[name])


def _command(name: str, command: Any) -> Iterator[str]:
    yield from (f"## {name}", "")
    for paragraph in inspect.cleandoc(command.help).split("\n\n"):
        yield from (
            ("```", paragraph.removeprefix("\b\n"), "```") if paragraph.startswith("\b") else _wrapped(paragraph)
        )
        yield ""
    context = typer.Context(command)
    for parameter in command.params:
        if "--help" not in parameter.opts:
            yield from _item(*_parameter(parameter, context))
    if command.params[1:]:
        yield ""
    for sub, subcommand in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {sub}", subcommand)


def _parameter(parameter: Any, context: typer.Context) -> tuple[str, str]:
    """The name of an option or argument as it is typed, and what its help says of it."""
    flag = getattr(parameter, "is_flag", False)
    if parameter.param_type_name == "argument":
        typed = parameter.metavar or parameter.name.upper()
        name = f"`{typed}{'...' if parameter.nargs == -1 else ''}`"
    else:
        value = "" if flag else f" {parameter.metavar or parameter.display_type(context).strip('<>').upper()}"
        name = ", ".join(f"`{opt}{value}`" for opt in (*parameter.opts, *parameter.secondary_opts))
    facts = [f"{parameter.help or ''}."]
    default = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default
    if parameter.required and parameter.param_type_name == "option":
        facts.append("Required.")
    elif default not in (None, "", False, True) and not callable(default):
        facts.append(f"Default: `{getattr(default, 'value', default)}`.")
    if parameter.envvar:
        facts.append(f"Environment: `{parameter.envvar}`.")
    return name, " ".join(facts)


def _item(name: str, text: str) -> list[str]:
    return _wrapped(f"- {name}: {text}", "  ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _findings() -> Iterator[str]:
    yield from (_MADE, "", _FINDINGS)
    for title, rules in SECTIONS.items():
        yield from (f"### {title}", "", _rules(rules), "")


def _rules(rules: Iterable[DoctorRule]) -> str:
    rows = [f"| `{rule.code}` | {rule.symptom} | {rule.means} | `{rule.shown}` |" for rule in rules]
    return "\n".join(["| code | what you see | what it means | command |", "|---|---|---|---|", *rows])


def _claims() -> Iterator[str]:
    yield _CLAIMS
    for group in dict.fromkeys(claim.group for claim in CLAIMS):
        yield from (f"## {group}", "", "| id | claim | what was done instead | tried by |", "|---|---|---|---|")
        for claim in CLAIMS:
            if claim.group == group:
                way = "*prove*" if claim.proof else ""
                yield f"| `{claim.id}` | {claim.sentence} | {claim.instead} | {way} |"
        yield ""


def with_table(page: str, platform: str) -> str:
    """The page's text with the platform's table between its two marks. Raises ValueError where a mark is missing."""
    head, began, remainder = page.partition(BEGIN)
    _, end_mark, tail = remainder.partition(END)
    if not (began and end_mark):
        raise ValueError(
            f"docs/get-started/{platform}.md lacks the marks {BEGIN!r} and {END!r} around its table of runtimes"
        )
    return "\n".join((f"{head}{BEGIN}", *_runtimes(platform), f"{END}{tail}"))


def _runtimes(platform: str) -> Iterator[str]:
    yield "| `--runtime` | Spark | Scala, and so the jar's | supported until | the listener there |"
    yield "|---|---|---|---|---|"
    for runtime in runtimes_of(platform):
        name = f"`{runtime.name}`" + (" (default)" if runtime.is_default else "")
        ends = f"[{runtime.ends or 'no day named'}]({runtime.source})"
        yield f"| {name} | {runtime.spark} | {runtime.scala} | {ends} | {f'{runtime.proof}. {runtime.note}'.strip()} |"


def main() -> None:
    """Write the pages, and remove those of groups that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    page_texts = pages()
    for path in FOLDER.glob("cli*.md"):
        if path.name not in page_texts:
            path.unlink()
    for name, text in page_texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for name, path in PLATFORM_PAGES.items():
        path.write_text(with_table(path.read_text(encoding="utf-8"), name), encoding="utf-8")


if __name__ == "__main__":
    main()
