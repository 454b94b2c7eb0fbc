"""Exercises live servers: valid and invalid calls, requests of the protocol, fuzzing, attacks, replays.

Arguments are made from schemas, and `permission` decides which tools may be called at all. What responses show
becomes observations, which the rules of `checks` judge. Observing a server without calling a tool is in
`client.perimeter`, tests that authors write are in `testing`.

Public modules: attacks.run, fuzz.campaign, fuzz.tool, generation.constraints, generation.resolver,
generation.values, outcomes, permission, probes.cases, probes.failures, probes.negative, probes.prove,
probes.sending, probes.session, replay.
"""
