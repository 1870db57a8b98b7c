"""The commands of `atlas`, one module each, named as users type it.

A module holds either `run`, the command itself, or `actions`, the functions of a command with sub-commands (`atlas
snapshots ls`). Signatures are typer's; the docstring is the help text. `pipeline.cli` finds the module by its file
name, adds `--debug`, and turns errors into sentences and exit codes. Every module is imported for `atlas --help`: heavy
libraries are imported inside the function.
"""
