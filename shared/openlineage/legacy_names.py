"""Correct data set names of older listeners by what the same run says elsewhere."""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from shared.openlineage.run import DatasetKey, MergedDataset
from shared.openlineage.wire import InputField, OutputField


def correct_legacy_names(
    inputs: Sequence[MergedDataset], outputs: Sequence[MergedDataset]
) -> tuple[tuple[MergedDataset, ...], tuple[MergedDataset, ...]] | None:
    """Inputs and outputs with Iceberg tables under their locations; None if nothing is to be corrected.

    Listener 1.12 names the table `db.t` of a warehouse `<folder>/db.t` (its symlink's namespace is the folder); its
    location is `<folder>/db/t`, as newer listeners have it.
    """
    locations = {
        dataset.key: f"{folder.rstrip('/')}/{table.replace('.', '/')}"
        for dataset in (*inputs, *outputs)
        for folder, table in dataset.symlinks
        if "." in table and folder.startswith("/") and dataset.name == f"{folder.rstrip('/')}/{table}"
    }
    return (_placed(inputs, locations), _placed(outputs, locations)) if locations else None


def _placed(datasets: Sequence[MergedDataset], locations: Mapping[DatasetKey, str]) -> tuple[MergedDataset, ...]:
    def name(source: InputField) -> InputField:
        location = locations.get((source.namespace, source.name))
        return replace(source, name=location) if location else source

    return tuple(
        replace(
            dataset,
            name=locations.get(dataset.key, dataset.name),
            fields=tuple((column, tuple(_field(field, name) for field in fields)) for column, fields in dataset.fields),
            rows=tuple(map(name, dataset.rows)),
        )
        for dataset in datasets
    )


def _field(field: OutputField, name: Callable[[InputField], InputField]) -> OutputField:
    return replace(field, input_fields=tuple(map(name, field.input_fields or ())))
