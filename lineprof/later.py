"""What is imported when it is first needed, if at all; or all of it now.

A program may have modules of its own that are named like standard ones. Once
it has imported these, what we import of the standard library would get them.
"""

from __future__ import annotations

# Standard modules that `import_all` imports, directly or not.
NAMES = frozenset(
    """
    array ast bisect bz2 collections contextlib copyreg ctypes dis enum errno fnmatch
    functools grp heapq importlib inspect ipaddress json keyword linecache lzma math
    opcode operator pwd random re reprlib shlex shutil sre_compile sre_constants
    sre_parse struct tempfile threading token tokenize types unicodedata urllib
    warnings weakref zlib
    """.split()  # noqa: SIM905  # a list would be a page
)


def import_all() -> None:
    """Import all that recording, writing and showing a profile may need."""
    import lineprof.compiled  # noqa: PLC0415
    import lineprof.counted_calls  # noqa: PLC0415
    import lineprof.gpu_snapshot  # noqa: PLC0415
    import lineprof.kinds  # noqa: PLC0415
    import lineprof.namespaces  # noqa: PLC0415
    import lineprof.next_step  # noqa: PLC0415
    import lineprof.scoping_policy  # noqa: PLC0415
    import lineprof.snapshot  # noqa: PLC0415
    import lineprof.source_rare  # noqa: PLC0415
    import lineprof.stats_empty  # noqa: PLC0415
    import lineprof.store_write  # noqa: PLC0415
    import lineprof.store_write_calls  # noqa: PLC0415
    import lineprof.store_write_gpu  # noqa: PLC0415
    import lineprof.store_write_trace  # noqa: PLC0415
    import lineprof.targets  # noqa: PLC0415
    import lineprof.toml_config  # noqa: PLC0415
    import lineprof.trace_snapshot  # noqa: PLC0415
    import lineprof.views.gpu_footer  # noqa: PLC0415
    import lineprof.views.gpu_table  # noqa: PLC0415
    import lineprof.views.show  # noqa: F401, PLC0415
    from lineprof.loops import prepare  # noqa: PLC0415

    prepare()
    try:
        import _sqlite3  # noqa: F401, PLC0415  # imports functools, from 3.10 on
    except ImportError:  # files of cProfile do without
        return
