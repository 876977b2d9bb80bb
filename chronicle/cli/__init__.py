"""The command line: one module for each command, imported when it is run.

`main` holds the list, `options` what commands share, `output` how they speak.
"""
