"""Schemas of zod 3 and zod 4 as values, and the JSON Schema that a server lists for them.

`schema` is what a schema is; `functions` and `methods` are the calls that make one. They serve both versions, because a
schema only records how it was made. What differs is in the emitters: `converter` writes what the package
zod-to-json-schema writes for zod 3, `generator` what `z.toJSONSchema` of zod 4 writes, each version by version, and
`emitters` knows which of them a server framework calls, and how. `formats` holds the patterns of string formats.

The facts are from the packages zod, zod-to-json-schema, xsschema, @modelcontextprotocol/sdk and /server, fastmcp,
@mastra/mcp, xmcp and mcp-framework on npm; tests compare with them.
"""
