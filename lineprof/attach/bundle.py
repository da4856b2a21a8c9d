"""The code of all modules that a process needs to be attached to, in one file.

The import of a module makes a dozen system calls, and after each of them a thread
waits for the GIL again, which other threads keep busy: reading the code of all modules
at once halves the time until lineprof listens. A process with another Python, or with
other modules, imports them from their own files: see ``boot.py``.
"""

from __future__ import annotations

import marshal
import os
import struct
import sys
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source, find_spec

_SOURCE, _EXTENSIONS = tuple(SOURCE_SUFFIXES), tuple(EXTENSION_SUFFIXES)

# The names of the modules of the standard library that lineprof needs with some Python,
# or for a profile with GPU work, and that have a file.
STANDARD = (
    "__future__ _datetime _json _opcode _opcode_metadata _py_warnings _socket"
    " _sqlite3 _typing _weakrefset annotationlib array ast collections"
    " collections.abc contextlib copy copyreg dataclasses datetime dis enum fnmatch"
    " functools importlib inspect json json.decoder json.encoder json.scanner keyword"
    " linecache math opcode operator re re._casefix re._compiler re._constants"
    " re._parser reprlib select sqlite3 sqlite3.dbapi2 token tokenize types typing"
    " warnings weakref"
)

# And those of lineprof itself.
OWN = (
    "kernprof kernprof.attached kernprof.control kernprof.environment"
    " kernprof.null_profiler kernprof.profilers kernprof.project kernprof.run_options"
    " kernprof.selection lineprof lineprof._core lineprof.bytecode"
    " lineprof.bytecode.code_flags lineprof.bytecode.code_tables"
    " lineprof.bytecode.opcodes lineprof.config lineprof.console"
    " lineprof.console.output lineprof.control lineprof.control.address"
    " lineprof.control.listener lineprof.decorate lineprof.decorate.code_copies"
    " lineprof.decorate.wrappers lineprof.errors lineprof.files lineprof.held_signals"
    " lineprof.later lineprof.model lineprof.model.collectives lineprof.patterns"
    " lineprof.private_folder lineprof.process_info lineprof.quiet_threads"
    " lineprof.ranks lineprof.recording lineprof.recording.calibration"
    " lineprof.recording.core lineprof.recording.descriptors"
    " lineprof.recording.discovery lineprof.recording.global_profiler"
    " lineprof.recording.gpu lineprof.recording.legacy lineprof.recording.profiler"
    " lineprof.recording.registry lineprof.recording.sources lineprof.snapshot"
    " lineprof.snapshot.counts lineprof.source_files lineprof.version"
)


def bundle() -> bytes:
    """Return the code of all modules, as ``boot.py`` reads it.

    That is, by `marshal`, whose code it is, and a dictionary of module names. Each has
    the file, the folders of a package or None, and the code as `marshal` writes it; an
    extension has None for its code.
    """
    names = [*STANDARD.split(), *OWN.split()]
    modules = {name: entry for name in names if (entry := _entry(name))}
    return marshal.dumps((sys.version, sys.flags.optimize, os.__file__, modules))


def _entry(name: str) -> tuple[str, list[str] | None, bytes | None] | None:
    spec = find_spec(name)
    if spec is None or spec.origin is None:  # this Python lacks it
        return None
    if spec.origin.endswith(_EXTENSIONS):
        return spec.origin, None, None
    if not spec.origin.endswith(_SOURCE):  # built in, or frozen
        return None
    folders = spec.submodule_search_locations
    code = _compiled(spec.origin)
    if code is None:
        code = marshal.dumps(SourceFileLoader(name, spec.origin).get_code(name))
    return spec.origin, None if folders is None else [*folders], code


def _compiled(source: str) -> bytes | None:
    """Return the code in the .pyc file of a source, None if it has no valid one.

    Reading the bytes takes 5 ms for all modules; loading their code and writing it
    again takes 25. The format is that of PEP 552, with the source's time and size.
    """
    try:
        status = os.stat(source)
        with open(cache_from_source(source), "rb") as stream:
            data = stream.read()
    except (OSError, NotImplementedError):  # there are no .pyc files
        return None
    mask = 0xFFFFFFFF
    numbers = 0, int(status.st_mtime) & mask, status.st_size & mask
    header = MAGIC_NUMBER + struct.pack("<3L", *numbers)
    return data[len(header) :] if data.startswith(header) else None
