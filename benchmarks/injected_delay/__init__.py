"""Programs in which one line after the other is slowed by a known amount.

A line marked `# slow` can take a delay before its statement, one marked
`# slow after` behind it (so behind a resume, where the statement yields).
"""
