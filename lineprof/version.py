"""The version, for those who must not wait for the package's metadata."""

VERSION = "0.1.0"
