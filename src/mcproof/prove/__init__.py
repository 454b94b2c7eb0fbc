"""Whether a live server keeps what its schemas promise: probes, the contract matrix, fuzzing, replay."""
