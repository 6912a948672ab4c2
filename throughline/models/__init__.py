"""Models: a training run that MLflow has on record, as lineage from its data to the model."""
