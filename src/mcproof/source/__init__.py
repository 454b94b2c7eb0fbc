"""Source code as a target: the catalog that it would serve, and what flows through it, without running it.

Source is read, followed and interpreted here, language by language: Python, and JavaScript with TypeScript. The result
is a catalog with locations, and observations. Nothing is imported or started, and nothing is judged: rules about source
are in `checks.rules.trust.source`, fixes of source in `checks.fixes.source`.

Public modules: packages.installed, packages.projects, pipeline, python.files,
suffixes.
"""
