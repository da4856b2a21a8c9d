"""The version, for those who must not wait for the package's metadata."""

from __future__ import annotations

VERSION = "0.1.0"
