"""Worker processes: what reads and runs the input of strangers for a service, with limits and confinement.

A service names a function and makes a `Worker` of it. Sweeps keep several jobs under way in one process, so their
engine works with `WorkerProcess` itself. What a job does stays in the service.
Why there is one kind of worker: docs/decisions/0065-one-worker-process.md.
"""
