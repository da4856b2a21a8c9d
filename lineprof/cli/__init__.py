"""The command `lineprof` and its subcommands: view, export, run and others."""
