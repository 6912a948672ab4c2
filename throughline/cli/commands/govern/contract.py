"""`throughline contract`: data contracts, held to lineage."""

from itertools import chain
from typing import Annotated

import typer

from shared.governance.checks.checking import Annotations, Report, exit_code
from shared.naming.names import BUILT_IN
from throughline.cli.commands.govern.check import Json, Junit, Sarif, forms, show
from throughline.cli.commands.lineage.document_source import judged_lineage
from throughline.cli.context.parsed_file import parsed_file, parsed_files
from throughline.cli.context.target import HOME, Home, parts_if_any
from throughline.cli.ui.console import fail, note, tracked
from throughline.cli.ui.teaching import TeachingApp
from throughline.contracts.checking import check_contract
from throughline.contracts.data_tests import tested_data
from throughline.contracts.reading import parse_contract
from throughline.products.reading import parse_promises, promises_of

app = TeachingApp(help="Data contracts: what was promised, held to what runs have shown.")


def check(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Contracts; or data products and their contracts")],
    *,
    before: Annotated[
        str, typer.Option(metavar="FILE", help="The contract's version before: nothing of it may be taken away")
    ] = "",
    lake: Annotated[str, typer.Option(metavar="FOLDER", help="Check the lake instead of the record")] = "",
    data: Annotated[
        str, typer.Option(metavar="SERVER", help="Also test the data of this server, by the program `datacontract`")
    ] = "",
    junit: Junit = "",
    sarif: Sarif = "",
    json: Json = "",
    annotations: Annotated[
        Annotations | None, typer.Option(help="Also print annotations, which this pipeline shows beside the contract")
    ] = None,
    home: Home = HOME,
) -> None:
    """Check data contracts against lineage: columns, freshness, quality and inputs, as runs have shown them.

    Reads the Open Data Contract Standard 3.0 to 3.2, and the Open Data Product Standard 0.9 to 1.x: the contracts of a
    product's input ports are what its outputs may read. What breaks a promise names the columns that depend on it. Exit
    code 0 if all promises hold, 3 if one is broken, 4 if the result of one is not known; 1 and 2 are failures of the
    check itself. The data themselves are tested only with --data.

        throughline contract check orders.odcs.yaml
        throughline contract check product.odps.yaml contracts/*.yaml
        throughline contract check contracts/*.yaml --lake build/lake
        throughline contract check orders.odcs.yaml --before main/orders.odcs.yaml
        throughline contract check orders.odcs.yaml --data production
        throughline contract check orders.odcs.yaml --annotations github --sarif contract.sarif
    """
    wanted_forms = forms(junit, sarif, json)
    worker = parts_if_any(context, home)
    promises = promises_of(parsed_files(files, parse_promises), worker.names if worker else BUILT_IN)
    if len(promises.contracts) > 1 and (before or any(wanted_forms.values())):
        fail("--before, --junit, --sarif and --json take one contract: name one FILE", code=2)
    for sentence in promises.unused:
        note("left", sentence)
    earlier = parsed_file(before, parse_contract) if before else None
    document, facts = judged_lineage(context, home, lake)
    tests = {
        contract.place: tested_data(contract, data)
        for contract in (tracked(promises.contracts, "testing data", len(promises.contracts)) if data else ())
    }
    reports = [
        Report(
            place=contract.place,
            results=check_contract(document, contract, facts, previous=earlier, data=tests.get(contract.place)),
        )
        for contract in promises.contracts
    ]
    for report in reports:
        if not report.results:
            note(report.place, "it has no schema, so it promises nothing that lineage can judge")
        show(report, wanted_forms, annotations)
    raise typer.Exit(exit_code(tuple(chain.from_iterable(report.results for report in reports))))


app.add("check", check)
