"""Set-up of .venv for a demo, which says what it does and for how long."""

from __future__ import annotations

from tools.dev import native
from tools.dev.envs import ROOT, Env, StepError, explain, install, make
from tools.dev.pythons import this
from tools.dev.results import Progress


def ready(*, doubles: bool = False) -> Env | None:
    """Set lineprof up, and the doubles of NVIDIA's libraries; None if that fails."""
    python = this()
    env = Env(ROOT / ".venv")
    print(
        f"sets up lineprof in .venv (Python {python.version}): makes the environment,"
        " compiles the C code, profiles an example; about 1 min, seconds the next time",
        flush=True,
    )
    log = env.log
    with Progress() as progress:
        try:
            with progress.doing("making .venv"):
                make(env, python)
            with progress.doing("compiling and installing lineprof"):
                install(env, editable=True)
            if doubles:
                log = native.BUILD_LOG
                with progress.doing("compiling the simulated GPU"):
                    native.build(python, strict=False, target="doubles")
        except StepError as error:
            explain(error, log)
            return None
    return env
