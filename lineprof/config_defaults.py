"""What holds where no file of configuration says otherwise.

``rc/line_profiler.toml`` says the same, with an explanation of each key; it is
not read, for a reader of TOML takes longer to import than all of lineprof.
"""

from __future__ import annotations

DEFAULTS: dict[str, dict[str, object]] = {
    "kernprof": {
        "line-by-line": False,
        "builtin": False,
        "rich": False,
        "skip-zero": False,
        "summarize": False,
        "preimports": True,
        "prof-imports": False,
        "verbose": 0,
        "outfile": "",
        "setup": "",
        "unit": 1e-6,  # s
        "output-interval": 0,  # s
        "prof-mod": [],
    },
    "cli": {
        "unit": 1e-6,  # s
        "rich": False,
        "skip-zero": False,
        "sort": False,
        "summarize": False,
    },
    "setup": {
        "environ_flags": ["LINE_PROFILE"],
        "cli_flags": ["--line-profile", "--line_profile"],
    },
    "write": {
        "output_prefix": "profile_output",
        "lprof": True,
        "text": True,
        "timestamped_text": True,
        "stdout": True,
    },
    "show": {
        "sort": True,
        "stripzeros": True,
        "rich": True,
        "details": False,
        "summarize": True,
        "column_widths": {
            "line": 6,
            "hits": 9,
            "time": 12,
            "perhit": 8,
            "percent": 8,
        },
    },
}
