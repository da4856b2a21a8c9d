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
        "lineprof.explicit_profiler lineprof.recording.gpu lineprof.ipython "
        "lineprof.line_profiler lineprof.recording.profiler lineprof.model.profile lineprof.version"
    ),
    "lineprof.__main__": "lineprof.cli.main",
    "lineprof.version": "",
    "lineprof.errors": "",
    "lineprof.model.records": "",
    "lineprof.values": "",
    "lineprof.model.records": "lineprof.values",
    "lineprof.model.profile": (
        "lineprof.model.records lineprof.export.tables lineprof.model.gpu "
        "lineprof.report.html lineprof.model.records lineprof.model.records "
        "lineprof.model.profile lineprof.model.merge lineprof.model.profile "
        "lineprof.storage lineprof.toml_config lineprof.model.timelines lineprof.model.records "
        "lineprof.report.show lineprof.report.options lineprof.model.records"
    ),
    "lineprof.model.merge": (
        "lineprof.model.gpu lineprof.model.records lineprof.model.profile "
        "lineprof.model.merge lineprof.model.profile lineprof.model.records "
        "lineprof.values"
    ),
    "lineprof.source": "",
    "lineprof.source": "lineprof.source",
    "lineprof.source": "lineprof.model.records lineprof.source",
    "lineprof.source": "lineprof.model.records lineprof.source lineprof.source",
    "lineprof.decorate.callables": "lineprof.decorate.callables lineprof.decorate.code_copies",
    "lineprof.decorate.code_copies": "",
    "lineprof.bytecode.code_tables": (
        "lineprof.bytecode.instructions lineprof.bytecode.instructions lineprof.bytecode.instructions lineprof.bytecode.instructions "
        "lineprof.source lineprof.values"
    ),
    "lineprof.bytecode.instructions": "",
    "lineprof.bytecode.instructions": "lineprof.bytecode.instructions",
    "lineprof.bytecode.instructions": "lineprof.values",
    "lineprof.bytecode.code_tables": "lineprof._core lineprof.bytecode.code_tables lineprof.bytecode.code_tables",
    "lineprof.recording.calibration": "lineprof.bytecode.code_tables",
    "lineprof.recording.calibration": "lineprof.recording.calibration lineprof.bytecode.instructions lineprof.values",
    "lineprof.process_info": "",
    "lineprof.snapshot.profile": (
        "lineprof.model.records lineprof.model.gpu lineprof.snapshot.gpu "
        "lineprof.process_info lineprof.model.records lineprof.snapshot.calls "
        "lineprof.source lineprof.model.profile lineprof.model.timelines "
        "lineprof.snapshot.profile lineprof.values lineprof.snapshot.profile"
    ),
    "lineprof.recording.core": (
        "lineprof._core lineprof.recording.calibration lineprof.errors lineprof.process_info "
        "lineprof.values"
    ),
    "lineprof.recording.profiler": (
        "lineprof.recording.gpu lineprof.decorate.callables lineprof.legacy lineprof.recording.core lineprof.decorate.callables "
        "lineprof.recording.core"
    ),
    "lineprof.later": (
        "lineprof.recording.compiled lineprof.decorate.wrappers lineprof.snapshot.gpu lineprof.bytecode.instructions "
        "lineprof.decorate.callables lineprof.decorate.callables lineprof.report.notes lineprof.scoping_policy "
        "lineprof.snapshot.profile lineprof.source lineprof.model.profile "
        "lineprof.storage.writer lineprof.storage.writer lineprof.storage.writer "
        "lineprof.storage.writer lineprof.decorate.callables lineprof.toml_config "
        "lineprof.snapshot.profile lineprof.report.gpu_table lineprof.report.gpu_table "
        "lineprof.report.show"
    ),
    "lineprof.explicit_profiler": (
        "lineprof.recording.global_profiler lineprof.process_info lineprof.recording.profiler "
        "lineprof.toml_config"
    ),
    "lineprof.recording.global_profiler": (
        "lineprof.errors lineprof.explicit_profiler lineprof.console.output lineprof.model.profile "
        "lineprof.console.output"
    ),
    "lineprof.storage": (
        "lineprof.errors lineprof.model.profile lineprof.storage.reader lineprof.storage.writer"
    ),
    "lineprof.storage.schema": "lineprof.values",
    "lineprof.storage.schema": "",
    "lineprof.storage.reader": (
        "lineprof.errors lineprof.model.records lineprof.model.profile lineprof.storage.reader "
        "lineprof.storage.reader_gpu lineprof.storage.line_profiler_files lineprof.storage.reader_gpu "
        "lineprof.storage.schema lineprof.storage.schema lineprof.storage.schema lineprof.model.records "
        "lineprof.values"
    ),
    "lineprof.storage.writer": (
        "lineprof.model.records lineprof.errors lineprof.model.gpu lineprof.model.records "
        "lineprof.model.profile lineprof.storage.schema lineprof.storage.schema "
        "lineprof.storage.writer lineprof.storage.writer "
        "lineprof.storage.writer lineprof.files"
    ),
    "lineprof.recording.gpu": "lineprof.errors lineprof.recording.gpu lineprof.values",
    "lineprof.recording.gpu": "",
    "lineprof.recording.gpu": "lineprof.recording.gpu lineprof.model.gpu lineprof.snapshot.gpu",
    "lineprof.model.gpu": "lineprof.model.timelines lineprof.model.records lineprof.values",
    "lineprof.snapshot.gpu": "lineprof.model.gpu lineprof.model.records",
    "lineprof.snapshot.gpu": (
        "lineprof.snapshot.gpu lineprof.model.gpu lineprof.model.timelines "
        "lineprof.model.records lineprof.values"
    ),
    "lineprof.model.timelines": "lineprof.model.timelines lineprof.model.gpu",
    "lineprof.model.gpu": "lineprof.model.gpu lineprof.values",
    "lineprof.model.gpu": (
        "lineprof.model.gpu lineprof.model.gpu lineprof.model.records lineprof.values"
    ),
    "lineprof.bytecode.code_tables": "lineprof.bytecode.instructions lineprof.source",
    "lineprof.recording.compiled": "",
    "lineprof.storage.schema": "lineprof.storage.schema",
    "lineprof.storage.reader_gpu": (
        "lineprof.model.gpu lineprof.model.records lineprof.storage.reader_gpu "
        "lineprof.storage.schema lineprof.storage.schema"
    ),
    "lineprof.storage.reader_gpu": (
        "lineprof.model.gpu lineprof.model.timelines lineprof.storage.reader_gpu "
        "lineprof.storage.schema lineprof.storage.schema"
    ),
    "lineprof.storage.writer": (
        "lineprof.model.gpu lineprof.model.records lineprof.model.profile lineprof.storage.schema"
    ),
    "lineprof.files": "lineprof.errors",
    "lineprof.files": (
        "lineprof.errors lineprof.files lineprof.model.records lineprof.files"
    ),
    "lineprof.report.gpu_format": "",
    "lineprof.report.gpu_format": "",
    "lineprof.recording.core": (
        "lineprof.recording.compiled lineprof.process_info lineprof.model.records lineprof.version"
    ),
    "lineprof.files": "lineprof.errors",
    "lineprof.model.profile": "lineprof.model.records lineprof.model.records",
    "lineprof.pickles": "",
    "lineprof.storage.line_profiler_files": (
        "lineprof.errors lineprof.pickles lineprof.model.records lineprof.model.profile "
        "lineprof.model.profile"
    ),
    "lineprof.export": "lineprof.export",
    "lineprof.export": "lineprof.model.profile lineprof.values",
    "lineprof.export.tables": (
        "lineprof.model.records lineprof.source lineprof.model.profile lineprof.report.json_report"
    ),
    "lineprof.export.tables": (
        "lineprof.export.tables lineprof.files lineprof.model.profile lineprof.console.terminal"
    ),
    "lineprof.export.tables": (
        "lineprof.files lineprof.source lineprof.model.profile lineprof.report.json_report "
        "lineprof.report.options"
    ),
    "lineprof.export.line_profiler": "lineprof.model.profile lineprof.model.profile",
    "lineprof.export.tables": "lineprof.errors lineprof.export.tables lineprof.model.profile",
    "lineprof.autoprofile": "",
    "lineprof.bytecode.definitions": "",
    "lineprof.bytecode.definitions": "lineprof.values",
    "lineprof.autoprofile.targets": "",
    "lineprof.autoprofile.targets": "lineprof.values",
    "lineprof.autoprofile.autoprofile": "",
    "lineprof.autoprofile.autoprofile": (
        "lineprof.autoprofile.autoprofile lineprof.bytecode.definitions "
        "lineprof.bytecode.definitions lineprof.autoprofile.targets "
        "lineprof.autoprofile.targets lineprof.recording.profiler"
    ),
    "lineprof.autoprofile.autoprofile": (
        "lineprof.autoprofile.targets lineprof.autoprofile.autoprofile"
    ),
    "lineprof.legacy": "lineprof.recording.profiler lineprof.recording.profiler",
    "lineprof.recording.profiler": "lineprof.model.profile lineprof.decorate.code_copies",
    "lineprof.decorate.wrappers": (
        "lineprof.decorate.wrappers lineprof.decorate.callables lineprof.decorate.callables lineprof.decorate.callables "
        "lineprof.errors"
    ),
    "lineprof.decorate.wrappers": "",
    "lineprof.decorate.callables": "",
    "lineprof.decorate.callables": "",
    "lineprof.decorate.callables": "lineprof.decorate.callables lineprof.decorate.callables",
    "lineprof.scoping_policy": "lineprof.decorate.callables lineprof.decorate.callables",
    "lineprof.decorate.callables": "",
    "lineprof.recording.compiled": "lineprof.decorate.callables lineprof.decorate.callables lineprof.decorate.code_copies",
    "lineprof.errors": "",
    "lineprof.line_profiler": (
        "lineprof.cli.main lineprof.ipython lineprof.recording.profiler lineprof.decorate.wrappers "
        "lineprof.scoping_policy lineprof.source lineprof.model.profile lineprof.toml_config "
        "lineprof.version lineprof.report.show"
    ),
    "lineprof.recording.blocks": (
        "lineprof._core lineprof.model.records lineprof.bytecode.code_tables lineprof.snapshot.profile "
        "lineprof.source lineprof.source lineprof.snapshot.profile"
    ),
    "lineprof.config": "",
    "lineprof.config": "",
    "lineprof.config": "lineprof.values",
    "lineprof.config": "lineprof.values",
    "lineprof.toml_config": ("lineprof.config lineprof.config lineprof.config"),
    "lineprof.config": "lineprof.errors lineprof.toml_config",
    "lineprof.cli.main": ("lineprof.cli.export lineprof.cli.run lineprof.cli.view"),
    "lineprof.cli.command": "lineprof.values",
    "lineprof.cli.command": "lineprof.console.output lineprof.errors",
    "lineprof.console.output": (
        "lineprof.errors lineprof.console.output lineprof.console.terminal"
    ),
    "lineprof.cli.command": "lineprof.errors lineprof.config",
    "lineprof.cli.view": (
        "lineprof.cli.command lineprof.cli.command lineprof.console.output "
        "lineprof.cli.view lineprof.config lineprof.files "
        "lineprof.report.notes lineprof.console.progress lineprof.source lineprof.model.profile "
        "lineprof.report lineprof.report.notes lineprof.console.terminal"
    ),
    "lineprof.cli.view": (
        "lineprof.cli.command lineprof.cli.command lineprof.config "
        "lineprof.errors lineprof.files lineprof.toml_config lineprof.version "
        "lineprof.report lineprof.report.options lineprof.report.options lineprof.config"
    ),
    "lineprof.cli.run": (
        "kernprof.__main__ lineprof.cli.command lineprof.console.output"
    ),
    "lineprof.cli.export": (
        "lineprof.cli.command lineprof.cli.command lineprof.console.output "
        "lineprof.errors lineprof.export lineprof.files lineprof.console.progress"
    ),
    "lineprof.cli.command": (
        "lineprof.console.output lineprof.errors lineprof.console.progress lineprof.model.profile "
        "lineprof.storage"
    ),
    "lineprof.ipython_extension": (
        "lineprof.ipython lineprof.ipython.cell lineprof.ipython.cell "
        "lineprof.ipython.cell lineprof.ipython.profiler lineprof.ipython.profiler "
        "lineprof.ipython.magics lineprof.ipython.magics"
    ),
    "lineprof.ipython": "lineprof.ipython_extension",
    "lineprof.ipython.cell": "lineprof.values",
    "lineprof.ipython.cell": "lineprof.values",
    "lineprof.ipython.cell": "lineprof.ipython.cell lineprof.ipython.cell",
    "lineprof.ipython.magics": "lineprof.recording.profiler",
    "lineprof.ipython.profiler": (
        "lineprof.report.html lineprof.recording.profiler lineprof.model.records lineprof.source "
        "lineprof.model.profile"
    ),
    "lineprof.ipython.profiler": "lineprof.source",
    "lineprof.ipython.magics": (
        "lineprof.errors lineprof.report.html lineprof.ipython.cell "
        "lineprof.ipython.profiler lineprof.files lineprof.model.profile"
    ),
    "lineprof.report.html": (
        "lineprof.errors lineprof.report.html lineprof.source lineprof.model.profile "
        "lineprof.model.records lineprof.values lineprof.report.line_table lineprof.report.text "
        "lineprof.report.options"
    ),
    "lineprof.report.html": "",
    "lineprof.recording.registry": (
        "lineprof.recording.compiled lineprof.recording.core lineprof.recording.gpu lineprof.decorate.callables "
        "lineprof.decorate.wrappers lineprof.bytecode.code_tables lineprof.scoping_policy "
        "lineprof.recording.core lineprof.decorate.callables lineprof.decorate.code_copies lineprof.errors"
    ),
    "lineprof.recording.profiler": (
        "lineprof.recording.blocks lineprof.recording.calibration lineprof.recording.compiled lineprof.recording.core "
        "lineprof.snapshot.gpu lineprof.recording.registry lineprof.snapshot.profile "
        "lineprof.snapshot.calls lineprof.model.profile lineprof.recording.core lineprof.recording.core "
        "lineprof.snapshot.profile"
    ),
    "lineprof.recording.core": (
        "lineprof._core lineprof.recording.core lineprof.recording.core lineprof.recording.gpu "
        "lineprof.recording.gpu lineprof.recording.core"
    ),
    "lineprof.console.output": "",
    "lineprof.console.output": "",
    "lineprof.model.records": "lineprof.model.records lineprof.values",
    "lineprof.model.records": "lineprof.model.records lineprof.values",
    "lineprof.model.timelines": (
        "lineprof.model.gpu lineprof.model.records lineprof.model.timelines lineprof.values"
    ),
    "lineprof.model.call_graph": (
        "lineprof.model.records lineprof.model.gpu lineprof.model.records lineprof.model.profile "
        "lineprof.values"
    ),
    "lineprof.recording.profiler": (
        "lineprof.recording.calibration lineprof.model.records lineprof.recording.profiler lineprof.values"
    ),
    "lineprof.snapshot.calls": (
        "lineprof.model.records lineprof.model.records lineprof.snapshot.profile "
        "lineprof.snapshot.calls"
    ),
    "lineprof.snapshot.calls": "lineprof.model.records lineprof.snapshot.calls",
    "lineprof.model.profile": "lineprof.model.records",
    "lineprof.model.merge": (
        "lineprof.model.records lineprof.model.records lineprof.model.records lineprof.model.profile "
        "lineprof.model.timelines lineprof.values lineprof.model.records"
    ),
    "lineprof.storage.reader": (
        "lineprof.model.records lineprof.model.records lineprof.model.records "
        "lineprof.storage.schema lineprof.storage.schema lineprof.model.records"
    ),
    "lineprof.storage.writer": (
        "lineprof.model.records lineprof.model.records lineprof.model.profile lineprof.storage.schema"
    ),
    "lineprof.model.names": "lineprof.model.records",
    "lineprof.console.progress": "lineprof.console.terminal",
    "lineprof.report.notes": (
        "lineprof.model.call_graph lineprof.console.output lineprof.model.records lineprof.model.names "
        "lineprof.model.profile"
    ),
    "lineprof.export.stacks": (
        "lineprof.model.records lineprof.export.stacks lineprof.export.stacks "
        "lineprof.model.gpu lineprof.model.records lineprof.model.profile lineprof.values "
        "lineprof.report.gpu_format"
    ),
    "lineprof.export.stacks": "lineprof.model.records lineprof.model.records lineprof.model.profile",
    "lineprof.export.names": "lineprof.errors lineprof.model.records lineprof.model.profile",
    "lineprof.export.flame_graph": (
        "lineprof.model.records lineprof.export.stacks lineprof.model.records lineprof.model.profile"
    ),
    "lineprof.export.callgrind": "lineprof.model.call_graph lineprof.model.records lineprof.model.profile",
    "lineprof.export.stacks": "lineprof.model.gpu lineprof.model.timelines",
    "lineprof.export.callgrind": (
        "lineprof.model.call_graph lineprof.errors lineprof.export.names "
        "lineprof.export.callgrind lineprof.export.stacks lineprof.model.gpu "
        "lineprof.files lineprof.model.records lineprof.model.profile lineprof.version"
    ),
    "lineprof.export.pprof": (
        "lineprof.errors lineprof.export.names lineprof.export.encoding "
        "lineprof.export.stacks lineprof.model.records lineprof.model.profile lineprof.version"
    ),
    "lineprof.export.flame_graph": (
        "lineprof.export.flame_graph lineprof.export.names lineprof.export.stacks "
        "lineprof.files lineprof.model.records lineprof.model.profile"
    ),
    "lineprof.export.pstats": (
        "lineprof.model.call_graph lineprof.model.records lineprof.errors "
        "lineprof.export.stacks lineprof.model.records lineprof.model.profile"
    ),
    "lineprof.export.flame_graph": (
        "lineprof.errors lineprof.export.flame_graph lineprof.export.names "
        "lineprof.export.stacks lineprof.export.flame_graph lineprof.export.flame_graph "
        "lineprof.export.flame_graph lineprof.files lineprof.model.records lineprof.model.profile "
        "lineprof.model.records"
    ),
    "lineprof.export.flame_graph": "lineprof.export.flame_graph lineprof.values",
    "lineprof.export.flame_graph": (
        "lineprof.export.flame_graph lineprof.export.names lineprof.model.records "
        "lineprof.source lineprof.model.profile lineprof.model.records"
    ),
    "lineprof.export.flame_graph": "",
    "lineprof.export.encoding": "",
    "lineprof.export.encoding": "",
    "lineprof.export.encoding": "",
    "lineprof.model.call_graph": "lineprof.model.records",
    "lineprof.export.timeline": (
        "lineprof.model.call_graph lineprof.export.names lineprof.export.stacks "
        "lineprof.export.timeline_tracks lineprof.export.timeline "
        "lineprof.export.timeline_tracks lineprof.export.timeline "
        "lineprof.export.timeline_tracks lineprof.export.timeline_tracks "
        "lineprof.export.timeline lineprof.export.timeline "
        "lineprof.model.gpu lineprof.model.profile lineprof.model.timelines"
    ),
    "lineprof.export.timeline_tracks": (
        "lineprof.export.stacks lineprof.model.records lineprof.model.profile lineprof.values"
    ),
    "lineprof.export.timeline_tracks": (
        "lineprof.export.names lineprof.model.gpu lineprof.model.records lineprof.model.profile "
        "lineprof.values lineprof.report.gpu_format"
    ),
    "lineprof.export.timeline_tracks": "lineprof.export.timeline_tracks",
    "lineprof.export.timeline_tracks": (
        "lineprof.model.gpu lineprof.model.profile lineprof.model.timelines"
    ),
    "lineprof.export.timeline": (
        "lineprof.model.gpu lineprof.model.timelines lineprof.values"
    ),
    "lineprof.export.timeline": (
        "lineprof.export.timeline_tracks lineprof.export.timeline_tracks "
        "lineprof.export.timeline_tracks lineprof.model.gpu lineprof.model.records "
        "lineprof.model.profile"
    ),
    "lineprof.export.timeline": (
        "lineprof.export.timeline_tracks lineprof.export.timeline_tracks "
        "lineprof.export.timeline_tracks lineprof.model.timelines"
    ),
    "lineprof.export.timeline": (
        "lineprof.model.records lineprof.model.call_graph "
        "lineprof.export.timeline_tracks lineprof.export.timeline_tracks "
        "lineprof.export.timeline_tracks lineprof.export.timeline "
        "lineprof.model.records lineprof.model.profile"
    ),
    "lineprof.export.chrome": (
        "lineprof.export.encoding lineprof.export.timeline "
        "lineprof.export.timeline_tracks lineprof.export.timeline_tracks "
        "lineprof.model.profile lineprof.version"
    ),
    "lineprof.export.perfetto": (
        "lineprof.export.encoding lineprof.export.timeline "
        "lineprof.export.timeline_tracks lineprof.export.timeline_tracks lineprof.model.profile"
    ),
    "lineprof.export.speedscope": (
        "lineprof.export.encoding lineprof.export.names lineprof.export.encoding "
        "lineprof.export.speedscope lineprof.export.speedscope "
        "lineprof.export.speedscope lineprof.export.stacks lineprof.model.profile "
        "lineprof.version"
    ),
    "lineprof.export.speedscope": (
        "lineprof.export.encoding lineprof.export.names lineprof.model.records "
        "lineprof.values"
    ),
    "lineprof.export.speedscope": (
        "lineprof.export.encoding lineprof.export.speedscope "
        "lineprof.export.stacks lineprof.model.gpu lineprof.model.profile"
    ),
    "lineprof.export.speedscope": (
        "lineprof.export.encoding lineprof.export.speedscope "
        "lineprof.export.timeline_tracks lineprof.export.timeline "
        "lineprof.model.profile"
    ),
    "lineprof.export.cpuprofile": (
        "lineprof.model.call_graph lineprof.export.cpuprofile "
        "lineprof.export.cpuprofile lineprof.export.names "
        "lineprof.export.encoding lineprof.export.stacks "
        "lineprof.export.timeline lineprof.model.profile"
    ),
    "lineprof.export.cpuprofile": (
        "lineprof.export.encoding lineprof.export.names lineprof.export.stacks "
        "lineprof.export.timeline lineprof.model.records lineprof.model.profile"
    ),
    "lineprof.export.cpuprofile": (
        "lineprof.model.records lineprof.model.call_graph "
        "lineprof.export.cpuprofile lineprof.export.encoding "
        "lineprof.export.stacks lineprof.export.timeline_tracks lineprof.model.records "
        "lineprof.model.profile"
    ),
    "lineprof.export.sqlite_db": (
        "lineprof.export.sqlite_db lineprof.export.sqlite_db lineprof.model.profile"
    ),
    "lineprof.export.sqlite_db": "",
    "lineprof.export.sqlite_db": (
        "lineprof.model.call_graph lineprof.model.records lineprof.export.sqlite_db "
        "lineprof.export.timeline_tracks lineprof.model.records lineprof.source "
        "lineprof.model.profile lineprof.version"
    ),
    "lineprof.export.sqlite_db": (
        "lineprof.export.timeline lineprof.export.timeline_tracks "
        "lineprof.model.gpu lineprof.model.gpu lineprof.model.records lineprof.model.profile "
        "lineprof.report.gpu_format"
    ),
    "lineprof.recording.core": "",
    "lineprof.model.timelines": "",
    "lineprof.recording.core": (
        "lineprof._core lineprof.errors lineprof.snapshot.gpu lineprof.snapshot.profile "
        "lineprof.values lineprof.config"
    ),
    "lineprof.model.timelines": (
        "lineprof.model.timelines lineprof.model.gpu lineprof.model.timelines"
    ),
    "lineprof.snapshot.profile": (
        "lineprof._core lineprof.model.gpu lineprof.model.records lineprof.model.timelines "
        "lineprof.model.timelines lineprof.values"
    ),
    "lineprof.storage.writer": (
        "lineprof.errors lineprof.model.records lineprof.model.profile lineprof.storage.schema "
        "lineprof.storage.writer lineprof.model.timelines"
    ),
    "lineprof.storage.reader_gpu": (
        "lineprof.model.records lineprof.storage.reader_gpu lineprof.storage.schema "
        "lineprof.storage.schema lineprof.model.timelines lineprof.model.timelines"
    ),
    "lineprof.snapshot.profile": (
        "lineprof.model.records lineprof.model.records lineprof.model.records"
    ),
    "lineprof.model.time_split": "lineprof.model.records lineprof.model.records lineprof.model.profile",
    "lineprof.model.records": "lineprof.model.records lineprof.values",
    "lineprof.model.time_split": (
        "lineprof.model.records lineprof.model.records lineprof.model.records lineprof.model.profile "
        "lineprof.values"
    ),
    "lineprof.storage.reader_gpu": (
        "lineprof.model.gpu lineprof.storage.schema lineprof.storage.schema lineprof.values"
    ),
    "lineprof.bytecode.instructions": "lineprof.bytecode.instructions",
    "lineprof.snapshot.calls": "lineprof.model.records",
    "lineprof.cli.main": (
        "lineprof.cli.main lineprof.cli.command lineprof.console.output "
        "lineprof.cli.command lineprof.errors lineprof.version"
    ),
    "lineprof.report": (
        "lineprof.report lineprof.report lineprof.report.json_report "
        "lineprof.report.text lineprof.report.options"
    ),
    "lineprof.report.json_report": (
        "lineprof.model.records lineprof.source lineprof.model.profile lineprof.report.json_report "
        "lineprof.report.json_report lineprof.report.options"
    ),
    "lineprof.report.notes": "lineprof.source lineprof.model.profile",
    "lineprof.console.terminal": "lineprof.errors lineprof.values",
    "lineprof.report.line_table": (
        "lineprof.values lineprof.report.line_table lineprof.console.terminal"
    ),
    "lineprof.report.text": (
        "lineprof.errors lineprof.model.records lineprof.source lineprof.model.profile "
        "lineprof.model.profile lineprof.model.records lineprof.report.options "
        "lineprof.report.gpu_table lineprof.report.gpu_table lineprof.report.text_grid "
        "lineprof.report.options lineprof.report.line_table lineprof.report.line_table "
        "lineprof.report.options lineprof.report.line_table"
    ),
    "lineprof.report.json_report": (
        "lineprof.model.gpu lineprof.model.gpu lineprof.model.records lineprof.values"
    ),
    "lineprof.report": (
        "lineprof.source lineprof.model.profile lineprof.report.gpu_trace "
        "lineprof.report.options lineprof.report.gpu_summary "
        "lineprof.report.gpu_summary lineprof.report.gpu_trace lineprof.report.options"
    ),
    "lineprof.report.options": (
        "lineprof.errors lineprof.report.options lineprof.report.options"
    ),
    "lineprof.report.gpu_table": (
        "lineprof.model.gpu lineprof.model.gpu lineprof.model.records lineprof.values "
        "lineprof.report.line_table"
    ),
    "lineprof.report.gpu_table": (
        "lineprof.model.gpu lineprof.model.gpu lineprof.model.records lineprof.values "
        "lineprof.report.gpu_table lineprof.report.options lineprof.report.gpu_format "
        "lineprof.report.gpu_format lineprof.report.line_table lineprof.report.options"
    ),
    "lineprof.report.gpu_table": (
        "lineprof.errors lineprof.model.gpu lineprof.model.gpu lineprof.model.gpu "
        "lineprof.model.profile lineprof.model.records lineprof.report.gpu_format "
        "lineprof.report.gpu_format lineprof.report.options"
    ),
    "lineprof.report.gpu_format": (
        "lineprof.report.gpu_format lineprof.errors lineprof.model.gpu lineprof.report.options"
    ),
    "lineprof.report.gpu_format": "",
    "lineprof.report.gpu_summary": (
        "lineprof.errors lineprof.model.gpu lineprof.model.profile lineprof.report.options"
    ),
    "lineprof.report.gpu_summary": (
        "lineprof.model.gpu lineprof.model.profile lineprof.report.gpu_format "
        "lineprof.report.gpu_summary lineprof.report.gpu_format lineprof.report.options"
    ),
    "lineprof.report.gpu_trace": (
        "lineprof.errors lineprof.model.gpu lineprof.model.profile lineprof.report.gpu_format "
        "lineprof.report.options"
    ),
    "lineprof.report.gpu_trace": (
        "lineprof.errors lineprof.model.gpu lineprof.report.gpu_format lineprof.model.profile "
        "lineprof.report.gpu_format lineprof.report.gpu_summary lineprof.report.gpu_format "
        "lineprof.report.gpu_trace lineprof.report.options"
    ),
    "lineprof.report.gpu_trace": (
        "lineprof.errors lineprof.model.gpu lineprof.model.records lineprof.model.profile "
        "lineprof.report.gpu_format lineprof.report.gpu_summary lineprof.report.gpu_format "
        "lineprof.report.gpu_trace lineprof.report.options"
    ),
    "lineprof.report.line_table": "lineprof.model.records lineprof.values lineprof.model.records",
    "lineprof.report.show": (
        "lineprof.source lineprof.model.profile lineprof.model.profile lineprof.toml_config "
        "lineprof.values lineprof.console.terminal lineprof.report.line_table "
        "lineprof.report.text lineprof.report.options"
    ),
    "lineprof.report.text_grid": "",
    "lineprof.report": (
        "lineprof.source lineprof.model.profile lineprof.report.options "
        "lineprof.report.functions lineprof.report.functions lineprof.report.drill_down "
        "lineprof.report.functions lineprof.report.options lineprof.report.functions "
        "lineprof.report.options lineprof.report.text lineprof.report.call_tree "
        "lineprof.report.options"
    ),
    "lineprof.report.options": (
        "lineprof.errors lineprof.report.options lineprof.report.options"
    ),
    "lineprof.report.functions": "lineprof.model.profile lineprof.report.options",
    "lineprof.report.options": "lineprof.errors",
    "lineprof.console.terminal": "lineprof.values lineprof.console.terminal",
    "lineprof.report.text_grid": (
        "lineprof.model.records lineprof.values lineprof.console.terminal lineprof.console.terminal"
    ),
    "lineprof.report.lookup": "lineprof.errors lineprof.model.records lineprof.model.names",
    "lineprof.report.functions": (
        "lineprof.model.call_graph lineprof.model.gpu lineprof.model.records lineprof.model.names "
        "lineprof.model.profile lineprof.values lineprof.report.text_grid lineprof.report.options "
        "lineprof.report.options"
    ),
    "lineprof.report.functions": (
        "lineprof.model.call_graph lineprof.model.gpu lineprof.model.records lineprof.model.names "
        "lineprof.source lineprof.model.profile lineprof.values lineprof.report.text_grid "
        "lineprof.report.options"
    ),
    "lineprof.report.functions": (
        "lineprof.model.call_graph lineprof.model.gpu lineprof.model.names lineprof.source "
        "lineprof.model.profile lineprof.values lineprof.report.lookup lineprof.report.text_grid "
        "lineprof.report.options"
    ),
    "lineprof.model.call_graph": "lineprof.model.records lineprof.model.records lineprof.model.profile",
    "lineprof.report.call_tree": (
        "lineprof.model.records lineprof.model.names lineprof.source lineprof.model.profile "
        "lineprof.values lineprof.console.terminal lineprof.report.text_grid lineprof.report.options "
        "lineprof.model.call_graph"
    ),
    "lineprof.report.drill_down": (
        "lineprof.model.call_graph lineprof.errors lineprof.model.records lineprof.model.profile "
        "lineprof.values lineprof.report.lookup lineprof.report.options"
    ),
    "lineprof.report.drill_down": (
        "lineprof.model.call_graph lineprof.model.records lineprof.source lineprof.model.profile "
        "lineprof.values lineprof.report.drill_down lineprof.report.lookup "
        "lineprof.report.text lineprof.console.terminal lineprof.report.text_grid "
        "lineprof.report.options lineprof.report.line_table"
    ),
    "lineprof.report.text": (
        "lineprof.model.records lineprof.source lineprof.model.profile lineprof.values "
        "lineprof.report.text lineprof.report.options"
    ),
    "lineprof.report.line_table": (
        "lineprof.model.records lineprof.model.profile lineprof.report.line_table lineprof.report.text_grid "
        "lineprof.report.options lineprof.model.records"
    ),
    "lineprof.report.json_report": (
        "lineprof.model.call_graph lineprof.model.time_split lineprof.model.records lineprof.model.time_split "
        "lineprof.model.profile lineprof.values"
    ),
    "lineprof.report.line_table": (
        "lineprof.model.time_split lineprof.model.records lineprof.model.time_split lineprof.model.profile "
        "lineprof.model.records lineprof.report.line_table lineprof.report.text_grid lineprof.report.options"
    ),
    "lineprof.report.options": (
        "lineprof.model.records lineprof.source lineprof.model.profile lineprof.model.records "
        "lineprof.values lineprof.console.terminal"
    ),
}
KERNPROF_ROOMS = {
    "kernprof": "kernprof.__main__ kernprof.cprofile kernprof.cli lineprof.version",
    "kernprof.__main__": "kernprof.cli",
    "kernprof.cli": (
        "kernprof.defaults kernprof.help kernprof.parse kernprof.plan kernprof.messages "
        "kernprof.session kernprof.environment lineprof lineprof.errors"
    ),
    "kernprof.flags": "kernprof.words lineprof.values",
    "kernprof.program": (
        "kernprof.program kernprof.output_file kernprof.plan kernprof.program"
    ),
    "kernprof.program": "kernprof.program kernprof.program kernprof.plan",
    "kernprof.environment": (
        "kernprof.cprofile kernprof.messages kernprof.environment lineprof.later"
    ),
    "kernprof.program": "",
    "kernprof.environment": "kernprof.environment kernprof.program kernprof.environment",
    "kernprof.session": (
        "kernprof.messages kernprof.overhead_budget kernprof.messages kernprof.program "
        "kernprof.periodic_dump kernprof.messages kernprof.output_file kernprof.plan "
        "kernprof.recorders kernprof.messages kernprof.session kernprof.environment "
        "kernprof.environment kernprof.signals kernprof.environment kernprof.whole_program "
        "lineprof.errors lineprof.later"
    ),
    "kernprof.recorders": (
        "kernprof.cprofile kernprof.cprofile kernprof.recorders kernprof.plan "
        "kernprof.environment kernprof.whole_program lineprof.errors lineprof.recording.gpu "
        "lineprof.report.notes lineprof.recording.profiler lineprof.storage lineprof.files"
    ),
    "kernprof.cprofile": "kernprof.cprofile kernprof.wrappers lineprof.decorate.wrappers",
    "kernprof.output_file": "kernprof.plan lineprof.files",
    "kernprof.messages": "lineprof.console.output",
    "kernprof.messages": "kernprof.recorders lineprof.console.output",
    "kernprof.environment": "",
    "kernprof.environment": "lineprof.recording.profiler",
    "kernprof.signals": "",
    "kernprof.environment": "",
    "kernprof.messages": "kernprof.plan",
    "kernprof.cprofile": "",
    "kernprof.wrappers": "",
    "kernprof.periodic_dump": "",
    "kernprof.messages": "kernprof.plan kernprof.messages",
    "kernprof.session": (
        "kernprof.program kernprof.program kernprof.environment kernprof.messages "
        "kernprof.environment"
    ),
    "kernprof.whole_program": (
        "kernprof.plan kernprof.program kernprof.messages kernprof.whole_program "
        "lineprof.bytecode.definitions lineprof.autoprofile.autoprofile lineprof.recording.profiler"
    ),
    "kernprof.program": "",
    "kernprof.plan": "lineprof.errors lineprof.toml_config lineprof.recording.core",
    "kernprof.words": "kernprof.plan lineprof.recording.core lineprof.config",
    "kernprof.parse": (
        "kernprof.flags kernprof.help kernprof.plan kernprof.words lineprof.config"
    ),
    "kernprof.help": "kernprof.flags",
    "kernprof.defaults": (
        "kernprof.flags kernprof.plan kernprof.words lineprof.config "
        "lineprof.toml_config"
    ),
    "kernprof.cprofile": "kernprof.cprofile",
    "kernprof.overhead_budget": "lineprof.recording.profiler lineprof.model.records",
    "kernprof.whole_program": (
        "kernprof.selection kernprof.selection kernprof.output_file kernprof.project "
        "kernprof.selection kernprof.plan kernprof.program "
        "lineprof.bytecode.definitions lineprof.recording.core lineprof.bytecode.instructions "
        "lineprof.recording.profiler lineprof.model.profile"
    ),
    "kernprof.whole_program": (
        "kernprof.plan kernprof.whole_program kernprof.program kernprof.recorders "
        "kernprof.whole_program lineprof.recording.profiler"
    ),
    "kernprof.selection": (
        "kernprof.output_file kernprof.selection kernprof.project lineprof.model.time_split "
        "lineprof.values"
    ),
    "kernprof.project": "lineprof.values",
    "kernprof.project": (
        "kernprof.project kernprof.project kernprof.plan kernprof.program"
    ),
    "kernprof.project": "kernprof.project",
    "kernprof.selection": "kernprof.globs lineprof.values",
    "kernprof.globs": "",
    "kernprof.selection": "",
    "kernprof.program": "kernprof.plan",
    "kernprof.recorders": "lineprof.explicit_profiler",
    "kernprof.overhead_budget": (
        "kernprof.overhead_budget kernprof.periodic_dump lineprof.recording.profiler lineprof.model.records "
        "lineprof.model.records"
    ),
}
# What no change of the map may allow: a package, and those it never knows.
NEVER = {
    "lineprof": "kernprof",
    "lineprof.values": "lineprof",
    "lineprof.report": "lineprof._core lineprof.cli.main lineprof.recording.profiler lineprof.storage",
    "lineprof.recording.profiler": "lineprof.cli.main lineprof.storage lineprof.report",
    "kernprof": "lineprof._core lineprof.cli.main lineprof.report",
}
# But this: `lineprof run` is kernprof under another name.
ALLOWED = {("lineprof.cli.run", "kernprof.__main__")}
CORE = "lineprof._core"

C_ROOMS = {**LIBC_ROOMS, **PYTHON_C_ROOMS}
PYTHON_ROOMS = {**LINEPROF_ROOMS, **KERNPROF_ROOMS}
