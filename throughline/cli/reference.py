"""`python -m throughline.cli.reference`: write docs/reference/cli*.md and unproven.md: commands, rules, claims."""

import inspect
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import typer.main

from throughline.cli.checks.rules import SECTIONS, as_table
from throughline.cli.main import GROUPS, app
from throughline.cli.prove.claims import page as claims_page
from throughline.project import ROOT

FOLDER = ROOT / "docs/reference"
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
  broken, but gets a line of its own above its row. In a pipe, and with `--wide`,
  which prints all columns, each row is one line. `--json` prints a document for
  programs.
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


def pages() -> Mapping[str, str]:
    """The text of each page, by its name in docs/reference."""
    root: Any = typer.main.get_command(app)
    return {
        "cli.md": "\n".join(_index(root)),
        **{_page(title): "\n".join(_group(title, root)) for title in GROUPS},
        "cli-findings.md": "\n".join(_findings()),
        "unproven.md": "\n".join(claims_page()),
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
        yield from (f"### {title}", "", as_table(rules), "")


def main() -> None:
    """Write the pages, and remove those of groups that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    page_texts = pages()
    for path in FOLDER.glob("cli*.md"):
        if path.name not in page_texts:
            path.unlink()
    for name, text in page_texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
