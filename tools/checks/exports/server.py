"""Web server on 127.0.0.1, for pages that cannot be opened as files."""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class _Handler(SimpleHTTPRequestHandler):
    """Serves a folder without logging."""

    extensions_map = {  # noqa: RUF012  # as the class above has it
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",  # not from the table of the machine
        ".wasm": "application/wasm",
    }

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder as long as the block; yield its address, without a last /."""
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(_Handler, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
