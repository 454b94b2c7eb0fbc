"""The command line: arguments in, exit code out.

A command is a row of a table: its arguments fill a request, `runs` executes it, and `outputs` writes the result. There
is no logic about servers here. A command's module is imported only when it is called, because start-up time counts.

Public modules: main.
"""
