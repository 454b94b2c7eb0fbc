"""What things are: text with positions, JSON Schema, the catalog of a server, and what was observed of it.

Every other room builds on this one, and it imports none of them. It holds no opinion: whether something is a
problem is decided in `checks`. It reads and writes files, but does not talk to servers; that is `client`.

A new revision of MCP starts in `protocol`. What a JSON Schema keyword means is in `schema.keywords`, how to find
the schemas that use it in `schema.tree`. The numbers of exit codes are in `errors`, the table of private and
metadata addresses is in `addresses`; `text.secrets` recognises a secret, `client.redaction` masks it.

Public modules: addresses, catalog.model, console, errors, named_tuple, observations.apps,
observations.connection, observations.perimeter, observations.probes, observations.responses, observations.source,
protocol, schema.acceptance, schema.keywords, schema.references, schema.shipped, schema.tree, schema.validation,
stored_form, text.english, text.files, text.json_document, text.json_positions, text.secrets, text.yaml_document.
"""
