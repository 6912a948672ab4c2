"""Relations between the runs of one application: context, lifecycle of data sets, staging."""
