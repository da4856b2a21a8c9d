"""The tables and views of the SQLite export: docs/exports.md says more.

All times are in nanoseconds (ns). A `..._id` is the `id` of a row of another
table; NULL where it is not known, or of none. Starts count from the start of
the first process.
"""

from __future__ import annotations

_LINE = ("function_id INTEGER REFERENCES functions", "line INTEGER")
_THREAD = "thread_id INTEGER REFERENCES threads"
_PROCESS = "process_id INTEGER REFERENCES processes"
_CALLS = (
    "calls INTEGER",
    "primitive_calls INTEGER",  # while no other call of the function was open
    "total_ns INTEGER",  # of primitive calls: recursion counts once
    "inclusive_ns INTEGER",  # of every call
)

TABLES: dict[str, tuple[str, ...]] = {
    "meta": ("key TEXT", "value TEXT"),
    "processes": (
        *("id INTEGER PRIMARY KEY", "pid INTEGER", "host TEXT", "rank INTEGER"),
        *("program TEXT", "cwd TEXT", "python TEXT"),
        *("start_unix_ns INTEGER", "wall_ns INTEGER"),
        "overhead_ns INTEGER",  # the profiler's own, in no line's time
        "exit TEXT",  # '' for a normal one
    ),
    "threads": ("id INTEGER PRIMARY KEY", _PROCESS, "native_id INTEGER", "name TEXT"),
    "functions": (
        *("id INTEGER PRIMARY KEY", "file TEXT", "name TEXT", "first_line INTEGER"),
        *("calls INTEGER", "primitive_calls INTEGER"),
        "self_ns INTEGER",  # without what it called, as far as that is known
        "total_ns INTEGER",
    ),
    "lines": (
        *_LINE,
        "hits INTEGER",
        "own_ns INTEGER",  # without what it called
        "time_ns INTEGER",
        "await_ns INTEGER",  # suspended, not in time_ns
        *("min_ns INTEGER", "max_ns INTEGER"),
        "source TEXT",
    ),
    "line_threads": (*_LINE, _THREAD, "hits INTEGER", "time_ns INTEGER"),
    "edges": (
        "caller_id INTEGER REFERENCES functions",
        "line INTEGER",  # of the caller
        "callee_id INTEGER REFERENCES functions",
        *_CALLS,
        "gpu_ns INTEGER",
    ),
    "call_tree": (
        "id INTEGER PRIMARY KEY",
        "parent_id INTEGER REFERENCES call_tree",
        "line INTEGER",  # of the parent's function
        "function_id INTEGER REFERENCES functions",
        _THREAD,
        *_CALLS,
        "self_ns INTEGER",
    ),
    "waits": (*_LINE, _THREAD, "cause TEXT", "ns INTEGER"),
    "gpu_devices": (
        *("id INTEGER PRIMARY KEY", _PROCESS, "device INTEGER", "name TEXT"),
        "busy_ns INTEGER",
    ),
    # What the line itself launched or called, by kind and name.
    "gpu_kernels": (
        *_LINE,
        _THREAD,
        "device_id INTEGER REFERENCES gpu_devices",
        *("kind TEXT", "name TEXT", "count INTEGER"),
        *("ns INTEGER", "min_ns INTEGER", "max_ns INTEGER", "bytes INTEGER"),
    ),
    # With what the line called; own_gpu_ns without it.
    "gpu_by_line": (
        *_LINE,
        *("gpu_ns INTEGER", "own_gpu_ns INTEGER", "kernels INTEGER"),
        *("copy_ns INTEGER", "copy_bytes INTEGER", "wait_ns INTEGER"),
        *("alloc_bytes INTEGER", "free_bytes INTEGER"),
    ),
    "slices": (
        _PROCESS,
        _THREAD,
        *_LINE,  # line 0: the whole function
        *("start_ns INTEGER", "ns INTEGER"),
    ),
    "gpu_events": (
        _PROCESS,
        _THREAD,
        *_LINE,
        *("kind TEXT", "name TEXT", "start_ns INTEGER", "ns INTEGER"),
        *("device INTEGER", "context INTEGER", "stream INTEGER"),
        *("correlation INTEGER", "bytes INTEGER", "grid TEXT", "block TEXT"),
        "registers INTEGER",  # of a thread
        *("static_smem INTEGER", "dynamic_smem INTEGER"),  # bytes of a block
        *("source TEXT", "target TEXT"),  # kinds of memory
    ),
}

_EDGES = """
    SELECT {mine}.file AS file, {mine}.name AS name,
        {other}.file AS {kind}_file, {other}.name AS {kind}, edges.line AS line,
        edges.calls AS calls, edges.primitive_calls AS primitive_calls,
        edges.total_ns AS total_ns, edges.inclusive_ns AS inclusive_ns,
        edges.gpu_ns AS gpu_ns
    FROM edges
    LEFT JOIN functions AS caller ON caller.id = edges.caller_id
    JOIN functions AS callee ON callee.id = edges.callee_id
    ORDER BY {mine}.file, {mine}.name, edges.inclusive_ns DESC
"""

VIEWS = {
    # The dearest first, by their own time.
    "hot_lines": """
        SELECT functions.file AS file, lines.line AS line, functions.name AS name,
            lines.hits AS hits, lines.own_ns AS own_ns, lines.time_ns AS time_ns,
            100.0 * lines.own_ns / nullif((SELECT sum(own_ns) FROM lines), 0)
                AS percent,
            coalesce(gpu_by_line.gpu_ns, 0) AS gpu_ns, lines.source AS source
        FROM lines
        JOIN functions ON functions.id = lines.function_id
        LEFT JOIN gpu_by_line ON gpu_by_line.function_id = lines.function_id
            AND gpu_by_line.line = lines.line
        ORDER BY lines.own_ns DESC, lines.time_ns DESC
    """,
    # Of each function (file, name): who calls it, from which line.
    "callers": _EDGES.format(mine="callee", other="caller", kind="caller"),
    # Of each function: whom it calls, from which of its lines.
    "callees": _EDGES.format(mine="caller", other="callee", kind="callee"),
}
