"""Requests to running programs, over sockets that only their owner can open."""
