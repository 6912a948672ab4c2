"""Read the record: runs, events and processes as frozen values, whatever rows and blobs they are stored in.

The functions of `reader.py` give them. Imports storage, records, events, applications, publishing and the pure core.
It writes nothing.
"""
