"""Lines of a program that runs: samples of its counters, and a screen of them."""
