"""`python -m throughline.cli.deploy`: build the package and deploy it to Azure, from Linux, macOS or Windows.

Everything here uses Python's standard library only: it runs before any virtual environment exists. It starts
`throughline.package`, which needs more, in an environment that it makes.
"""
