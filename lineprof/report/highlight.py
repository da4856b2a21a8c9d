"""Coloured rows for terminals, by the package rich, which may not be installed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import quote

from lineprof.files import current_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console  # type: ignore[import-not-found,unused-ignore]
    from rich.style import Style  # type: ignore[import-not-found,unused-ignore]

_THEME = "ansi_dark"  # the colours of the terminal's own palette

_LINK = "\x1b]8;;{}\x1b\\"


def painter() -> Painter | None:
    """Return a painter; None if rich cannot be imported."""
    try:
        # Modules of rich draw random numbers; the program's sequence must not change.
        random = sys.modules.get("random")
        state = random.getstate() if random is not None else None
        try:
            from rich.console import Console  # noqa: PLC0415  # optional
        finally:
            if random is not None:
                random.setstate(state)
        return Painter(Console(force_terminal=True, legacy_windows=False))
    except Exception:  # noqa: BLE001  # the program may have a module of that name
        return None


class Painter:
    """Colours for rows of a table; all texts must be printable already."""

    def __init__(self, console: Console) -> None:
        """Take the console that knows the terminal's colours."""
        from rich.style import Style  # noqa: PLC0415
        from rich.syntax import Syntax  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

        self._syntax = Syntax
        self._console = console
        self._heading = Style.parse("bold")

    def heading(self, text: str) -> str:
        """Return the titles of the columns, coloured."""
        return self._styled(text, self._heading)

    def place(self, text: str, file: str) -> str:
        """Return `text` as a link to `file`, if that exists."""
        if not os.path.isabs(file):
            file = os.path.join(current_folder(), file)
        if not os.path.exists(file):
            return text
        # Not by a Style with a link: it draws from the program's random numbers.
        link = quote(os.fsencode(file))
        return f"{_LINK.format(f'file://{link}')}{text}{_LINK.format('')}"

    def source(
        self, file: str, lines: Sequence[str], sizes: Sequence[int]
    ) -> Sequence[str] | None:
        """Return the first characters of each line, coloured; None if that fails.

        `sizes` are the numbers of characters; `lines` are whole, for the lexer.
        """
        language = "cython" if file.endswith((".pyx", ".pxd", ".pxi")) else "python"
        try:
            syntax = self._syntax(
                "", language, theme=_THEME, background_color="default"
            )
            text = syntax.highlight("\n".join(lines))
            painted = text.split("\n", allow_blank=True)[: len(lines)]
            if [line.plain for line in painted] != list(lines):
                return None
            return [
                "".join(
                    self._styled(part.text, part.style)
                    for part in line[:size].render(self._console)
                )
                if size
                else ""
                for line, size in zip(painted, sizes)
            ]
        except Exception:  # noqa: BLE001  # source can be any text
            return None

    def _styled(self, text: str, style: Style | None) -> str:
        """Return `text` with the escapes of `style` around it."""
        if style is None:
            return text
        system = self._console._color_system  # noqa: SLF001  # public is its name alone
        return str(style.render(text, color_system=system))
