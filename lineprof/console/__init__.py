"""Standard output, standard error and terminals."""
