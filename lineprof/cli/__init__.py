"""The command `lineprof` and its subcommands: view, export and run."""
