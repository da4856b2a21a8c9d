"""Programs whose marked lines are slowed by a known delay, one line at a time.

A line marked `# slow` can get a delay before its statement, one marked
`# slow after` after it, which is after the resume if the statement yields.
"""
