"""A profile made from the tuples of the measuring core."""
