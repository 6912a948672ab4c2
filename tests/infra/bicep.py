"""The declarations and references of a Bicep file, by tree-sitter's grammar, and a check that the references resolve.

The compiler is not available everywhere; this finds its errors of symbols, modules, parameters, outputs and files.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter
import tree_sitter_bicep

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bicep.language()))
_NAMESPACES = "az sys"
_CALLS = (
    "any array base64 bool cidrSubnet coalesce concat contains deployment empty endsWith environment fail filter "
    "first flatten format guid indexOf int intersection items join json last length listKeys loadJsonContent "
    "loadTextContent map max min range reduce replace resourceGroup resourceId skip sort split startsWith string "
    "subscription subscriptionResourceId substring take tenant toLower toObject toUpper trim union uniqueString uri"
)
_DECORATORS = "allowed batchSize description export maxLength maxValue metadata minLength minValue secure"
_BUILT_IN = frozenset(f"{_NAMESPACES} {_CALLS} {_DECORATORS}".split())
_DECLARES = {
    "parameter_declaration": "params",
    "variable_declaration": "variables",
    "resource_declaration": "resources",
    "module_declaration": "modules",
    "output_declaration": "outputs",
    "type_declaration": "types",
    "user_defined_function": "functions",
}
_LOADS = frozenset({"loadTextContent", "loadJsonContent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A referenced name or loaded file, and its line."""

    line: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """The use of a module: its file and the given parameters."""

    line: int
    path: str
    given: frozenset[str]


@dataclass(slots=True, kw_only=True)
class File:
    """A parsed file.

    `params` maps each parameter to whether a value is required; `resources` has the types with their versions,
    `imports` the file of each imported name; `exports` are types and variables.
    """

    path: Path
    syntax: list[Use] = field(default_factory=list)
    params: dict[str, bool] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    resources: dict[str, str] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    outputs: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    exports: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    imports: dict[str, Use] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    loads: list[Use] = field(default_factory=list)
    outputs_used: list[tuple[str, Use]] = field(default_factory=list)
    object_keys: set[str] = field(default_factory=set)

    @property
    def symbols(self) -> set[str]:
        """All names that an expression may use."""
        return {
            *self.params,
            *self.variables,
            *self.resources,
            *self.modules,
            *self.types,
            *self.functions,
            *self.imports,
        }


def read(path: Path, source: str | None = None) -> File:
    """Parse a file, or `source` in its place."""
    text = path.read_bytes() if source is None else source.encode()
    file = File(path=path)
    root = _PARSER.parse(text).root_node
    for node in _walk(root):
        if node.type in {"ERROR", "UNEXPECTED"} or node.is_missing:
            file.syntax.append(_use(node))
    decorators = ""
    for statement in root.named_children:
        _declare(file, statement)
        if "@export()" in decorators:
            file.exports.add(_text(statement.named_children[0]))
        decorators = _text(statement) if statement.type == "decorators" else ""
        local = _local_names(statement)
        for node in _references(statement, top=True):
            if _text(node) not in local:
                file.uses.append(_use(node))
        for node in _walk(statement):
            _note_output(file, node)
            _note_load(file, node)
            if node.type == "object_property" and node.named_children:
                file.object_keys.add(_text(node.named_children[0]).strip("'"))
    return file


def problems(file: File, source_of: dict[Path, str] | None = None) -> list[str]:
    """Yield the problems of a file, one sentence each."""
    messages = [f"{use.line}: syntax error at {use.name!r}" for use in file.syntax]
    known_symbols = file.symbols | _BUILT_IN
    messages += [f"{use.line}: nothing is called {use.name}" for use in file.uses if use.name not in known_symbols]
    used_names = {use.name for use in file.uses}
    messages += [
        f"{name} is declared and not used"
        for name in sorted({*file.params, *file.variables} - used_names - file.exports)
    ]
    messages += [
        f"{use.line}: there is no file {use.name}" for use in file.loads if not (file.path.parent / use.name).is_file()
    ]
    messages += [f"{name} is imported and not used" for name in sorted(set(file.imports) - used_names)]
    for name, source in file.imports.items():
        target = file.path.parent / source.name
        if not target.is_file():
            messages.append(f"{source.line}: there is no file {source.name}")
        elif name not in read(target).exports:
            messages.append(f"{source.line}: {source.name} exports no {name}")
    modules: dict[str, File] = {}
    for name, module in file.modules.items():
        target = (file.path.parent / module.path).resolve()
        if not target.is_file():
            messages.append(f"{module.line}: there is no file {module.path}")
            continue
        modules[name] = read(target, (source_of or {}).get(target))
        parameters = modules[name].params
        messages += [
            f"{module.line}: {module.path} has no parameter {parameter}"
            for parameter in sorted(module.given - set(parameters))
        ]
        missing = {parameter for parameter, needed in parameters.items() if needed} - module.given
        messages += [f"{module.line}: {module.path} is not given {parameter}" for parameter in sorted(missing)]
    for name, use in file.outputs_used:
        if name in modules and use.name not in modules[name].outputs:
            messages.append(f"{use.line}: {file.modules[name].path} has no output {use.name}")
    return messages


def _declare(file: File, statement: tree_sitter.Node) -> None:
    if statement.type == "import_functionality":
        *names, source = statement.named_children
        file.imports.update({_text(name): Use(line=_use(source).line, name=_text(source).strip("'")) for name in names})
    kind = _DECLARES.get(statement.type)
    if kind is None:
        return
    name = _text(statement.named_children[0])
    if kind == "params":
        file.params[name] = b"=" not in [child.type.encode() for child in statement.children] and not any(
            node.type == "nullable_type" for node in _walk(statement)
        )
    elif kind == "resources":
        file.resources[name] = _text(statement.named_children[1]).strip("'")
    elif kind == "modules":
        path = _text(statement.named_children[1]).strip("'")
        parameter_names = frozenset(_keys(_property(statement, "params")))
        file.modules[name] = Module(line=statement.start_point.row + 1, path=path, given=parameter_names)
    else:
        getattr(file, kind).add(name)


def _references(node: tree_sitter.Node, *, top: bool = False) -> Iterator[tree_sitter.Node]:
    """Yield the identifiers that refer to a declaration: no keys, no user-defined types, no declared names."""
    if node.type == "import_functionality":
        return
    children = node.named_children
    if top and node.type in _DECLARES:
        children = children[1:]
    if node.type == "object_property" and children and children[0].type == "identifier":
        children = children[1:]
    if node.type == "identifier":
        yield node
    for child in children:
        yield from _references(child)


def _local_names(statement: tree_sitter.Node) -> set[str]:
    """Return the variables of loops, lambdas and functions anywhere in a statement."""
    names: set[str] = set()
    for node in _walk(statement):
        if node.type in {"loop_variable", "loop_enumerator"}:
            names.add(_text(node))
        elif node.type == "for_statement" and (start := node.child_by_field_name("initializer")):
            names.add(_text(start))
        elif node.type in {"for_statement", "parameter"} and node.named_children[0].type == "identifier":
            names.add(_text(node.named_children[0]))
        elif node.type == "lambda_expression":
            names.update(_text(child) for child in _walk(node.named_children[0]) if child.type == "identifier")
    return names


def _note_output(file: File, node: tree_sitter.Node) -> None:
    """Record a use of `module.outputs.name`, also with question marks."""
    if node.type != "member_expression" or len(node.named_children) < 2:
        return
    inner, last = node.named_children[0], node.named_children[-1]
    if inner.type == "member_expression" and _text(inner.named_children[-1]) == "outputs":
        file.outputs_used.append((_text(inner.named_children[0]), _use(last)))


def _note_load(file: File, node: tree_sitter.Node) -> None:
    if node.type == "call_expression" and _text(node.named_children[0]) in _LOADS:
        argument = node.named_children[1].named_children[0]
        file.loads.append(Use(line=node.start_point.row + 1, name=_text(argument).strip("'")))


def _property(node: tree_sitter.Node, name: str) -> tree_sitter.Node | None:
    """Return the value of a property of the outermost object."""
    body = next((child for child in _walk(node) if child.type == "object"), None)
    for each in body.named_children if body else ():
        if each.type == "object_property" and _text(each.named_children[0]) == name:
            return each.named_children[-1]
    return None


def _keys(node: tree_sitter.Node | None) -> Iterator[str]:
    for child in node.named_children if node else ():
        if child.type == "object_property":
            yield _text(child.named_children[0]).strip("'")


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _use(node: tree_sitter.Node) -> Use:
    return Use(line=node.start_point.row + 1, name=_text(node))


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode()
