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
    "lp_paths": "",
    "lp_open_lines": "lp_paths lp_recorder",
    "lp_corr": "",
    "lp_origins": "",
    "lp_texts": "",
    "lp_sums": "lp_clock",
    "lp_busy": "lp_clock",
    "lp_timeline": "lp_clock",
    "lp_ledger": (
        "lp_busy lp_clock lp_corr lp_origins lp_paths lp_sums lp_texts lp_timeline"
    ),
    "lp_ledger_copy": "lp_gpu lp_ledger",
    "lp_gpu": "lp_clock lp_gpu_cupti lp_ledger",
    "lp_dl": "",
    "lp_cuda": "lp_dl lp_gpu",
    "lp_cupti_abi": "",
    "lp_cupti": "lp_cuda lp_cupti_abi lp_gpu",
    "lp_cupti_calls": "lp_cupti",
    "lp_cupti_buffers": "lp_cupti",
    "lp_cupti_records": "lp_cupti",
    "lp_cupti_flush": "lp_cupti",
    "lp_gpu_cupti": "lp_cupti lp_dl lp_gpu",
    "lp_gpu_nvtx": "",
    "lp_ranges": "lp_gpu_nvtx lp_recorder",
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
    "lp_engine": "lp_code lp_hook lp_parked lp_ranges lp_recorder lp_threads lp_tracer",
    "lp_threads": "lp_engine lp_python lp_recorder lp_thread_name",
    "lp_tracer": "lp_blocks lp_code lp_engine lp_python",
    "lp_thread_name": "lp_python",
    "lp_snapshot": "lp_python lp_tracer",
    "lp_tracer_type": "lp_nvtx lp_python lp_snapshot lp_tracer",
    "lp_module": "lp_engine lp_gpu_functions lp_hook lp_nvtx lp_python lp_tracer_type",
    "lp_nvtx": "lp_code lp_engine lp_gpu_nvtx lp_python lp_ranges",
    "lp_charged": "lp_engine lp_open_lines lp_paths lp_threads",
    "lp_devices": "lp_charged lp_engine lp_gpu lp_python",
    "lp_gpu_functions": "lp_devices lp_engine lp_gpu_snapshot lp_python",
    "lp_gpu_snapshot": "lp_devices lp_ledger_copy lp_python",
}

# A room is a module: the modules of ours it may import, in functions and for
# types, too.
LINEPROF_ROOMS = {
    "lineprof": (
        "lineprof.explicit_profiler lineprof.gpu lineprof.profiler lineprof.stats "
        "lineprof.version"
    ),
    "lineprof.__main__": "lineprof.cli",
    "lineprof.version": "",
    "lineprof.errors": "",
    "lineprof.units": "",
    "lineprof.values": "",
    "lineprof.records": "lineprof.values",
    "lineprof.stats": (
        "lineprof.gpu_records lineprof.records lineprof.stats_merge lineprof.store "
        "lineprof.units lineprof.views.text lineprof.views.view"
    ),
    "lineprof.stats_merge": (
        "lineprof.gpu_records lineprof.records lineprof.stats lineprof.values"
    ),
    "lineprof.source_rare": "",
    "lineprof.source_text": "lineprof.source_rare",
    "lineprof.source_file": "lineprof.records lineprof.source_text",
    "lineprof.source": "lineprof.records lineprof.source_file lineprof.source_text",
    "lineprof.targets": "",
    "lineprof.twins": "",
    "lineprof.shape": (
        "lineprof.jumps lineprof.loops lineprof.source_text lineprof.values"
    ),
    "lineprof.loops": "lineprof.jumps",
    "lineprof.jumps": "lineprof.values",
    "lineprof.register": "lineprof._core lineprof.labels lineprof.shape",
    "lineprof.bench": "lineprof.register",
    "lineprof.calibrate": "lineprof.bench lineprof.values",
    "lineprof.process": "",
    "lineprof.snapshot": (
        "lineprof.gpu_records lineprof.gpu_snapshot lineprof.process lineprof.records "
        "lineprof.source_file lineprof.stats lineprof.values"
    ),
    "lineprof.cores": (
        "lineprof._core lineprof.calibrate lineprof.errors lineprof.process "
        "lineprof.values"
    ),
    "lineprof.profiler": (
        "lineprof._core lineprof.calibrate lineprof.cores lineprof.gpu "
        "lineprof.gpu_work lineprof.register lineprof.run lineprof.snapshot "
        "lineprof.stats lineprof.targets lineprof.twins"
    ),
    "lineprof.later": (
        "lineprof.gpu_snapshot lineprof.jumps lineprof.snapshot lineprof.source_rare "
        "lineprof.store_write lineprof.store_write_gpu lineprof.targets "
        "lineprof.views.gpu_footer lineprof.views.gpu_table lineprof.views.text"
    ),
    "lineprof.explicit_profiler": "lineprof.explicit_output lineprof.profiler",
    "lineprof.explicit_output": "lineprof.errors lineprof.explicit_profiler lineprof.stats",
    "lineprof.store": (
        "lineprof.errors lineprof.stats lineprof.store_read lineprof.store_write"
    ),
    "lineprof.store_schema": "lineprof.values",
    "lineprof.store_uri": "",
    "lineprof.store_read": (
        "lineprof.errors lineprof.gpu_records lineprof.records lineprof.stats "
        "lineprof.store_read_gpu lineprof.store_rows lineprof.store_schema "
        "lineprof.store_uri lineprof.units lineprof.values"
    ),
    "lineprof.store_write": (
        "lineprof.errors lineprof.gpu_records lineprof.records lineprof.stats "
        "lineprof.store_schema lineprof.store_uri lineprof.store_write_gpu "
        "lineprof.whole_file"
    ),
    "lineprof.gpu": "lineprof.errors lineprof.gpu_find lineprof.values",
    "lineprof.gpu_find": "",
    "lineprof.gpu_work": "lineprof.gpu lineprof.gpu_records lineprof.gpu_snapshot",
    "lineprof.gpu_records": "lineprof.gpu_timeline lineprof.records lineprof.values",
    "lineprof.gpu_paths": "lineprof.gpu_records lineprof.records",
    "lineprof.gpu_snapshot": (
        "lineprof.gpu_paths lineprof.gpu_records lineprof.gpu_timeline "
        "lineprof.records lineprof.values"
    ),
    "lineprof.gpu_timeline": "lineprof.gpu_records",
    "lineprof.gpu_numbers": "lineprof.gpu_records lineprof.values",
    "lineprof.gpu_lines": (
        "lineprof.gpu_numbers lineprof.gpu_records lineprof.records lineprof.values"
    ),
    "lineprof.labels": "lineprof.jumps lineprof.source_text",
    "lineprof.dynamo": "",
    "lineprof.store_rows": "lineprof.store_schema",
    "lineprof.store_read_gpu": (
        "lineprof.gpu_records lineprof.records lineprof.store_read_timeline "
        "lineprof.store_rows lineprof.store_schema"
    ),
    "lineprof.store_read_timeline": (
        "lineprof.gpu_records lineprof.gpu_timeline lineprof.store_rows "
        "lineprof.store_schema"
    ),
    "lineprof.store_write_gpu": (
        "lineprof.gpu_records lineprof.records lineprof.stats lineprof.store_schema"
    ),
    "lineprof.placeholders": "lineprof.errors",
    "lineprof.log_file": (
        "lineprof.errors lineprof.placeholders lineprof.records lineprof.views.screen "
        "lineprof.whole_file"
    ),
    "lineprof.demangle": "",
    "lineprof.occupancy": "",
    "lineprof.run": (
        "lineprof.dynamo lineprof.process lineprof.records lineprof.version"
    ),
    "lineprof.whole_file": "",
    "lineprof.cli": (
        "lineprof.errors lineprof.log_file lineprof.source lineprof.stats "
        "lineprof.values lineprof.version lineprof.views lineprof.views.notes "
        "lineprof.views.screen"
    ),
    "lineprof.views": (
        "lineprof.views.gpu lineprof.views.json_ lineprof.views.text "
        "lineprof.views.view"
    ),
    "lineprof.views.json_": (
        "lineprof.records lineprof.source lineprof.stats lineprof.views.json_gpu "
        "lineprof.views.view"
    ),
    "lineprof.views.notes": "lineprof.source lineprof.stats",
    "lineprof.views.screen": "lineprof.errors lineprof.values",
    "lineprof.views.table": "lineprof.values lineprof.views.screen",
    "lineprof.views.text": (
        "lineprof.errors lineprof.source lineprof.stats lineprof.units lineprof.values "
        "lineprof.views.gpu_flags lineprof.views.gpu_footer lineprof.views.gpu_table "
        "lineprof.views.screen lineprof.views.table lineprof.views.view"
    ),
    "lineprof.views.json_gpu": (
        "lineprof.gpu_lines lineprof.gpu_records lineprof.records lineprof.values"
    ),
    "lineprof.views.gpu": (
        "lineprof.source lineprof.stats lineprof.views.api_trace "
        "lineprof.views.gpu_flags lineprof.views.gpu_remarks "
        "lineprof.views.gpu_summary lineprof.views.gpu_trace lineprof.views.view"
    ),
    "lineprof.views.gpu_flags": "lineprof.errors lineprof.views.view",
    "lineprof.views.gpu_columns": (
        "lineprof.gpu_lines lineprof.gpu_numbers lineprof.values lineprof.views.table"
    ),
    "lineprof.views.gpu_table": (
        "lineprof.gpu_lines lineprof.gpu_records lineprof.units lineprof.values "
        "lineprof.views.gpu_columns lineprof.views.gpu_flags lineprof.views.gpu_names "
        "lineprof.views.gpu_units lineprof.views.table lineprof.views.view"
    ),
    "lineprof.views.gpu_footer": (
        "lineprof.errors lineprof.gpu_lines lineprof.gpu_numbers lineprof.gpu_records "
        "lineprof.stats lineprof.units lineprof.views.gpu_names "
        "lineprof.views.gpu_units lineprof.views.view"
    ),
    "lineprof.views.gpu_names": (
        "lineprof.demangle lineprof.errors lineprof.gpu_records lineprof.views.view"
    ),
    "lineprof.views.gpu_units": "",
    "lineprof.views.gpu_remarks": (
        "lineprof.errors lineprof.gpu_records lineprof.stats lineprof.views.view"
    ),
    "lineprof.views.gpu_summary": (
        "lineprof.gpu_records lineprof.stats lineprof.views.gpu_names "
        "lineprof.views.gpu_remarks lineprof.views.gpu_units lineprof.views.view"
    ),
    "lineprof.views.traces": (
        "lineprof.errors lineprof.gpu_records lineprof.stats lineprof.views.gpu_units "
        "lineprof.views.view"
    ),
    "lineprof.views.gpu_trace": (
        "lineprof.errors lineprof.gpu_records lineprof.occupancy lineprof.stats "
        "lineprof.views.gpu_names lineprof.views.gpu_remarks lineprof.views.gpu_units "
        "lineprof.views.traces lineprof.views.view"
    ),
    "lineprof.views.api_trace": (
        "lineprof.errors lineprof.gpu_records lineprof.records lineprof.stats "
        "lineprof.views.gpu_names lineprof.views.gpu_remarks lineprof.views.gpu_units "
        "lineprof.views.traces lineprof.views.view"
    ),
    "lineprof.views.view": (
        "lineprof.records lineprof.source lineprof.stats lineprof.values "
        "lineprof.views.screen"
    ),
}
KERNPROF_ROOMS = {
    "kernprof": "kernprof.cli",
    "kernprof.__main__": "kernprof.cli",
    "kernprof.cli": (
        "kernprof.flags kernprof.report kernprof.session kernprof.uncaught lineprof "
        "lineprof.errors"
    ),
    "kernprof.flags": "lineprof.errors lineprof.values",
    "kernprof.find": "kernprof.flags kernprof.outfile kernprof.program",
    "kernprof.program": "kernprof.compiled kernprof.flags",
    "kernprof.namesakes": "kernprof.closing kernprof.texts lineprof.later",
    "kernprof.compiled": "",
    "kernprof.stage": "kernprof.namesakes kernprof.program kernprof.spawned",
    "kernprof.session": (
        "kernprof.closing kernprof.find kernprof.flags kernprof.outfile "
        "kernprof.recorders kernprof.report kernprof.spawned kernprof.stage "
        "kernprof.terminate kernprof.texts lineprof.errors"
    ),
    "kernprof.recorders": (
        "kernprof.calls kernprof.flags lineprof.errors lineprof.explicit_profiler lineprof.gpu "
        "lineprof.profiler lineprof.store"
    ),
    "kernprof.calls": "",
    "kernprof.outfile": "kernprof.flags lineprof.placeholders",
    "kernprof.report": "",
    "kernprof.closing": "kernprof.recorders",
    "kernprof.texts": "",
    "kernprof.spawned": "lineprof.profiler",
    "kernprof.terminate": "",
    "kernprof.uncaught": "",
}
# What no change of the map may allow: a package, and those it never knows.
NEVER = {
    "lineprof": "kernprof",
    "lineprof.values": "lineprof",
    "lineprof.views": "lineprof._core lineprof.cli lineprof.profiler lineprof.store",
    "lineprof.profiler": "lineprof.cli lineprof.store lineprof.views",
    "kernprof": "lineprof._core lineprof.cli lineprof.views",
}
CORE = "lineprof._core"

C_ROOMS = {**LIBC_ROOMS, **PYTHON_C_ROOMS}
PYTHON_ROOMS = {**LINEPROF_ROOMS, **KERNPROF_ROOMS}
