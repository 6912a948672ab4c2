"""Read data products of the Open Data Product Standard 0.9 to 1.x (Bitol, LF AI & Data), with their contracts.

https://bitol-io.github.io/open-data-product-standard/. A product's ports name contracts by their ids: what an output
port's contract promises is the product's, and the contracts of its inputs say what it may read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.errors import Misconfigured
from shared.naming.names import Names
from shared.rules_file import RulesSource
from shared.texts import visible
from throughline.contracts.reading import Contract, contract_of
from throughline.contracts.standard_file import PRODUCT, checked, owner_of, read_standard_file
from throughline.products.naming import with_certain_names

_VERSION = re.compile(r"v0\.9\.0|v1\.\d+\.\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port of a product. `contract`: the id of its contract; `inputs`: those of the contracts that it depends on."""

    name: str
    contract: str
    inputs: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A data product; `place` is its path, `inputs` the ids of the contracts of its input ports."""

    place: str
    name: str
    owner: str
    inputs: tuple[str, ...]
    outputs: tuple[Port, ...]


def parse_promises(text: str, place: str) -> Contract | Product:
    """Read a contract or a product. Raises Misconfigured with all mistakes, each with its line."""
    source = read_standard_file(text, place)
    return _product(source) if source.tables.get("kind") == PRODUCT else contract_of(source)


def _product(source: RulesSource) -> Product:
    version = source.tables.get("apiVersion")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise Misconfigured(
            f"{source.place}:{source.line('apiVersion')}: this is version {version!r} of kind '{PRODUCT}': versions"
            " v0.9.0 and v1.x of the Open Data Product Standard are read"
        )
    model = checked(source, _standard())
    return Product(
        place=source.place,
        name=model.name or model.id,
        owner=owner_of(model.team),
        inputs=tuple(dict.fromkeys(port.contractId for port in model.inputPorts or ())),
        outputs=tuple(_outputs(model, source)),
    )


def _standard() -> Any:
    try:
        from throughline.products.standard import DataProduct  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        raise Misconfigured("this is a data product: install `throughline[contracts]` to read it") from error
    return DataProduct


def _outputs(model: Any, source: RulesSource) -> Iterator[Port]:
    for number, port in enumerate(model.outputPorts or ()):
        yield Port(
            name=f"{port.name} {port.version}",
            contract=port.contractId or "",
            inputs=tuple(contract.id for contract in port.inputContracts or ()),
            line=source.line("outputPorts", number),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """Contracts of the data sets that are promised. `unused`: files that no output names, and why other ports promise
    nothing, as sentences for people.
    """

    contracts: tuple[Contract, ...]
    unused: tuple[str, ...] = ()


def promises_of(files: Sequence[Contract | Product], names: Names, *, server: str = "") -> Promises:
    """What these files promise: all contracts where there is no product, else those of output ports, with the product's
    owner where they have none and with what its input ports name as their inputs. `server`: as `promised_assets`.

    Raises Misconfigured with all mistakes: contracts that are not given, and ids that two files have.
    """
    products = [file for file in files if isinstance(file, Product)]
    contract_files = [with_certain_names(file, names, server=server) for file in files if isinstance(file, Contract)]
    if not products:
        return Promises(contracts=tuple(contract_files))
    contracts: dict[str, Contract] = {}
    problems: list[str] = []
    for file in contract_files:
        earlier = contracts.setdefault(file.id, file)
        problems += [f"{file.place}: the contract {file.id} is in {earlier.place} too"] if earlier is not file else []
    promised: list[Contract] = []
    unused: list[str] = []
    for product in products:
        for port in product.outputs:
            contract = contracts.get(port.contract)
            if contract:
                promised.append(_of_product(contract, product, port, contracts))
            elif port.contract:
                place = f"{product.place}:{port.line}"
                problems.append(f"{place}: {port.name} is promised by the contract {port.contract}: name its file too")
            else:
                unused.append(f"{product.place}:{port.line}: {port.name} has no contract, so it promises no data set")
        lacking = [name for name in product.inputs if name not in contracts]
        if lacking:
            unused.append(
                f"{product.place}: which inputs are declared is not known: the contracts of its input ports are not"
                f" among the files: {', '.join(lacking)}"
            )
    inputs = {name for product in products for port in product.outputs for name in (*product.inputs, *port.inputs)}
    used_contracts = {contract.id for contract in promised} | inputs
    unused += [
        f"{contract.place}: no port names it" for contract in contracts.values() if contract.id not in used_contracts
    ]
    if problems:
        raise Misconfigured("\n".join(map(visible, problems)))
    return Promises(contracts=tuple({contract.id: contract for contract in promised}.values()), unused=tuple(unused))


def _of_product(contract: Contract, product: Product, port: Port, contracts: Mapping[str, Contract]) -> Contract:
    """The contract of an output port. Its tables have the inputs that the product declares, if all are known."""
    names = port.inputs or product.inputs
    inputs = tuple(_inputs(contracts[name] for name in names)) if all(name in contracts for name in names) else ()
    tables = tuple(replace(table, inputs=tuple(dict.fromkeys((*table.inputs, *inputs)))) for table in contract.tables)
    return replace(contract, owner=contract.owner or product.owner, tables=tables)


def _inputs(contracts: Iterable[Contract]) -> Iterator[tuple[str, ...]]:
    """The data sets of these contracts, each with the names that it may have."""
    for contract in contracts:
        for table in contract.tables:
            yield (table.certain,) if table.certain else tuple(n for name in table.names for n in (name, f"*.{name}"))
