"""Signatures of commands without the rooms that do their work: all that help and the check of arguments need.

To import a command's module takes most of a second of CPU. So its source is read instead, and of that only what the
signature names is run: the assignments and imports behind annotations and defaults, and the functions themselves with
bodies that import the module and call the function there. Modules of ours that a signature names are read in the same
way; a class, and whatever another package has, is imported.
"""

import ast
import importlib
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial, wraps
from importlib.machinery import SourceFileLoader
from typing import Any

_PACKAGES = ("shared.", "throughline.")
_DECORATOR = "__later__"
"""The decorator of functions whose bodies were left out."""


@cache
def signature(module: str, name: str) -> Any:
    """What `module` binds to `name`: the value itself, or of a function its signature and docstring.

    A function that is called imports its module. Raises ImportError where the module or the name does not exist.
    """
    statements, origin = _source(module) if module.startswith(_PACKAGES) else (None, "")
    if statements is None:
        return getattr(importlib.import_module(module), name)
    needed = _needed(statements, name)
    if any(isinstance(statement, ast.ClassDef) for statement in needed):
        return getattr(importlib.import_module(module), name)  # a class must not exist twice
    names = {"__name__": module, "__file__": origin, _DECORATOR: partial(_later, module)}
    for statement in needed:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            names |= {alias.asname or alias.name: signature(statement.module, alias.name) for alias in statement.names}
    bindings = [statement for statement in needed if not isinstance(statement, ast.ImportFrom)]
    exec(compile(ast.Module(bindings, []), origin, "exec"), names)  # noqa: S102 - our own source
    return names[name] if name in names else importlib.import_module(f"{module}.{name}")


def summary(module: str, name: str) -> str:
    """The first paragraph of a function's docstring, or of the `help` of an application, without loading either."""
    for statement in _source(module)[0] or ():
        match statement:
            case ast.FunctionDef(name=function) if function == name:
                return (ast.get_docstring(statement) or "").partition("\n\n")[0]
            case ast.Assign(targets=[ast.Name(id=value)], value=ast.Call(keywords=keywords)) if value == name:
                return str(next(ast.literal_eval(keyword.value) for keyword in keywords if keyword.arg == "help"))
    return ""


def _source(module: str) -> tuple[list[ast.stmt] | None, str]:
    """The statements of a module and its path; no statements where it was installed without its source."""
    spec = importlib.util.find_spec(module)
    source = spec.loader.get_source(module) if spec and isinstance(spec.loader, SourceFileLoader) else None
    return (ast.parse(source).body if source else None), (spec and spec.origin) or module


def _needed(statements: Sequence[ast.stmt], name: str) -> list[ast.stmt]:
    """The statements that bind a name, and those that they need themselves, in their order and reduced to that."""
    names, selection = {name}, dict[int, ast.stmt]()
    while True:
        additions = {
            place: _reduced(statement)
            for place, statement in enumerate(statements)
            if place not in selection and not names.isdisjoint(_bound(statement))
        }
        if not additions:
            break
        selection |= additions
        names.update(
            node.id for statement in additions.values() for node in ast.walk(statement) if isinstance(node, ast.Name)
        )
    for statement in selection.values():
        if isinstance(statement, ast.Import | ast.ImportFrom):
            statement.names = [alias for alias in statement.names if (alias.asname or alias.name) in names]
    return [statement for _, statement in sorted(selection.items())]


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, or whose values it changes by a method: `app.add("plan", plan)`."""
    match statement:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case ast.Assign(targets=targets):
            yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.ClassDef(name=name):
            yield name
        case ast.FunctionDef(name=name, decorator_list=decorators):
            yield name
            yield from (node.id for call in decorators for node in ast.walk(call) if isinstance(node, ast.Name))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            yield name


def _reduced(statement: ast.stmt) -> ast.stmt:
    """A function without what it returns and does, its docstring apart; an annotated name without its annotation."""
    if isinstance(statement, ast.FunctionDef):
        body: list[ast.stmt] = statement.body[:1] if ast.get_docstring(statement, clean=False) else [ast.Pass()]
        decorators = [*statement.decorator_list, ast.Name(_DECORATOR, ast.Load())]
        function = ast.FunctionDef(statement.name, statement.args, body, decorators)
        return ast.fix_missing_locations(ast.copy_location(function, statement))
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return ast.copy_location(ast.Assign([statement.target], statement.value), statement)
    return statement


def _later(module: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the same name in its module, which is imported when it is called."""

    @wraps(function)
    def called(*arguments: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(module), function.__name__)(*arguments, **options)

    return called
