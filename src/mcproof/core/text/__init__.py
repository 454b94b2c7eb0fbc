"""Text with positions, for each format that mcproof reads; English words, secrets, and files."""
