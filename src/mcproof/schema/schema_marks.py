"""The vocabulary of marks: words for everything unusual about a schema.

Most schemas break no rule about clients or the specification. A rule names the marks, or the keywords, without which it
reports nothing, and runs only where one of them is found. `SchemaTree.marks` has those of a schema.
"""

ODD = "(odd)"
"""A value is not what JSON Schema expects there, or is too unusual to tell; without it, every dialect accepts it."""
UNTYPED = "(untyped)"
"""A property, an element or a branch of a union has neither `type`, `$ref` nor `anyOf`."""
TYPE_LIST = "(type list)"
BARE_ARRAY = "(bare array)"
"""An array has no `items`."""
ODD_KEY = "(key)"
"""The name of a property is not an identifier of at most 64 ASCII characters."""
UNDECLARED = "(undeclared)"
"""`required` names something that is not declared beside it."""
ODD_ENUM = "(enum)"
"""An enum has other values than distinct texts that are not empty, or is beside another type than `string`."""
EXTERNAL = "(external reference)"
"""A reference may lead to another document."""
DEEP = "(deep)"
"""Objects and arrays nest deeper than ten levels."""
