"""The map: which room may know of which.

CONTRIBUTING.md shows it with the job of each room; test_rooms.py keeps it true.
"""

from __future__ import annotations

# A room is a pair of files, its header and its source: the rooms it may include.
LIBC_ROOMS = {
    "lp_clock": "",
    "lp_blocks": "",
    "lp_lines": "lp_blocks lp_clock",
    "lp_recorder": "lp_calls lp_clock lp_lines lp_slices lp_wait",
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
    "lp_statement": "lp_recorder",
    "lp_tree": "lp_blocks lp_lines",
    "lp_calls": "lp_recorder lp_tree",
    "lp_slices": "lp_clock",
    "lp_stays": "lp_recorder",
    "lp_slices_search": "lp_recorder",
    "lp_wait": "lp_clock lp_recorder lp_sampler lp_wait_sums",
    "lp_wait_sums": "lp_recorder",
    "lp_sampler": "lp_sampler_watch lp_wait",
    "lp_sampler_watch": "lp_open_lines lp_recorder lp_sampler",
    "lp_sampler_cause": "lp_sampler",
    "lp_charge": "lp_recorder",
}
PYTHON_C_ROOMS = {
    "lp_aside": "lp_clock lp_engine lp_python",
    "lp_callback": "lp_python",
    "lp_callable": "lp_python",
    "lp_calls_snapshot": "lp_calls lp_python lp_tracer",
    "lp_costs_snapshot": "lp_calls lp_python lp_tracer",
    "lp_audit": "lp_aside lp_engine lp_python lp_recorder",
    "lp_discover": "lp_aside lp_code lp_engine lp_python",
    "lp_natives": "lp_callable lp_calls lp_engine lp_python lp_tracer",
    "lp_slices_snapshot": "lp_python lp_slices_search lp_tracer",
    "lp_waits": "lp_sampler lp_tracer",
    "lp_mute": "lp_python lp_recorder",
    "lp_lookups": "lp_code lp_engine lp_python lp_recorder",
    "lp_join": "lp_tracer",
    "lp_python": "",
    "lp_code": "lp_lines lp_python lp_recorder",
    "lp_hook": "lp_hook_monitoring lp_hook_settrace lp_python",
    "lp_hook_settrace": "lp_arm lp_engine lp_gate lp_hook lp_mute lp_trace",
    "lp_hook_monitoring": "lp_discover lp_hook lp_monitoring_events lp_natives",
    "lp_monitoring_events": (
        "lp_audit lp_callback lp_discover lp_engine lp_natives lp_python"
    ),
    "lp_gate": "lp_arm lp_discover lp_engine lp_python lp_stack lp_trace lp_tracer",
    "lp_arm": "lp_engine lp_python lp_recorder lp_trace",
    "lp_trace": (
        "lp_arm lp_audit lp_discover lp_engine lp_lookups lp_mute lp_natives lp_python "
        "lp_recorder"
    ),
    "lp_engine": (
        "lp_calls lp_code lp_hook lp_parked lp_ranges lp_recorder lp_threads lp_tracer"
    ),
    "lp_threads": "lp_audit lp_engine lp_python lp_recorder lp_thread_name",
    "lp_tracer": "lp_blocks lp_calls lp_code lp_engine lp_natives lp_opening lp_python",
    "lp_thread_name": "lp_python",
    "lp_opening": "lp_discover lp_engine lp_waits",
    "lp_snapshot": "lp_calls_snapshot lp_python lp_tracer",
    "lp_tracer_type": (
        "lp_calls lp_costs_snapshot lp_join lp_natives lp_nvtx lp_opening lp_python "
        "lp_slices_snapshot lp_snapshot lp_tracer lp_waits"
    ),
    "lp_module": (
        "lp_audit lp_discover lp_engine lp_gpu_functions lp_hook lp_natives lp_nvtx "
        "lp_python lp_slices_snapshot lp_tracer_type lp_waits"
    ),
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
        "lineprof.call_records lineprof.exports.frame lineprof.gpu_records "
        "lineprof.ipython.html lineprof.own_records lineprof.records "
        "lineprof.stats_empty lineprof.stats_merge lineprof.stats_timings "
        "lineprof.store lineprof.toml_config lineprof.trace_records lineprof.units "
        "lineprof.views.show lineprof.views.view lineprof.wait_records"
    ),
    "lineprof.stats_merge": (
        "lineprof.gpu_records lineprof.records lineprof.stats "
        "lineprof.stats_merge_calls lineprof.stats_timings lineprof.units "
        "lineprof.values"
    ),
    "lineprof.source_rare": "",
    "lineprof.source_text": "lineprof.source_rare",
    "lineprof.source_file": "lineprof.records lineprof.source_text",
    "lineprof.source": "lineprof.records lineprof.source_file lineprof.source_text",
    "lineprof.targets": "lineprof.scopes lineprof.twins",
    "lineprof.twins": "",
    "lineprof.shape": (
        "lineprof.far_lines lineprof.jumps lineprof.lookups lineprof.loops "
        "lineprof.source_text lineprof.values"
    ),
    "lineprof.lookups": "",
    "lineprof.loops": "lineprof.jumps",
    "lineprof.jumps": "lineprof.values",
    "lineprof.register": "lineprof._core lineprof.labels lineprof.shape",
    "lineprof.bench": "lineprof.register",
    "lineprof.calibrate": "lineprof.bench lineprof.lookups lineprof.values",
    "lineprof.process": "",
    "lineprof.snapshot": (
        "lineprof.call_records lineprof.gpu_records lineprof.gpu_snapshot "
        "lineprof.process lineprof.records lineprof.snapshot_calls "
        "lineprof.source_file lineprof.stats lineprof.trace_records "
        "lineprof.trace_snapshot lineprof.values lineprof.wait_snapshot"
    ),
    "lineprof.cores": (
        "lineprof._core lineprof.calibrate lineprof.errors lineprof.process "
        "lineprof.values"
    ),
    "lineprof.profiler": (
        "lineprof.gpu lineprof.kinds lineprof.legacy lineprof.switch lineprof.targets "
        "lineprof.trace"
    ),
    "lineprof.later": (
        "lineprof.compiled lineprof.counted_calls lineprof.gpu_snapshot lineprof.jumps "
        "lineprof.kinds lineprof.namespaces lineprof.next_step lineprof.scoping_policy "
        "lineprof.snapshot lineprof.source_rare lineprof.stats_empty "
        "lineprof.store_write lineprof.store_write_calls lineprof.store_write_gpu "
        "lineprof.store_write_trace lineprof.targets lineprof.toml_config "
        "lineprof.trace_snapshot lineprof.views.gpu_footer lineprof.views.gpu_table "
        "lineprof.views.show"
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
        "lineprof.errors lineprof.records lineprof.stats lineprof.store_read_calls "
        "lineprof.store_read_gpu lineprof.store_read_pickle lineprof.store_read_trace "
        "lineprof.store_rows lineprof.store_schema lineprof.store_uri lineprof.units "
        "lineprof.values"
    ),
    "lineprof.store_write": (
        "lineprof.call_records lineprof.errors lineprof.gpu_records lineprof.records "
        "lineprof.stats lineprof.store_schema lineprof.store_uri "
        "lineprof.store_write_calls lineprof.store_write_gpu "
        "lineprof.store_write_trace lineprof.whole_file"
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
    "lineprof.gpu_timeline": "lineprof.columns lineprof.gpu_records",
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
        "lineprof.gpu_records lineprof.gpu_timeline lineprof.store_batches "
        "lineprof.store_rows lineprof.store_schema"
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
    "lineprof.exports": "lineprof.exports.export",
    "lineprof.exports.export": "lineprof.stats lineprof.values",
    "lineprof.exports.rows": (
        "lineprof.records lineprof.source lineprof.stats lineprof.views.json_gpu"
    ),
    "lineprof.exports.csv_": (
        "lineprof.exports.rows lineprof.log_file lineprof.stats lineprof.views.screen"
    ),
    "lineprof.exports.json_": (
        "lineprof.log_file lineprof.source lineprof.stats lineprof.views.json_ "
        "lineprof.views.view"
    ),
    "lineprof.exports.line_profiler": "lineprof.stats lineprof.stats_timings",
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
    "lineprof.legacy": "lineprof.discovery lineprof.legacy_views",
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
        "lineprof.source lineprof.source_text lineprof.wait_snapshot"
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
        "lineprof.next_step lineprof.progress lineprof.source lineprof.stats "
        "lineprof.views lineprof.views.notes lineprof.views.screen"
    ),
    "lineprof.commands.view_flags": (
        "lineprof.commands.booleans lineprof.commands.parser lineprof.config_read "
        "lineprof.errors lineprof.log_file lineprof.toml_config lineprof.version "
        "lineprof.views lineprof.views.call_flags lineprof.views.orders lineprof.yes_no"
    ),
    "lineprof.commands.run": (
        "kernprof.__main__ lineprof.commands.command lineprof.commands.output"
    ),
    "lineprof.commands.export": (
        "lineprof.commands.command lineprof.commands.files lineprof.commands.output "
        "lineprof.errors lineprof.exports lineprof.log_file lineprof.progress"
    ),
    "lineprof.commands.files": (
        "lineprof.commands.output lineprof.errors lineprof.progress lineprof.stats "
        "lineprof.store"
    ),
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
        "lineprof.compiled lineprof.first_use lineprof.gpu lineprof.namespaces "
        "lineprof.profiler_mixin lineprof.register lineprof.scoping_policy "
        "lineprof.switch lineprof.targets lineprof.twins lineprof.user_warning"
    ),
    "lineprof.results": (
        "lineprof.blocks lineprof.calibrate lineprof.compiled lineprof.first_use "
        "lineprof.gpu_snapshot lineprof.registry lineprof.snapshot "
        "lineprof.snapshot_calls lineprof.stats lineprof.switch lineprof.trace "
        "lineprof.wait_snapshot"
    ),
    "lineprof.switch": (
        "lineprof._core lineprof.cores lineprof.first_use lineprof.gpu "
        "lineprof.gpu_work lineprof.run"
    ),
    "lineprof.streams": "",
    "lineprof.page": "",
    "lineprof.call_records": "lineprof.records lineprof.values",
    "lineprof.wait_records": "lineprof.records lineprof.values",
    "lineprof.trace_records": (
        "lineprof.gpu_records lineprof.records lineprof.trace_columns lineprof.values"
    ),
    "lineprof.call_edges": (
        "lineprof.call_records lineprof.gpu_records lineprof.records lineprof.stats "
        "lineprof.values"
    ),
    "lineprof.discovery": (
        "lineprof.calibrate lineprof.records lineprof.results lineprof.values"
    ),
    "lineprof.snapshot_calls": (
        "lineprof.call_records lineprof.records lineprof.snapshot "
        "lineprof.snapshot_sums"
    ),
    "lineprof.snapshot_sums": "lineprof.records lineprof.snapshot_parts",
    "lineprof.stats_empty": "lineprof.records",
    "lineprof.stats_merge_calls": (
        "lineprof.call_records lineprof.own_records lineprof.records lineprof.stats "
        "lineprof.trace_records lineprof.values lineprof.wait_records"
    ),
    "lineprof.store_read_calls": (
        "lineprof.call_records lineprof.own_records lineprof.records "
        "lineprof.store_rows lineprof.store_schema lineprof.wait_records"
    ),
    "lineprof.store_write_calls": (
        "lineprof.call_records lineprof.records lineprof.stats lineprof.store_schema"
    ),
    "lineprof.short_names": "lineprof.records",
    "lineprof.progress": "lineprof.views.screen",
    "lineprof.next_step": (
        "lineprof.call_edges lineprof.page lineprof.records lineprof.short_names "
        "lineprof.stats"
    ),
    "lineprof.exports.stacks": (
        "lineprof.call_records lineprof.exports.gpu_streams lineprof.exports.shares "
        "lineprof.gpu_records lineprof.records lineprof.stats lineprof.values "
        "lineprof.views.gpu_names"
    ),
    "lineprof.exports.shares": "lineprof.call_records lineprof.records lineprof.stats",
    "lineprof.exports.names": "lineprof.errors lineprof.records lineprof.stats",
    "lineprof.exports.flames": (
        "lineprof.call_records lineprof.exports.stacks lineprof.records lineprof.stats"
    ),
    "lineprof.exports.own_waits": "lineprof.call_edges lineprof.records lineprof.stats",
    "lineprof.exports.gpu_streams": "lineprof.gpu_records lineprof.gpu_timeline",
    "lineprof.exports.callgrind": (
        "lineprof.call_edges lineprof.errors lineprof.exports.names "
        "lineprof.exports.own_waits lineprof.exports.stacks lineprof.gpu_lines "
        "lineprof.log_file lineprof.records lineprof.stats lineprof.version"
    ),
    "lineprof.exports.pprof": (
        "lineprof.errors lineprof.exports.names lineprof.exports.protobuf "
        "lineprof.exports.stacks lineprof.records lineprof.stats lineprof.version"
    ),
    "lineprof.exports.collapsed": (
        "lineprof.exports.flames lineprof.exports.names lineprof.exports.stacks "
        "lineprof.log_file lineprof.records lineprof.stats"
    ),
    "lineprof.exports.pstats_": (
        "lineprof.call_edges lineprof.call_records lineprof.errors "
        "lineprof.exports.stacks lineprof.records lineprof.stats"
    ),
    "lineprof.exports.svg": (
        "lineprof.errors lineprof.exports.flames lineprof.exports.names "
        "lineprof.exports.stacks lineprof.exports.svg_layout lineprof.exports.svg_page "
        "lineprof.exports.svg_titles lineprof.log_file lineprof.records lineprof.stats "
        "lineprof.units"
    ),
    "lineprof.exports.svg_layout": "lineprof.exports.flames lineprof.values",
    "lineprof.exports.svg_titles": (
        "lineprof.exports.flames lineprof.exports.names lineprof.records "
        "lineprof.source lineprof.stats lineprof.units"
    ),
    "lineprof.exports.svg_page": "",
    "lineprof.exports.protobuf": "",
    "lineprof.exports.json_text": "",
    "lineprof.exports.pieces": "",
    "lineprof.exports.call_order": "lineprof.call_records",
    "lineprof.exports.timeline": (
        "lineprof.exports.call_order lineprof.exports.names lineprof.exports.stacks "
        "lineprof.exports.timeline_arrows lineprof.exports.timeline_batches "
        "lineprof.exports.timeline_clock lineprof.exports.timeline_gpu "
        "lineprof.exports.timeline_labels lineprof.exports.timeline_rows "
        "lineprof.exports.timeline_slices lineprof.exports.timeline_sums "
        "lineprof.gpu_records lineprof.stats lineprof.trace_records"
    ),
    "lineprof.exports.timeline_rows": (
        "lineprof.exports.stacks lineprof.records lineprof.stats lineprof.values"
    ),
    "lineprof.exports.timeline_labels": (
        "lineprof.exports.names lineprof.gpu_records lineprof.records lineprof.stats "
        "lineprof.values lineprof.views.gpu_names"
    ),
    "lineprof.exports.timeline_arrows": "lineprof.exports.timeline_labels",
    "lineprof.exports.timeline_clock": (
        "lineprof.gpu_records lineprof.stats lineprof.trace_records"
    ),
    "lineprof.exports.timeline_batches": (
        "lineprof.gpu_records lineprof.gpu_timeline lineprof.values"
    ),
    "lineprof.exports.timeline_gpu": (
        "lineprof.exports.timeline_arrows lineprof.exports.timeline_labels "
        "lineprof.exports.timeline_rows lineprof.gpu_records lineprof.records "
        "lineprof.stats"
    ),
    "lineprof.exports.timeline_slices": (
        "lineprof.exports.timeline_arrows lineprof.exports.timeline_labels "
        "lineprof.exports.timeline_rows lineprof.trace_records"
    ),
    "lineprof.exports.timeline_sums": (
        "lineprof.call_records lineprof.exports.call_order "
        "lineprof.exports.timeline_arrows lineprof.exports.timeline_labels "
        "lineprof.exports.timeline_rows lineprof.exports.timeline_slices "
        "lineprof.records lineprof.stats"
    ),
    "lineprof.exports.chrome": (
        "lineprof.exports.json_text lineprof.exports.timeline "
        "lineprof.exports.timeline_labels lineprof.exports.timeline_rows "
        "lineprof.stats lineprof.version"
    ),
    "lineprof.exports.perfetto": (
        "lineprof.exports.protobuf lineprof.exports.timeline "
        "lineprof.exports.timeline_labels lineprof.exports.timeline_rows lineprof.stats"
    ),
    "lineprof.exports.speedscope": (
        "lineprof.exports.json_text lineprof.exports.names lineprof.exports.pieces "
        "lineprof.exports.speedscope_events lineprof.exports.speedscope_frames "
        "lineprof.exports.speedscope_stacks lineprof.exports.stacks lineprof.stats "
        "lineprof.version"
    ),
    "lineprof.exports.speedscope_frames": (
        "lineprof.exports.json_text lineprof.exports.names lineprof.records "
        "lineprof.values"
    ),
    "lineprof.exports.speedscope_stacks": (
        "lineprof.exports.pieces lineprof.exports.speedscope_frames "
        "lineprof.exports.stacks lineprof.gpu_records lineprof.stats"
    ),
    "lineprof.exports.speedscope_events": (
        "lineprof.exports.pieces lineprof.exports.speedscope_frames "
        "lineprof.exports.timeline_clock lineprof.exports.timeline_slices "
        "lineprof.stats"
    ),
    "lineprof.exports.cpuprofile": (
        "lineprof.exports.call_order lineprof.exports.cpuprofile_nodes "
        "lineprof.exports.cpuprofile_samples lineprof.exports.names "
        "lineprof.exports.pieces lineprof.exports.stacks "
        "lineprof.exports.timeline_slices lineprof.stats"
    ),
    "lineprof.exports.cpuprofile_nodes": (
        "lineprof.exports.json_text lineprof.exports.names lineprof.exports.stacks "
        "lineprof.exports.timeline_slices lineprof.records lineprof.stats"
    ),
    "lineprof.exports.cpuprofile_samples": (
        "lineprof.call_records lineprof.exports.call_order "
        "lineprof.exports.cpuprofile_nodes lineprof.exports.pieces "
        "lineprof.exports.shares lineprof.exports.timeline_clock lineprof.records "
        "lineprof.stats"
    ),
    "lineprof.exports.sqlite_": (
        "lineprof.exports.sqlite_rows lineprof.exports.sqlite_schema lineprof.stats"
    ),
    "lineprof.exports.sqlite_schema": "",
    "lineprof.exports.sqlite_rows": (
        "lineprof.call_edges lineprof.call_records lineprof.exports.sqlite_gpu "
        "lineprof.exports.timeline_clock lineprof.records lineprof.source "
        "lineprof.stats lineprof.version"
    ),
    "lineprof.exports.sqlite_gpu": (
        "lineprof.exports.timeline_batches lineprof.exports.timeline_clock "
        "lineprof.gpu_lines lineprof.gpu_records lineprof.records lineprof.stats "
        "lineprof.views.gpu_names"
    ),
    "lineprof.first_use": "",
    "lineprof.columns": "",
    "lineprof.trace": (
        "lineprof._core lineprof.errors lineprof.gpu_snapshot lineprof.trace_snapshot "
        "lineprof.values lineprof.yes_no"
    ),
    "lineprof.trace_columns": (
        "lineprof.columns lineprof.gpu_records lineprof.trace_records"
    ),
    "lineprof.trace_snapshot": (
        "lineprof._core lineprof.gpu_records lineprof.records lineprof.trace_columns "
        "lineprof.trace_records lineprof.values"
    ),
    "lineprof.store_write_trace": (
        "lineprof.errors lineprof.records lineprof.stats lineprof.store_schema "
        "lineprof.store_write_calls lineprof.trace_records"
    ),
    "lineprof.store_read_trace": (
        "lineprof.records lineprof.store_batches lineprof.store_rows "
        "lineprof.store_schema lineprof.trace_columns lineprof.trace_records"
    ),
    "lineprof.wait_snapshot": (
        "lineprof.own_records lineprof.records lineprof.wait_records"
    ),
    "lineprof.collectives": "lineprof.call_records lineprof.records lineprof.stats",
    "lineprof.own_records": "lineprof.records lineprof.values",
    "lineprof.split": (
        "lineprof.call_records lineprof.own_records lineprof.records lineprof.stats "
        "lineprof.values"
    ),
    "lineprof.store_batches": (
        "lineprof.gpu_records lineprof.store_rows lineprof.store_schema lineprof.values"
    ),
    "lineprof.far_lines": "lineprof.jumps",
    "lineprof.snapshot_parts": "lineprof.records",
    "lineprof.cli": (
        "lineprof.commands lineprof.commands.command lineprof.commands.output "
        "lineprof.commands.parser lineprof.errors lineprof.version"
    ),
    "lineprof.views": (
        "lineprof.views.calls lineprof.views.gpu lineprof.views.json_ "
        "lineprof.views.text lineprof.views.view"
    ),
    "lineprof.views.json_": (
        "lineprof.records lineprof.source lineprof.stats lineprof.views.json_calls "
        "lineprof.views.json_gpu lineprof.views.view"
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
        "lineprof.views.orders lineprof.views.parts lineprof.views.table "
        "lineprof.views.view lineprof.views.waits"
    ),
    "lineprof.views.json_gpu": (
        "lineprof.gpu_lines lineprof.gpu_records lineprof.records lineprof.values"
    ),
    "lineprof.views.gpu": (
        "lineprof.source lineprof.stats lineprof.views.api_trace "
        "lineprof.views.gpu_flags lineprof.views.gpu_remarks "
        "lineprof.views.gpu_summary lineprof.views.gpu_trace lineprof.views.view"
    ),
    "lineprof.views.gpu_flags": (
        "lineprof.errors lineprof.views.orders lineprof.views.view"
    ),
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
    "lineprof.views.columns": "lineprof.units lineprof.values lineprof.wait_records",
    "lineprof.views.show": (
        "lineprof.source lineprof.stats lineprof.stats_timings lineprof.toml_config "
        "lineprof.values lineprof.views.screen lineprof.views.table "
        "lineprof.views.text lineprof.views.view"
    ),
    "lineprof.views.highlight": "",
    "lineprof.views.calls": (
        "lineprof.source lineprof.stats lineprof.views.call_flags "
        "lineprof.views.call_remarks lineprof.views.callers lineprof.views.drill "
        "lineprof.views.functions lineprof.views.gpu_flags lineprof.views.hot "
        "lineprof.views.orders lineprof.views.text lineprof.views.tree "
        "lineprof.views.view"
    ),
    "lineprof.views.call_flags": (
        "lineprof.errors lineprof.views.gpu_flags lineprof.views.view"
    ),
    "lineprof.views.call_remarks": "lineprof.stats lineprof.views.view",
    "lineprof.views.orders": "lineprof.errors",
    "lineprof.views.glyphs": "lineprof.values lineprof.views.screen",
    "lineprof.views.grid": (
        "lineprof.units lineprof.values lineprof.views.glyphs lineprof.views.screen"
    ),
    "lineprof.views.find": "lineprof.errors lineprof.records lineprof.short_names",
    "lineprof.views.functions": (
        "lineprof.call_edges lineprof.gpu_lines lineprof.records lineprof.short_names "
        "lineprof.stats lineprof.values lineprof.views.grid lineprof.views.orders "
        "lineprof.views.view"
    ),
    "lineprof.views.hot": (
        "lineprof.call_edges lineprof.gpu_lines lineprof.records lineprof.short_names "
        "lineprof.source lineprof.stats lineprof.values lineprof.views.grid "
        "lineprof.views.view"
    ),
    "lineprof.views.callers": (
        "lineprof.call_edges lineprof.gpu_lines lineprof.short_names lineprof.source "
        "lineprof.stats lineprof.values lineprof.views.find lineprof.views.grid "
        "lineprof.views.view"
    ),
    "lineprof.views.ways": "lineprof.call_records lineprof.records lineprof.stats",
    "lineprof.views.tree": (
        "lineprof.records lineprof.short_names lineprof.source lineprof.stats "
        "lineprof.values lineprof.views.glyphs lineprof.views.grid lineprof.views.view "
        "lineprof.views.ways"
    ),
    "lineprof.views.drill_find": (
        "lineprof.call_edges lineprof.errors lineprof.records lineprof.stats "
        "lineprof.values lineprof.views.find lineprof.views.view"
    ),
    "lineprof.views.drill": (
        "lineprof.call_edges lineprof.records lineprof.source lineprof.stats "
        "lineprof.values lineprof.views.drill_find lineprof.views.find "
        "lineprof.views.function_tables lineprof.views.glyphs lineprof.views.grid "
        "lineprof.views.view lineprof.views.waits"
    ),
    "lineprof.views.function_tables": (
        "lineprof.records lineprof.source lineprof.stats lineprof.values "
        "lineprof.views.text lineprof.views.view"
    ),
    "lineprof.views.waits": (
        "lineprof.records lineprof.stats lineprof.views.columns lineprof.views.grid "
        "lineprof.views.view lineprof.wait_records"
    ),
    "lineprof.views.json_calls": (
        "lineprof.call_edges lineprof.collectives lineprof.records lineprof.split "
        "lineprof.stats lineprof.values"
    ),
    "lineprof.views.parts": (
        "lineprof.collectives lineprof.records lineprof.split lineprof.stats "
        "lineprof.units lineprof.views.columns lineprof.views.grid lineprof.views.view"
    ),
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
    "kernprof.find": (
        "kernprof.other_language kernprof.outfile kernprof.plan kernprof.program"
    ),
    "kernprof.program": "kernprof.compiled kernprof.main_module kernprof.plan",
    "kernprof.namesakes": (
        "kernprof.call_table kernprof.closing kernprof.texts lineprof.later"
    ),
    "kernprof.compiled": "",
    "kernprof.stage": "kernprof.namesakes kernprof.program kernprof.spawned",
    "kernprof.session": (
        "kernprof.advice kernprof.budget_watch kernprof.closing kernprof.find "
        "kernprof.interval kernprof.log kernprof.outfile kernprof.plan "
        "kernprof.recorders kernprof.report kernprof.setup_file kernprof.spawned "
        "kernprof.stage kernprof.terminate kernprof.texts kernprof.watchers "
        "lineprof.errors lineprof.later"
    ),
    "kernprof.recorders": (
        "kernprof.call_table kernprof.calls kernprof.explicit kernprof.plan "
        "kernprof.spawned kernprof.whole lineprof.errors lineprof.gpu "
        "lineprof.next_step lineprof.profiler lineprof.store lineprof.whole_file"
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
        "kernprof.plan kernprof.program kernprof.report kernprof.watchers "
        "lineprof.autoprofile.functions lineprof.autoprofile.watching lineprof.profiler"
    ),
    "kernprof.main_module": "",
    "kernprof.plan": "lineprof.errors lineprof.toml_config lineprof.trace",
    "kernprof.words": "kernprof.plan lineprof.trace lineprof.yes_no",
    "kernprof.parse": (
        "kernprof.flags kernprof.help kernprof.plan kernprof.words lineprof.yes_no"
    ),
    "kernprof.help": "kernprof.flags",
    "kernprof.defaults": (
        "kernprof.flags kernprof.plan kernprof.words lineprof.config_read "
        "lineprof.toml_config"
    ),
    "kernprof.call_table": "kernprof.calls",
    "kernprof.budget": "lineprof.discovery lineprof.records",
    "kernprof.whole": (
        "kernprof.choice kernprof.decorated kernprof.outfile kernprof.own_places "
        "kernprof.patterns kernprof.plan kernprof.program "
        "lineprof.autoprofile.functions lineprof.first_use lineprof.jumps "
        "lineprof.profiler lineprof.stats"
    ),
    "kernprof.watchers": (
        "kernprof.plan kernprof.prof_mod kernprof.program kernprof.recorders "
        "kernprof.whole lineprof.profiler"
    ),
    "kernprof.choice": (
        "kernprof.outfile kernprof.patterns kernprof.places lineprof.collectives "
        "lineprof.values"
    ),
    "kernprof.places": "lineprof.values",
    "kernprof.own_places": (
        "kernprof.distribution kernprof.places kernprof.plan kernprof.program"
    ),
    "kernprof.distribution": "kernprof.places",
    "kernprof.patterns": "kernprof.globs lineprof.values",
    "kernprof.globs": "",
    "kernprof.decorated": "",
    "kernprof.other_language": "kernprof.plan",
    "kernprof.explicit": "lineprof.explicit_profiler",
    "kernprof.budget_watch": (
        "kernprof.budget kernprof.interval lineprof.profiler lineprof.records "
        "lineprof.units"
    ),
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
