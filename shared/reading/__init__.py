"""Read the record: runs, events and processes as frozen values, whatever rows and blobs they are stored in.

`RecordReader` (in `reader.py`) has them. Imports storage, records, events, applications, publishing and the pure core.
It writes nothing.
"""
