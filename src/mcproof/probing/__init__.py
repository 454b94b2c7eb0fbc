"""Exercises live servers: valid and invalid calls, requests of the protocol, fuzzing, attacks, replays.

Arguments are made from schemas in `generation`, and `permission` decides which tools may be called at all. `probes`
are requests whose response is known in advance; `fuzz` calls with many arguments and `attacks` with hostile ones. All
three are campaigns that `calls` runs, and for all three a crash or a hang is retried and narrowed down to one request
in `probes.blame`. What responses show becomes observations, which the rules of `checks` judge. Observing a server
without calling a tool is in `client.perimeter`, tests that authors write are in `testing`.

Public modules: attacks.run, calls, fuzz.campaign, generation.values, left_files, outcomes, permission, probes.cases,
probes.failures, probes.prove, replay.
"""
