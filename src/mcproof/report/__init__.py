"""Result to document: the formats, the text and pages for people, and the documents for programs.

Renderers get a result and nothing else; they judge nothing and read no target. To add a format, write a module with
`document(run)` and a line in `FORMATS` of `formats`. `sections` has the parts of text and Markdown by subject,
`phrases` the words that formats share, `grids` the tables of clients and promises, `listings` what commands list
beside runs. Web pages over the store are in `services.web`.

Public modules: concise, formats, html.blocks, html.page, json, listings, markdown, phrases, responses, verdicts.
"""
