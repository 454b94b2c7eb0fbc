"""Judges: rules and the engine that runs them, scores, verdicts of clients, differences, fixes and advice.

Everything that is an opinion lives here, and nothing here talks to a server: a check gets a catalog and
observations. `engine` runs the rules on them and says what could not be judged, `findings` has what they report and
merges findings of one fault, `reporting` adds their places in a file.

A rule is a function in `rules`, by ruleset; its docstring is its help (why, fix), which `rulebook` shows with the
examples of `rules/cases`. `behaviour` says what a tool does by its words: `effects` has the verbs that read, change
and destroy, `acts` finds them in a name, `capabilities` what they reach. `clients` are other people's MCP clients
and model APIs, as data in `clients/profiles.json`; `texts` finds what a text tells a model; `fixes` has the snippets
for frameworks. How a result is written is in `report`, which rules a run uses is decided in `runs.planning`.

Public modules: advisories, baseline, behaviour.capability_tables, behaviour.effects, clients.fix, clients.hits,
clients.profiles, clients.verdicts, diff.items, diff.lock, engine, findings, fixes, fixes.snippets, fixes.source,
ignores, reporting, rule, rulebook, scores.descriptions, scores.grade, scores.tokens, scores.trust, subjects,
texts.tool_graph.
"""
