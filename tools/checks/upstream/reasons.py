"""Tests of line_profiler that lineprof does not pass, and why.

A pattern has the names of tests as check.py prints them; ``*`` matches any text.
"""

from __future__ import annotations

_TREES = "of classes that rewrite a program's syntax tree; lineprof watches its code"
_INTERNALS = "of line_profiler's own compiled module"
_ONCE = "wants a function twice in `functions`; here it is listed once"
_WHOLE = "no @profile and no -p: lineprof then profiles the program's own functions"
_CODE = "wants __code__ replaced, which lineprof never does"

# Whole files that are not collected.
LEFT_OUT = {
    "test_windows_wheel_repair.py": "of a script that repairs line_profiler's wheels",
    "test_docs_conf.py": "of the configuration of line_profiler's documentation",
    "test_cython.py": "of private functions, and of Cython's line tracing",
}

REASONS = {
    "test_autoprofile::test_autoprofile_from_stdin[*-False]": (
        "functions of a program on standard input stay in the profile, with source"
    ),
    "test_autoprofile::test_autoprofile_from_stdin[*-False-True]": _WHOLE,
    "test_autoprofile::test_multitarget_import_resolution*": _TREES,
    "test_autoprofile::test_multitarget_import_transformation_executes": _TREES,
    "test_autoprofile::test_profmod_extractor_multitarget_behavior*": _TREES,
    "test_autoprofile::test_handle_star_imports*": _TREES,
    "test_autoprofile::test_autoprofile_exec_module[False-None---prof-imports*": _WHOLE,
    "test_autoprofile::test_autoprofile_exec_module[True-None---prof-imports*": _WHOLE,
    "test_autoprofile::test_autoprofile_exec_package[False-prof_mod5-*": _WHOLE,
    "test_autoprofile::test_autoprofile_exec_package[True-prof_mod6-*": _WHOLE,
    "test_eager_preimports::*": "of a generated module that imports what -p names",
    "test_cli::test_boolean_argument_*": "of a private function around argparse",
    "test_string_enum::test_scoping_policy_defaults_are_enum_members": (
        "reads the signature of a private method"
    ),
    "test_explicit_profile::test_profiler_add_methods*": (
        "imports a private function of the module that rewrites syntax trees"
    ),
    "test_kernprof::test_kernprof_m_parsing[*'mymod.py', '-m', 'mymod'*": (
        "wants the `--` after a script left out; the script gets it, as under python"
    ),
    "test_kernprof::test_kernprof_m_import_resolution[True-*": (
        "asks, by an undocumented variable, for imports to be guessed; the program runs"
    ),
    "test_kernprof::test_kernprof_verbosity[-expected_stdout0-expected_stderr0]": (
        "wants `python -m line_profiler` named as the viewer, not `python -m lineprof`"
    ),
    "test_kernprof::test_kernprof_verbosity[-vv-*": (
        "wants line_profiler's inner calls in the log"
    ),
    "test_kernprof::test_call_with_diagnostics*": (
        "wants line_profiler's inner calls in the log"
    ),
    "test_kernprof::test_kernprof_eager_preimport_bad_module": (
        "wants kernprof to fail where what -p names does; here the program runs"
    ),
    "test_kernprof::test_kernprof_bad_temp_script*": (
        "wants the source of -c and - in tracebacks, which here are python's own"
    ),
    "test_line_profiler::test_async_gen_decorator[False]": (
        "expects calls to stay enabled after an asynchronous generator was left alone"
    ),
    "test_line_profiler::test_boundmethod_decorator": _ONCE,
    "test_line_profiler::test_partial_decorator": _ONCE,
    "test_line_profiler::test_duplicate_code_objects": _ONCE,
    "test_line_profiler::test_load_stats_files[True-*": (
        "makes objects of a private class below LineStats"
    ),
    "test_line_profiler::test_multiple_profilers_identical_bytecode*": (
        "reads a private attribute, and wants padded bytecode"
    ),
    "test_line_profiler::test_sys_monitoring": (
        "wants tool id 2 of sys.monitoring, which lineprof leaves to others"
    ),
    "test_sys_monitoring::test_local_event_preservation*": _CODE,
    "test_sys_monitoring::test_callback_*": _INTERNALS,
    "test_sys_monitoring::test_wrapping_trace*": _INTERNALS,
    "test_sys_monitoring::test_standalone_callback_usage": _INTERNALS,
    "test_sys_trace::test_callback_preservation": (
        "looks for line_profiler's own trace function in sys.gettrace()"
    ),
    "test_sys_trace::test_callback_wrapping[profiled (trace suspended)-*": (
        "wants other tracers to get no events; with lineprof they get all"
    ),
    "test_sys_trace::test_python_level_trace_manipulation*": (
        "switches line_profiler's tool id or trace function off by hand"
    ),
}
