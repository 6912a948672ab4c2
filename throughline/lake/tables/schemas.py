"""Every table of the lake and every column of it, with what it means: the one place where schemas are declared.

A table may gain columns: those that a stored table lacks are added to it when it is next written. Columns are never
renamed or given another type; a table whose meaning changes gets another name.
"""

from throughline.lake.tables.declaration import Table, columns

_ASSETS = "array<struct<type:string,qualified_name:string>>"
_COLUMNS = "array<struct<name:string,type:string>>"
_EDGES = (
    "array<struct<input:string,input_column:string,output:string,output_column:string,"
    "kind:string,masked:boolean,parsed:boolean,how:array<string>>>"
)


FILES = Table(
    place="bronze/files",
    comment="Every file that was read, so that it is not read again",
    keys=("path",),
    content=columns("""
        path string Where the file lies
        length bigint Its length in bytes when it was read
        modified timestamp When it was last written before it was read"""),
)
EVENTS = Table(
    place="bronze/events",
    comment="Every event once, with its text as received",
    keys=("day", "run_id", "digest"),
    partition="day",
    content=columns("""
        day date The day of the event by its own time, in UTC
        run_id string The id of its run, empty where it names none
        digest string 32 hexadecimal digits of the SHA-256 of the text
        event_time timestamp Its own eventTime
        event_type string START, RUNNING, COMPLETE, FAIL, ABORT or OTHER
        parent string The id of the parent run that it names, if any
        job string The name of its job
        arrived timestamp When it was received as far as the archive says, else when its file was written
        late boolean Whether it came after its run was closed: then it does not count
        ignored string Why no lineage needs it, else null
        path string The first file that had it
        size bigint How many bytes the text has
        text string The event as it was received
        decoded binary The decoded event as MessagePack; null if it does not count or has no such form
        decoded_by string The version of the decoder
        has_quality boolean Whether it tests or measures a data set"""),
)
QUARANTINE = Table(
    place="bronze/quarantine",
    comment="Lines that could not be read, and why",
    keys=("path", "line"),
    content=columns("""
        path string The file
        line bigint The number of the line in it; 0 for the file as a whole
        reason string Why it could not be read
        text string The beginning of the line"""),
)
RUNS = Table(
    place="silver/runs",
    comment="Every run, its events merged",
    keys=("run_id",),
    content=columns("""
        run_id string The id of the run
        application_run string The run of the application that it belongs to; its own id where it has no parent
        application string The name of the application, if an event of the run has it
        job_namespace string The namespace of its job
        job string The name of its job
        integration string The producer: SPARK, DBT, AIRFLOW …
        job_type string SQL_JOB, RDD_JOB, APPLICATION, MODEL …
        processing_type string BATCH or STREAMING
        first timestamp The time of its first event
        last timestamp The time of its last event
        arrived timestamp When the last of its events was received
        ended string COMPLETE, FAIL or ABORT; null while no end is seen
        events bigint How many different events it has
        days array<date> The days on which its events happened
        has_context boolean Whether the other runs of its application need its facts
        may_enclose boolean Whether it may be the batch of a stream that encloses other writes
        lacks_sources boolean Whether it names no input other than its outputs
        context binary Its facts about the application: identity and environment
        lifecycle_events binary What it dropped, renamed and truncated
        merged binary The merged run
        columns_by string Who gave its columns: plan, opaque (plan with upper bounds), both, listener or rdd (nobody)
        outcome string translated, skipped, waiting or unusable
        reason string Why it is skipped, waiting or unusable"""),
)
RUN_CONTRIBUTIONS = Table(
    place="silver/run_contributions",
    comment="What each run contributes to each process, before the rest of its application is known",
    keys=("run_id", "application_run", "process"),
    marks=True,
    content=columns("""
        run_id string The run
        application_run string The run of its application
        process string The qualified name of the process
        digest string The digest of the content
        first timestamp The time of the first event of the run
        last timestamp The time of its last event
        unresolved boolean Whether its statement names tables that only other runs can locate
        content binary The contribution"""),
)
CONTRIBUTIONS = Table(
    place="silver/contributions",
    comment="What each application run contributes to each process: a row for each distinct content",
    keys=("application_run", "digest", "process"),
    marks=True,
    content=columns(f"""
        application_run string The run of the application
        digest string The digest of the content before staging was eliminated
        process string The qualified name of the process, after renames of its output
        original_process string The qualified name before them
        name string What people call the process
        first timestamp The first event time of a run with it
        last timestamp The last event time of a run with it
        operations array<string> insert, merge, ctas …
        inputs {_ASSETS} What it reads
        outputs {_ASSETS} What it writes
        columns {_EDGES} Which column reaches which
        content binary All of it
        eliminated boolean Whether everything that it wrote was dropped again"""),
)
ASSETS = Table(
    place="silver/assets",
    comment="Every data set that lineage names",
    keys=("type", "qualified_name"),
    content=columns("""
        type string Its type in the catalog
        qualified_name string Its qualified name in the catalog
        namespace string Its namespace in events
        name string Its name in events
        tables array<string> Its names in catalogs of tables"""),
)
SCHEMAS = Table(
    place="silver/schemas",
    comment="The columns of data sets as runs saw them, where they differ from those of the previous run",
    keys=("qualified_name", "at", "run_id"),
    marks=True,
    content=columns(f"""
        qualified_name string The data set
        at timestamp When the run saw it
        run_id string The run that saw it
        written boolean Whether the run wrote it
        fields {_COLUMNS} Its columns and their types"""),
)
QUALITY = Table(
    place="silver/quality",
    comment="Tests of data sets with their results, and what was measured of them, by run",
    keys=("run_id", "qualified_name", "column", "kind", "name"),
    content=columns("""
        run_id string The run that tested or measured
        qualified_name string The data set
        column string Its column; empty: the whole data set
        kind string test or measure
        name string The test, with the name that its producer gave it; or the measure
        at timestamp The time of the event
        namespace string The namespace of the data set in events
        dataset string Its name in events
        job_namespace string The namespace of the job
        job string The name of the job
        success boolean Whether the test found nothing wrong; null for a measure
        severity string error or warn, where the event has it
        expected string What the test expected, as text
        actual string What it found, as text
        value double What was measured; null for a test"""),
)
COLUMN_EDGES = Table(
    place="silver/column_edges",
    comment="Which column reached which, by application run",
    keys=("application_run", "process", "input", "input_column", "output", "output_column", "kind"),
    marks=True,
    content=columns("""
        application_run string The run of the application
        process string The qualified name of the process
        input string The qualified name of the data set that is read
        input_column string Its column
        output string The qualified name of the data set that is written
        output_column string Its column; empty: all rows
        kind string DIRECT (the value) or INDIRECT (filter, join, sort …)
        masked boolean Whether every way of the value passes a mask
        parsed boolean Whether it was read from the SQL text, because no event has it
        how array<string> The steps in terms of OpenLineage; OPAQUE: through code that the plan does not show
        first timestamp The first event time of a run with it
        last timestamp The last event time of a run with it"""),
)
CURRENT = Table(
    place="gold/lineage_current",
    comment="The processes as the catalog should hold them now",
    keys=("process",),
    marks=True,
    content=columns(f"""
        process string The qualified name of the process
        name string What people call it
        operations array<string> insert, merge, ctas …
        inputs {_ASSETS} What it reads
        outputs {_ASSETS} What it writes
        columns {_EDGES} Which column reaches which
        sourceless array<struct<output:string,column:string>> Columns that no column reaches
        end_not_seen boolean Whether no run of it was seen to end
        generic_identity boolean Whether the name of the job is generic: many jobs share it
        fingerprint string Changes when the entity in the catalog would
        revisit timestamp When it may change without new events
        content binary All of it"""),
)
PROGRESS = Table(
    place="bronze/progress",
    comment="The last completed step",
    keys=("step",),
    batched=False,
    content=columns("""
        step string The stage
        batch bigint The last completed batch"""),
)
HISTORY = Table(
    place="gold/lineage_history",
    comment="From when to when each edge was part of the lineage",
    keys=("process", "input", "input_column", "output", "output_column", "kind", "valid_from"),
    marks=True,
    content=columns("""
        process string The qualified name of the process
        input string The qualified name of the data set that is read
        input_column string Its column; empty in rows about data sets
        output string The qualified name of the data set that is written
        output_column string Its column; empty: all rows
        kind string DIRECT, INDIRECT, or TABLE for the data sets as such
        masked boolean Whether every way of the value passes a mask
        parsed boolean Whether it was read from the SQL text, because no event has it
        how string The steps as in column_edges, with spaces between
        valid_from timestamp The first event time of an application run with it
        valid_to timestamp When a newer application run without it ended; null while it is valid
        last_seen timestamp The last event time of a run with it"""),
)
IMPACT = Table(
    place="gold/impact",
    comment="Which columns depend on which, however far away",
    keys=("source", "source_column", "target", "target_column"),
    content=columns("""
        source string The qualified name of a data set
        source_column string Its column; empty: all its rows
        target string The qualified name of a data set that depends on it
        target_column string Its column; empty: all its rows
        depth int The number of steps on a shortest path
        paths bigint How many shortest paths there are
        direct boolean Whether the value itself arrives, on this path or a longer one
        opaque boolean Whether it may only arrive: each of these paths passes code that the plan does not show
        process string The process of the last step of one shortest path
        before string The data set before the last step
        before_column string Its column: follow it backwards to see the path"""),
)
COVERAGE = Table(
    place="gold/coverage",
    comment="How complete lineage is: by data set, store, owner and job, and in total",
    keys=("level", "name"),
    content=columns("""
        level string asset, store, owner, job or all
        name string The name of that asset, store, owner or job; empty for all
        assets bigint Data sets that runs name
        linked bigint Of these, those that the current lineage holds
        written bigint Of these, those that a process writes
        columns bigint Columns that the written ones have by their latest schema
        traced bigint Of these, columns with known sources, or known to have none
        opaque bigint Of these, columns that have only an upper bound of their sources, so that they are not traced
        runs bigint Runs that moved data or should have
        failed bigint Runs that failed
        unended bigint Runs without an end event
        unusable bigint Runs that could not be translated
        exact bigint Runs of Spark whose columns are exact by its own plan
        opaque_runs bigint Runs of Spark whose columns its plan gave, some of them as upper bounds
        by_listener bigint Runs of Spark without a plan: their job runs without throughline-plan.jar
        rdd_runs bigint Runs of Spark by an RDD, whose columns are not known
        tests bigint Quality tests of data sets
        failing bigint Of these, those whose last result is a failure
        orphan boolean Whether no current lineage has this data set
        placeholder boolean Whether its type is no store that the catalog scans
        score double Columns traced of those known, else data sets linked of those named; 0 to 1"""),
)
SCHEMA_CHANGES = Table(
    place="gold/schema_changes",
    comment="Columns that came, went or changed their type, and what depends on them",
    keys=("qualified_name", "at", "run_id", "column"),
    content=columns("""
        qualified_name string The data set
        at timestamp When a run first saw it so
        run_id string The run
        column string The column
        change string added, removed or retyped
        before string Its type before
        after string Its type now
        downstream bigint How many columns depend on it now"""),
)
COMPLETENESS = Table(
    place="gold/completeness",
    comment="How completely the catalog documents each data set of the current lineage, when it was last measured",
    keys=("qualified_name",),
    batched=False,
    content=columns("""
        qualified_name string The data set
        type string Its type in the catalog
        held boolean Whether the catalog has it
        described boolean Whether it has a description
        owned boolean Whether it has an owner
        tagged boolean Whether it or a column of it has a classification, a label, a tag in gold/tags or one of events
        columns bigint How many columns the catalog has of it
        described_columns bigint How many of these have a description
        score double The weighted mean of the parts; 0 to 1
        lacks array<string> The parts that it lacks, the one with the greatest weight first
        traced double Columns with a known source of all that are written; null where none is
        fresh boolean Whether a run wrote it recently enough; null where no process writes it
        readers bigint How many processes read it"""),
)
COMPLETENESS_TREND = Table(
    place="gold/completeness_trend",
    comment="The same in all, by the time of the measurement",
    keys=("at",),
    batched=False,
    content=columns("""
        at timestamp When it was measured
        assets bigint Data sets of the current lineage
        held bigint Of these, those that the catalog has
        described bigint Of these, those with a description
        with_columns bigint Those with columns
        owned bigint Those with an owner
        tagged bigint Those with a tag
        columns bigint Columns of all
        described_columns bigint Of these, those with a description
        score double The mean of the scores of all data sets; 0 to 1
        traced double Columns with a known source of all that are written
        fresh double Data sets that are fresh of all that are written"""),
)
TAGS = Table(
    place="gold/tags",
    comment="Where tagged columns went: along their values, ending at masks and before opaque edges",
    keys=("qualified_name", "column", "tag"),
    content=columns("""
        qualified_name string The data set
        column string Its column
        tag string The tag
        depth int How many steps from where it was set; 0 there
        origin string The nearest data set where it was set
        origin_column string Its column"""),
)
LAKE = (
    FILES,
    EVENTS,
    QUARANTINE,
    RUNS,
    RUN_CONTRIBUTIONS,
    CONTRIBUTIONS,
    COLUMN_EDGES,
    ASSETS,
    SCHEMAS,
    QUALITY,
    CURRENT,
    HISTORY,
    IMPACT,
    COVERAGE,
    SCHEMA_CHANGES,
    COMPLETENESS,
    COMPLETENESS_TREND,
    TAGS,
)
"""All tables but `progress`."""
