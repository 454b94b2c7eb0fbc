"""Flows of JavaScript and TypeScript source: which value of a client reaches which dangerous call without a check."""
