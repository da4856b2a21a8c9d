"""The map: which room may know of which.

CONTRIBUTING.md shows it with the job of each room; test_rooms.py keeps it true.
"""

from __future__ import annotations

# A room is a pair of files, its header and its source: the rooms it may include.
LIBC_ROOMS = {
    "lp_clock": "",
    "lp_blocks": "",
    "lp_lines": "lp_blocks lp_clock",
    "lp_recorder": "lp_clock lp_lines",
    "lp_parked": "lp_clock",
    "lp_stack": "",
}
PYTHON_C_ROOMS = {
    "lp_python": "",
    "lp_code": "lp_lines lp_python lp_recorder",
    "lp_hook": "lp_hook_monitoring lp_hook_settrace lp_python",
    "lp_hook_settrace": "lp_arm lp_engine lp_gate lp_hook lp_trace",
    "lp_hook_monitoring": "lp_hook lp_monitoring_events",
    "lp_monitoring_events": "lp_engine lp_python",
    "lp_gate": "lp_arm lp_engine lp_python lp_stack lp_trace lp_tracer",
    "lp_arm": "lp_engine lp_python lp_recorder lp_trace",
    "lp_trace": "lp_arm lp_engine lp_python lp_recorder",
    "lp_engine": "lp_code lp_hook lp_parked lp_recorder lp_threads lp_tracer",
    "lp_threads": "lp_engine lp_python lp_recorder lp_thread_name",
    "lp_tracer": "lp_blocks lp_code lp_engine lp_python",
    "lp_thread_name": "lp_python",
    "lp_snapshot": "lp_python lp_tracer",
    "lp_tracer_type": "lp_python lp_snapshot lp_tracer",
    "lp_module": "lp_engine lp_hook lp_python lp_tracer_type",
}

# A room is a module: the modules of ours it may import, in functions and for
# types, too.
LINEPROF_ROOMS = {
    "lineprof": "lineprof.explicit lineprof.profiler lineprof.stats lineprof.version",
    "lineprof.__main__": "lineprof.cli",
    "lineprof.version": "",
    "lineprof.errors": "",
    "lineprof.units": "",
    "lineprof.records": "",
    "lineprof.stats": (
        "lineprof.records lineprof.stats_merge lineprof.store lineprof.units "
        "lineprof.views.text lineprof.views.view"
    ),
    "lineprof.stats_merge": "lineprof.records lineprof.stats",
    "lineprof.source": "lineprof.records",
    "lineprof.targets": "",
    "lineprof.twins": "",
    "lineprof.shape": "lineprof.loops lineprof.source",
    "lineprof.loops": "",
    "lineprof.calibrate": "lineprof._core lineprof.shape",
    "lineprof.process": "",
    "lineprof.snapshot": "lineprof.records",
    "lineprof.cores": (
        "lineprof._core lineprof.calibrate lineprof.errors lineprof.process"
    ),
    "lineprof.profiler": (
        "lineprof._core lineprof.calibrate lineprof.cores lineprof.process "
        "lineprof.snapshot lineprof.source lineprof.stats lineprof.targets "
        "lineprof.twins lineprof.version"
    ),
    "lineprof.explicit": "lineprof.explicit_output lineprof.profiler",
    "lineprof.explicit_output": "lineprof.errors lineprof.explicit lineprof.stats",
    "lineprof.store": "lineprof.errors lineprof.store_read lineprof.store_write",
    "lineprof.store_schema": "",
    "lineprof.store_read": (
        "lineprof.errors lineprof.records lineprof.stats lineprof.store_schema "
        "lineprof.units"
    ),
    "lineprof.store_write": (
        "lineprof.errors lineprof.records lineprof.stats lineprof.store_schema"
    ),
    "lineprof.cli": (
        "lineprof.errors lineprof.source lineprof.stats lineprof.version "
        "lineprof.views lineprof.views.notes lineprof.views.screen"
    ),
    "lineprof.views": "lineprof.views.json_ lineprof.views.text lineprof.views.view",
    "lineprof.views.json_": (
        "lineprof.records lineprof.source lineprof.stats lineprof.views.view"
    ),
    "lineprof.views.notes": "lineprof.source lineprof.stats",
    "lineprof.views.screen": "lineprof.errors",
    "lineprof.views.table": "lineprof.views.screen",
    "lineprof.views.text": (
        "lineprof.errors lineprof.source lineprof.stats lineprof.units "
        "lineprof.views.screen lineprof.views.table lineprof.views.view"
    ),
    "lineprof.views.view": (
        "lineprof.records lineprof.source lineprof.stats lineprof.views.screen"
    ),
}
KERNPROF_ROOMS = {
    "kernprof": "kernprof.cli",
    "kernprof.__main__": "kernprof.cli",
    "kernprof.cli": (
        "kernprof.flags kernprof.report kernprof.session kernprof.uncaught lineprof "
        "lineprof.errors"
    ),
    "kernprof.flags": "lineprof.errors",
    "kernprof.find": "kernprof.flags kernprof.outfile kernprof.program",
    "kernprof.program": "kernprof.compiled kernprof.flags",
    "kernprof.compiled": "",
    "kernprof.stage": "kernprof.program kernprof.spawned",
    "kernprof.session": (
        "kernprof.find kernprof.flags kernprof.outfile kernprof.recorders "
        "kernprof.report kernprof.spawned kernprof.stage kernprof.terminate "
        "lineprof.errors"
    ),
    "kernprof.recorders": (
        "kernprof.calls kernprof.flags lineprof.errors lineprof.explicit "
        "lineprof.profiler lineprof.store"
    ),
    "kernprof.calls": "",
    "kernprof.outfile": "kernprof.flags",
    "kernprof.report": "kernprof.recorders",
    "kernprof.spawned": "lineprof.profiler",
    "kernprof.terminate": "",
    "kernprof.uncaught": "",
}
# What no change of the map may allow: a package, and those it never knows.
NEVER = {
    "lineprof": "kernprof",
    "lineprof.records": "lineprof",
    "lineprof.views": "lineprof._core lineprof.cli lineprof.profiler lineprof.store",
    "lineprof.profiler": "lineprof.cli lineprof.store lineprof.views",
    "kernprof": "lineprof._core lineprof.cli lineprof.views",
}
CORE = "lineprof._core"

C_ROOMS = {**LIBC_ROOMS, **PYTHON_C_ROOMS}
PYTHON_ROOMS = {**LINEPROF_ROOMS, **KERNPROF_ROOMS}
