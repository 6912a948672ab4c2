// Analyses queries with Kusto's own language service. Standard input: {"tables": {table: {column: type}}, "queries":
// {name: text}}. Standard output: {name: {"problems": [sentence], "columns": {column: type}}}.
"use strict";
const [service] = process.argv.slice(2); // the folder of @kusto/language-service-next
require(`${service}/bridge.min.js`);
require(`${service}/Kusto.Language.Bridge.min.js`);

const { GlobalState, KustoCode, Symbols } = globalThis.Kusto.Language;
const list = (found) => globalThis.Bridge.toArray(found);

function database(tables) {
  const schema = (columns) => Object.entries(columns).map(([name, type]) => `['${name}']: ${type}`).join(", ");
  const symbols = Object.entries(tables).map(
    ([name, columns]) => Symbols.TableSymbol.From(`(${schema(columns)})`).WithName(name)
  );
  return new Symbols.DatabaseSymbol.ctor("workspace", symbols);
}

function analysed(text, globals) {
  const code = KustoCode.ParseAndAnalyze(text, globals);
  const problems = list(code.GetDiagnostics())
    .filter((each) => each.Severity !== "Suggestion")
    .map((each) => {
      const line = text.slice(0, each.Start).split("\n").length;
      return `line ${line}: ${each.Message} (${each.Code}: ${text.slice(each.Start, each.Start + each.Length)})`;
    });
  const result = code.ResultType;
  const columns = result && result.Columns ? list(result.Columns).map((each) => [each.Name, each.Type.Name]) : [];
  return { problems, columns: Object.fromEntries(columns) };
}

let input = "";
process.stdin.on("data", (part) => (input += part));
process.stdin.on("end", () => {
  const { tables, queries } = JSON.parse(input);
  const globals = GlobalState.Default.WithDatabase(database(tables));
  const found = Object.entries(queries).map(([name, text]) => [name, analysed(text, globals)]);
  process.stdout.write(JSON.stringify(Object.fromEntries(found)));
});
