"""How the names of source files end. Every command asks it of its targets, and few load any more of `source`."""

JAVASCRIPT = (".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx")
SOURCE = (".py", *JAVASCRIPT)
