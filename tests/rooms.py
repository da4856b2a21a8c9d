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
    "lp_mute": "lp_python lp_recorder",
    "lp_join": "lp_tracer",
    "lp_python": "",
    "lp_code": "lp_lines lp_python lp_recorder",
    "lp_hook": "lp_hook_monitoring lp_hook_settrace lp_python",
    "lp_hook_settrace": "lp_arm lp_engine lp_gate lp_hook lp_mute lp_trace",
    "lp_hook_monitoring": "lp_hook lp_monitoring_events",
    "lp_monitoring_events": "lp_engine lp_python",
    "lp_gate": "lp_arm lp_engine lp_python lp_stack lp_trace lp_tracer",
    "lp_arm": "lp_engine lp_python lp_recorder lp_trace",
    "lp_trace": "lp_arm lp_engine lp_mute lp_python lp_recorder",
    "lp_engine": "lp_code lp_hook lp_parked lp_ranges lp_recorder lp_threads lp_tracer",
    "lp_threads": "lp_engine lp_python lp_recorder lp_thread_name",
    "lp_tracer": "lp_blocks lp_code lp_engine lp_opening lp_python",
    "lp_thread_name": "lp_python",
    "lp_opening": "lp_engine",
    "lp_snapshot": "lp_python lp_tracer",
    "lp_tracer_type": "lp_join lp_nvtx lp_opening lp_python lp_snapshot lp_tracer",
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
        "lineprof.explicit_profiler lineprof.gpu lineprof.ipython "
        "lineprof.line_profiler lineprof.profiler lineprof.stats lineprof.version"
    ),
    "lineprof.__main__": "lineprof.cli",
    "lineprof.version": "",
    "lineprof.errors": "",
    "lineprof.units": "",
    "lineprof.values": "",
    "lineprof.records": "lineprof.values",
    "lineprof.stats": (
        "lineprof.exports.frame lineprof.gpu_records lineprof.ipython.html "
        "lineprof.records lineprof.stats_merge lineprof.stats_timings lineprof.store "
        "lineprof.toml_config lineprof.units lineprof.views.show lineprof.views.view"
    ),
    "lineprof.stats_merge": (
        "lineprof.gpu_records lineprof.records lineprof.stats lineprof.stats_timings "
        "lineprof.units lineprof.values"
    ),
    "lineprof.source_rare": "",
    "lineprof.source_text": "lineprof.source_rare",
    "lineprof.source_file": "lineprof.records lineprof.source_text",
    "lineprof.source": "lineprof.records lineprof.source_file lineprof.source_text",
    "lineprof.targets": "lineprof.scopes lineprof.twins",
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
        "lineprof.gpu lineprof.kinds lineprof.legacy lineprof.switch lineprof.targets"
    ),
    "lineprof.later": (
        "lineprof.compiled lineprof.counted_calls lineprof.gpu_snapshot lineprof.jumps "
        "lineprof.kinds lineprof.namespaces lineprof.scoping_policy lineprof.snapshot "
        "lineprof.source_rare lineprof.store_write lineprof.store_write_gpu "
        "lineprof.targets lineprof.toml_config lineprof.views.gpu_footer "
        "lineprof.views.gpu_table lineprof.views.show"
    ),
    "lineprof.explicit_profiler": (
        "lineprof.explicit_output lineprof.process lineprof.profiler "
        "lineprof.toml_config"
    ),
    "lineprof.explicit_output": (
        "lineprof.errors lineprof.explicit_profiler lineprof.page lineprof.stats "
        "lineprof.streams"
    ),
    "lineprof.store": (
        "lineprof.errors lineprof.stats lineprof.store_read lineprof.store_write"
    ),
    "lineprof.store_schema": "lineprof.values",
    "lineprof.store_uri": "",
    "lineprof.store_read": (
        "lineprof.errors lineprof.gpu_records lineprof.records lineprof.stats "
        "lineprof.store_read_gpu lineprof.store_read_pickle lineprof.store_rows "
        "lineprof.store_schema lineprof.store_uri lineprof.units lineprof.values"
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
        "lineprof.errors lineprof.placeholders lineprof.records lineprof.whole_file"
    ),
    "lineprof.demangle": "",
    "lineprof.occupancy": "",
    "lineprof.run": (
        "lineprof.dynamo lineprof.process lineprof.records lineprof.version"
    ),
    "lineprof.whole_file": "lineprof.errors",
    "lineprof.stats_timings": "lineprof.records lineprof.units",
    "lineprof.pickles": "",
    "lineprof.store_read_pickle": (
        "lineprof.errors lineprof.pickles lineprof.records lineprof.stats "
        "lineprof.stats_timings"
    ),
    "lineprof.exports": (
        "lineprof.exports.csv_ lineprof.exports.export lineprof.exports.json_ "
        "lineprof.exports.line_profiler"
    ),
    "lineprof.exports.export": "lineprof.stats lineprof.values",
    "lineprof.exports.rows": (
        "lineprof.records lineprof.source lineprof.stats lineprof.views.json_gpu"
    ),
    "lineprof.exports.csv_": (
        "lineprof.exports.export lineprof.exports.rows lineprof.log_file "
        "lineprof.stats lineprof.views.screen"
    ),
    "lineprof.exports.json_": (
        "lineprof.exports.export lineprof.log_file lineprof.source lineprof.stats "
        "lineprof.views.json_ lineprof.views.view"
    ),
    "lineprof.exports.line_profiler": (
        "lineprof.exports.export lineprof.stats lineprof.stats_timings"
    ),
    "lineprof.exports.frame": "lineprof.errors lineprof.exports.rows lineprof.stats",
    "lineprof.autoprofile": "",
    "lineprof.autoprofile.functions": "",
    "lineprof.autoprofile.imports": "lineprof.values",
    "lineprof.autoprofile.members": "",
    "lineprof.autoprofile.names": "lineprof.values",
    "lineprof.autoprofile.arrivals": "",
    "lineprof.autoprofile.watching": (
        "lineprof.autoprofile.arrivals lineprof.autoprofile.functions "
        "lineprof.autoprofile.imports lineprof.autoprofile.members "
        "lineprof.autoprofile.names lineprof.profiler"
    ),
    "lineprof.autoprofile.autoprofile": (
        "lineprof.autoprofile.names lineprof.autoprofile.watching"
    ),
    "lineprof.legacy": "lineprof.legacy_views lineprof.results",
    "lineprof.legacy_views": "lineprof.stats_timings lineprof.twins",
    "lineprof.profiler_mixin": (
        "lineprof.counted_calls lineprof.kinds lineprof.namespaces lineprof.targets "
        "lineprof.user_warning"
    ),
    "lineprof.counted_calls": "",
    "lineprof.kinds": "",
    "lineprof.scopes": "",
    "lineprof.namespaces": "lineprof.scopes lineprof.targets",
    "lineprof.scoping_policy": "lineprof.line_profiler_utils lineprof.scopes",
    "lineprof.line_profiler_utils": "",
    "lineprof.compiled": "lineprof.kinds lineprof.targets lineprof.twins",
    "lineprof.user_warning": "",
    "lineprof.line_profiler": (
        "lineprof.cli lineprof.ipython lineprof.profiler lineprof.profiler_mixin "
        "lineprof.scoping_policy lineprof.source lineprof.stats lineprof.toml_config "
        "lineprof.version lineprof.views.show"
    ),
    "lineprof.blocks": (
        "lineprof._core lineprof.records lineprof.register lineprof.snapshot "
        "lineprof.source lineprof.source_text"
    ),
    "lineprof.yes_no": "",
    "lineprof.config_defaults": "",
    "lineprof.config_files": "lineprof.values",
    "lineprof.config_tables": "lineprof.values",
    "lineprof.toml_config": (
        "lineprof.config_defaults lineprof.config_files lineprof.config_tables"
    ),
    "lineprof.config_read": "lineprof.errors lineprof.toml_config",
    "lineprof.commands": (
        "lineprof.commands.export lineprof.commands.run lineprof.commands.view"
    ),
    "lineprof.commands.command": "lineprof.values",
    "lineprof.commands.parser": "lineprof.commands.output lineprof.errors",
    "lineprof.commands.output": (
        "lineprof.errors lineprof.streams lineprof.views.screen"
    ),
    "lineprof.commands.booleans": "lineprof.errors lineprof.yes_no",
    "lineprof.commands.view": (
        "lineprof.commands.command lineprof.commands.files lineprof.commands.output "
        "lineprof.commands.view_flags lineprof.config_read lineprof.log_file "
        "lineprof.source lineprof.stats lineprof.views lineprof.views.notes "
        "lineprof.views.screen"
    ),
    "lineprof.commands.view_flags": (
        "lineprof.commands.booleans lineprof.commands.parser lineprof.config_read "
        "lineprof.errors lineprof.log_file lineprof.toml_config lineprof.version "
        "lineprof.views"
    ),
    "lineprof.commands.run": (
        "kernprof.__main__ lineprof.commands.command lineprof.commands.output"
    ),
    "lineprof.commands.export": (
        "lineprof.commands.command lineprof.commands.files lineprof.commands.output "
        "lineprof.errors lineprof.exports lineprof.log_file lineprof.stats"
    ),
    "lineprof.commands.files": "lineprof.commands.output lineprof.errors",
    "lineprof.ipython_extension": (
        "lineprof.ipython lineprof.ipython.awaiting lineprof.ipython.cell "
        "lineprof.ipython.options lineprof.ipython.profiler lineprof.ipython.reloaded "
        "lineprof.ipython.run lineprof.ipython.show"
    ),
    "lineprof.ipython": "lineprof.ipython_extension",
    "lineprof.ipython.options": "lineprof.values",
    "lineprof.ipython.cell": "lineprof.values",
    "lineprof.ipython.awaiting": "lineprof.ipython.cell lineprof.ipython.options",
    "lineprof.ipython.run": "lineprof.profiler",
    "lineprof.ipython.profiler": (
        "lineprof.ipython.html lineprof.profiler lineprof.records lineprof.source_file "
        "lineprof.stats"
    ),
    "lineprof.ipython.reloaded": "lineprof.source_text",
    "lineprof.ipython.show": (
        "lineprof.errors lineprof.ipython.html lineprof.ipython.options "
        "lineprof.ipython.profiler lineprof.log_file lineprof.stats"
    ),
    "lineprof.ipython.html": (
        "lineprof.errors lineprof.ipython.html_style lineprof.source lineprof.stats "
        "lineprof.units lineprof.values lineprof.views.table lineprof.views.text "
        "lineprof.views.view"
    ),
    "lineprof.ipython.html_style": "",
    "lineprof.registry": (
        "lineprof.compiled lineprof.gpu lineprof.namespaces lineprof.profiler_mixin "
        "lineprof.register lineprof.scoping_policy lineprof.switch lineprof.targets "
        "lineprof.twins lineprof.user_warning"
    ),
    "lineprof.results": (
        "lineprof.blocks lineprof.calibrate lineprof.compiled lineprof.gpu_snapshot "
        "lineprof.registry lineprof.snapshot lineprof.stats lineprof.switch"
    ),
    "lineprof.switch": (
        "lineprof._core lineprof.cores lineprof.gpu lineprof.gpu_work lineprof.run"
    ),
    "lineprof.streams": "",
    "lineprof.page": "",
    "lineprof.cli": (
        "lineprof.commands lineprof.commands.command lineprof.commands.output "
        "lineprof.commands.parser lineprof.errors lineprof.version"
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
    "lineprof.views.table": (
        "lineprof.values lineprof.views.columns lineprof.views.screen"
    ),
    "lineprof.views.text": (
        "lineprof.errors lineprof.records lineprof.source lineprof.stats "
        "lineprof.stats_timings lineprof.units lineprof.views.gpu_flags "
        "lineprof.views.gpu_footer lineprof.views.gpu_table lineprof.views.highlight "
        "lineprof.views.table lineprof.views.view"
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
        "lineprof.gpu_lines lineprof.gpu_numbers lineprof.units lineprof.values "
        "lineprof.views.table"
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
    "lineprof.views.columns": "lineprof.units lineprof.values",
    "lineprof.views.show": (
        "lineprof.source lineprof.stats lineprof.stats_timings lineprof.toml_config "
        "lineprof.values lineprof.views.screen lineprof.views.table "
        "lineprof.views.text lineprof.views.view"
    ),
    "lineprof.views.highlight": "",
    "lineprof.views.view": (
        "lineprof.records lineprof.source lineprof.stats lineprof.units "
        "lineprof.values lineprof.views.screen"
    ),
}
KERNPROF_ROOMS = {
    "kernprof": "kernprof.__main__ kernprof.calls kernprof.cli lineprof.version",
    "kernprof.__main__": "kernprof.cli",
    "kernprof.cli": (
        "kernprof.defaults kernprof.help kernprof.parse kernprof.plan kernprof.report "
        "kernprof.session kernprof.uncaught lineprof lineprof.errors"
    ),
    "kernprof.flags": "kernprof.words lineprof.values",
    "kernprof.find": "kernprof.outfile kernprof.plan kernprof.program",
    "kernprof.program": "kernprof.compiled kernprof.main_module kernprof.plan",
    "kernprof.namesakes": (
        "kernprof.call_table kernprof.closing kernprof.texts lineprof.later"
    ),
    "kernprof.compiled": "",
    "kernprof.stage": "kernprof.namesakes kernprof.program kernprof.spawned",
    "kernprof.session": (
        "kernprof.advice kernprof.closing kernprof.find kernprof.interval kernprof.log "
        "kernprof.outfile kernprof.plan kernprof.prof_mod kernprof.recorders "
        "kernprof.report kernprof.setup_file kernprof.spawned kernprof.stage "
        "kernprof.terminate kernprof.texts lineprof.errors lineprof.later "
        "lineprof.profiler"
    ),
    "kernprof.recorders": (
        "kernprof.call_table kernprof.calls kernprof.plan kernprof.spawned "
        "lineprof.errors lineprof.explicit_profiler lineprof.gpu lineprof.profiler "
        "lineprof.store lineprof.whole_file"
    ),
    "kernprof.calls": "kernprof.call_stats kernprof.wrappers lineprof.profiler_mixin",
    "kernprof.outfile": "kernprof.plan lineprof.placeholders",
    "kernprof.report": "lineprof.streams",
    "kernprof.closing": "kernprof.recorders lineprof.page",
    "kernprof.texts": "",
    "kernprof.spawned": "lineprof.profiler",
    "kernprof.terminate": "",
    "kernprof.uncaught": "",
    "kernprof.advice": "kernprof.plan",
    "kernprof.call_stats": "",
    "kernprof.wrappers": "",
    "kernprof.interval": "",
    "kernprof.log": "kernprof.plan kernprof.report",
    "kernprof.setup_file": (
        "kernprof.compiled kernprof.find kernprof.namesakes kernprof.report "
        "kernprof.stage"
    ),
    "kernprof.prof_mod": (
        "kernprof.plan kernprof.program kernprof.report lineprof.autoprofile.functions "
        "lineprof.autoprofile.watching lineprof.profiler"
    ),
    "kernprof.main_module": "",
    "kernprof.plan": "lineprof.errors lineprof.toml_config",
    "kernprof.words": "kernprof.plan lineprof.yes_no",
    "kernprof.parse": (
        "kernprof.flags kernprof.help kernprof.plan kernprof.words lineprof.yes_no"
    ),
    "kernprof.help": "kernprof.flags",
    "kernprof.defaults": (
        "kernprof.flags kernprof.plan kernprof.words lineprof.config_read "
        "lineprof.toml_config"
    ),
    "kernprof.call_table": "kernprof.calls",
}
# What no change of the map may allow: a package, and those it never knows.
NEVER = {
    "lineprof": "kernprof",
    "lineprof.values": "lineprof",
    "lineprof.views": "lineprof._core lineprof.cli lineprof.profiler lineprof.store",
    "lineprof.profiler": "lineprof.cli lineprof.store lineprof.views",
    "kernprof": "lineprof._core lineprof.cli lineprof.views",
}
# But this: `lineprof run` is kernprof under another name.
ALLOWED = {("lineprof.commands.run", "kernprof.__main__")}
CORE = "lineprof._core"

C_ROOMS = {**LIBC_ROOMS, **PYTHON_C_ROOMS}
PYTHON_ROOMS = {**LINEPROF_ROOMS, **KERNPROF_ROOMS}
