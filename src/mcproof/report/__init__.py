"""Result to document: the formats, the text and pages for people, and the documents for programs.

Renderers get a result and nothing else; they judge nothing and read no target. `sections` builds a document of
`blocks` from each kind of result, and `text`, `markdown` and `html` draw blocks; formats for programs read the result.
To add a format, write a module with `document(run)` and a line in `FORMATS` of `formats`. `phrases` has the words that
formats share, `grids` the tables of clients and promises, `listings` what commands list beside runs. Web pages over the
store are in `services.web`.

Public modules: formats, html.page, listings, phrases.
"""
