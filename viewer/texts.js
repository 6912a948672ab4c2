// Every English text of the page.

/** @type {Record<string, string>} */
export const KIND_WORDS = {
  identity: "copy",
  transformation: "transformation",
  aggregation: "aggregation",
  mask: "mask",
  opaque: "opaque",
  catalog: "from the catalog",
  condition: "condition",
};

/** @type {Record<string, string>} */
export const KIND_MEANINGS = {
  identity: "the value arrives as it is",
  transformation: "an expression makes another value of it",
  aggregation: "values of several rows become one",
  mask: "only a hash or the like of the value arrives",
  opaque: "an upper bound: the value may arrive or not, through code that Spark's plan does not show",
  catalog: "another program told the catalog so, without how",
  condition: "the value decides which rows are written",
};

/** @type {Record<string, string>} */
export const HEALTH_WORDS = {
  failed: "last run failed",
  overdue: "overdue",
  unended: "no end seen",
};

/** What a type of the catalog is to people; other types lose their underscores. @type {Record<string, string>} */
const TYPE_WORDS = {
  azure_blob_path: "folder of Blob Storage", azure_blob_container: "container of Blob Storage",
  azure_blob_resource_set: "files of Blob Storage", azure_datalake_gen1_path: "folder of Data Lake Gen1",
  azure_datalake_gen1_resource_set: "files of Data Lake Gen1", azure_datalake_gen2_path: "folder of Data Lake Gen2",
  azure_datalake_gen2_resource_set: "files of Data Lake Gen2", DataSet: "data set", fs_path: "local folder", hdfs_path: "folder of HDFS",
  mssql_table: "table of SQL Server", throughline_excluded: "left out by filters",
};

/** How the types of other programs begin. @type {Record<string, string>} */
const PROGRAMS = { adf: "Data Factory", azure_sql: "Azure SQL", powerbi: "Power BI" };

/** @param {string} type */
export function typeWord(type) {
  const program = Object.keys(PROGRAMS).find((start) => type.startsWith(`${start}_`)) ?? "";
  return TYPE_WORDS[type] ?? `${PROGRAMS[program] ?? ""}${type.slice(program.length)}`.replaceAll("_", " ");
}

/** How many rows the last run wrote, if the document has it. @param {{rows?: number}} dataset */
export function rowsOf({ rows }) {
  return rows === undefined ? "" : `${rows.toLocaleString("en")} ${TEXTS.rows}`;
}

/** A time in UTC, to the minute. @param {number} milliseconds */
export function moment(milliseconds) {
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A time as the address has it. @param {number} milliseconds */
export function timeInAddress(milliseconds) {
  return new Date(milliseconds).toISOString().replace(".000Z", "Z");
}

export const TEXTS = {
  tooOld: "This browser is too old for the page: it cannot decompress data. Use a browser of 2023 or later.",
  unreadable: "The page's data cannot be read: the file is incomplete. Make it again with the command throughline view --html.",
  allRows: "all rows",
  noResult: "Nothing has a name like this.",
  unknownAsset: "The lineage has no data set with this name:",
  unknownColumn: "This data set has no column with this name:",
  noTime: "This is not a time, so now is shown:",
  noHistory: "This lineage has no history, so now is shown: the page of a lake has one (throughline view --lake FOLDER).",
  start: "Search for a table or a column (press /), or choose one of the data sets.",
  more: "more",
  notShown: "not shown",
  written: "written",
  away: "away",
  processes: "processes make it",
  estate: "All data",
  now: "now",
  noCompare: "nothing",
  upstream: "Made of",
  downstream: "Used by",
  nothingUpstream: "No sources are known.",
  nothingDownstream: "Nothing reads it.",
  unresolved: "Sources not known",
  unknownSource: "No source is known for this column",
  constant: "A constant: no column is its source",
  placeholder: "not in the catalog's scans",
  copied: "Copied.",
  copy: "Copy",
  save: "Save as CSV",
  close: "Close",
  star: "Add to favourites",
  unstar: "Remove from favourites",
  favourites: "Favourites",
  recent: "Chosen last",
  process: "Process",
  dataset: "Data set",
  column: "Column",
  operations: "Operations",
  job: "Job",
  workspace: "Workspace",
  open: "Open in the platform",
  lastRun: "Last run",
  firstSeen: "First seen",
  seenLast: "Last seen",
  health: "State",
  exact: "Columns",
  isExact: "exact: Spark's own plan gave them",
  isBound: "from Spark's own plan: the opaque ones are an upper bound",
  isNotExact: "from the listener's events: some may be missing",
  masks: "Masks",
  bounds: "Opaque: code that Spark's plan does not show may pass these on",
  constants: "Constants",
  conditionsOf: "Conditions",
  rowsDependOn: "filter or join columns decide its rows:",
  expressions: "Expressions",
  onlyFailed: "failed",
  onlyLate: "overdue or without an end",
  onlyUnknown: "with a column of unknown source",
  onlyMasked: "with a masked column",
  onlyTagged: "with tags",
  onlyThose: "Only those",
  newest: "newest first",
  mostRead: "most read first",
  byName: "by name",
  sort: "Order",
  filter: "Filter by name, path, owner or tag",
  anyTag: "any tag",
  anyOwner: "any owner",
  name: "Name",
  writtenAt: "Written (UTC)",
  lastRows: "Last run wrote",
  readers: "Readers",
  unknown: "unknown",
  localFiles: "local files",
  jobs: "jobs",
  moreRows: "more: filter them",
  newestChanges: "Newest changes",
  changesSeen: "changes",
  columnAdded: "new column",
  columnRemoved: "column gone",
  columnRetyped: "other type",
  source: "Source",
  by: "by",
  writtenBy: "Written by",
  ofTable: "Column of",
  copyId: "Copy the id",
  copyPath: "Copy the path",
  parsed: "read from the SQL text, no event has it",
  parsedInputs: "Inputs that only the SQL text names",
  statement: "SQL, without literals",
  reads: "Reads",
  writes: "Writes",
  type: "Type",
  store: "Account or server",
  zone: "Container or database",
  columns: "Columns",
  hideColumns: "Hide columns",
  seeAbove: "see above",
  path: "Path as a list",
  impactOf: "What depends on it",
  impactNone: "Nothing depends on it.",
  steps: "step",
  changes: "Changes",
  noChanges: "Nothing changed between these times.",
  added: "added",
  gone: "gone",
  changed: "changed",
  groups: "In groups",
  groupBy: "Group by",
  byStore: "store",
  byZone: "zone",
  byJob: "job",
  noJob: "(written by no process)",
  datasets: "data sets",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  fit: "Fit to the window; again: the whole picture",
  depth: "Steps",
  all: "all",
  png: "Save the picture as PNG",
  help: "Keys",
  signs: "Signs",
  record: "No history here. The page of a lake has it: throughline view --lake FOLDER.",
  of: "Lineage of",
  sources: { record: "the running service", lake: "the lake" },
  upTo: "up to",
  fileWritten: "page written",
  tag: "Tags",
  owner: "Owner",
  failedTests: "Failed tests",
  hierarchy: "Hierarchy",
  rows: "rows",
  bytes: "bytes",
  tests: "Quality tests",
  passed: "passed",
  stated: "Stated of the last run",
};

/** @type {[string, string][]} */
export const KEYS = [
  ["/", "search"],
  ["?", "signs and keys"],
  ["m", "lineage"],
  ["i", "impact"],
  ["e", "all data"],
  ["c", "conditions on or off"],
  ["t", "the path as a list"],
  ["+ and -", "zoom"],
  ["0", "fit to the window; again: the whole picture"],
  ["arrows", "move the picture, or within the list"],
  ["Tab, Enter", "go to the next card or column, and choose it; Enter also within the list"],
  ["x", "open or close the columns of the chosen card, or of the one with the focus"],
  ["[ and ]", "show or hide what is upstream or downstream of it"],
  ["Escape", "close the panel"],
];

/** Signs of the picture beside its curves. @type {[string, string][]} */
export const SIGNS = [
  ["if 2", "two filter or join columns decide which rows the table gets: press c to see them"],
  ["? on a column", "no source is known for it"],
  ["? beside a card", "SQL names a table whose location no event gives"],
  ["= on a column", "a constant"],
  ["3 more with an arrow", "three readers, or sources, are not shown: click to see them"],
  ["×2", "two processes make this"],
  ["✗ 2", "two quality tests failed"],
  ["dashed card", "no scan of the catalog has found it"],
  ["red card", "the last run of a job that writes it failed"],
  ["yellow dashes", "the end of that run was not received, or it is overdue"],
];
