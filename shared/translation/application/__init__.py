"""What the runs of one application mean for each other: context, lifecycle of data sets, staging. Pure."""
