"""The machinery behind rules: findings, the registry, the engine, suppression and fixes."""
