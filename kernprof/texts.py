"""Source that no file holds, for whoever asks `linecache`."""

from __future__ import annotations

import linecache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class KnownTexts:
    """`linecache` knows `texts`, by file name, for as long as the block runs."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Change nothing yet."""
        self._texts = texts
        self._entries: dict[str, object] = linecache.cache  # type: ignore[assignment]
        self._added: list[str] = []

    def __enter__(self) -> None:
        """Enter those that nobody else has."""
        self._added = [name for name in self._texts if name not in self._entries]
        for name in self._added:
            text = self._texts[name]
            lines = text.splitlines(keepends=True)
            self._entries[name] = (len(text), None, lines, name)

    def __exit__(self, *_exception: object) -> None:
        """Take them out again."""
        for name in self._added:
            self._entries.pop(name, None)
