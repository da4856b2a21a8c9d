"""The first code of lineprof in a program that it attaches to.

The client gives this file's text, with a call of `boot` at its end, to the program,
which runs it between two instructions of its main thread. `boot` only starts a thread,
which imports lineprof and listens for the client. It makes as few system calls as it
can: after each of them a thread waits for the GIL again.

A program forks only after that thread has ended: a child would inherit the locks that
the thread holds. The hook for this, in the module `_lineprof_boot`, stays in the
program: Python has no way to remove it.
"""

from __future__ import annotations

import _thread
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import ExtensionFileLoader, PathFinder, SourceFileLoader
from marshal import loads
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as posix
    import signal as _signal
    from typing import Any
else:  # built into the interpreter, so that no file of the program is taken for them
    import _signal
    import posix

NAME = "_lineprof_boot"  # of a module that stays in the program
_MAX_WAIT = 10.0  # s for a thread that boots
_END = 0.1  # s in which a thread ends that has done all
_POLL = 5e-4  # s
_KIND, _REGULAR, _OTHERS_WRITE = 0o170000, 0o100000, 0o022  # of a file's mode
_TURNS = "lineprof.quiet_threads"
_LAST = "kernprof.control"  # once it is imported, all the others are
_QUICK = 1e-5  # s: see `QuickTurns` there, which is not imported yet


def boot(parameters: dict[str, Any]) -> None:
    """Start the thread; called on the main thread. `parameters` are the client's.

    Does nothing if the client has given up.
    """
    known: Any = sys.modules.get(NAME)
    turns: Any = getattr(sys.modules.get(_TURNS), "QuickTurns", None)
    interval = turns.interval() if turns else sys.getswitchinterval()
    if known and known.running:
        interval = known.interval
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
    try:
        # Beside threads that make short system calls all the time, the new one could
        # wait for seconds until it has the GIL for the first time.
        sys.setswitchinterval(_QUICK)
        posix.unlink(parameters["token"])
        state = known or _new_state()
        setattr(state, parameters["number"], boot)  # the next client calls it
        state.interval, state.quick = interval, sys.getswitchinterval()
        state.running += 1
        try:
            _thread.start_new_thread(_run, (state, parameters))
        except BaseException:
            state.running -= 1
            raise
    except BaseException as error:
        sys.setswitchinterval(interval)
        if not isinstance(error, FileNotFoundError):
            raise
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)


def _new_state() -> Any:  # a module  # noqa: ANN401
    """Return the module that makes forks wait for boots, and register its hook."""
    state: Any = type(sys)(NAME)
    state.running = 0  # threads
    state.last = 0, 0.0  # the last one's number, and until when it may still exist
    state.clock = monotonic
    sys.modules[NAME] = state

    def wait() -> None:
        until = monotonic() + _MAX_WAIT
        while state.running and monotonic() < until:
            sleep(_POLL)
        thread, until = state.last
        while monotonic() < until and _exists(thread):  # os.fork warns of it
            sleep(_POLL)

    def forked() -> None:
        state.running = 0

    posix.register_at_fork(before=wait, after_in_child=forked)
    return state


def _exists(thread: int) -> bool:
    try:
        posix.stat(f"/proc/self/task/{thread}")
    except OSError:
        return False
    return True


def _run(state: Any, parameters: dict[str, Any]) -> None:  # a module  # noqa: ANN401
    """Import lineprof and listen; this is the thread."""
    _wake_up_in_time()
    try:
        _listen(state, parameters)
    except BaseException as error:  # it is the client's to report  # noqa: BLE001
        if sys.getswitchinterval() == state.quick:
            sys.setswitchinterval(state.interval)
        _fail(parameters["failed"], error)
    finally:
        state.last = _thread.get_native_id(), state.clock() + _END
        state.running -= 1


def _wake_up_in_time() -> None:
    """Let this thread's waits, and those of threads that it starts, end in time.

    Linux lets a wait take 50 us longer, so that processors wake up less often. Without
    this slack the thread asks for the GIL after 10 us, where busy ones ask after 60 us.
    """
    try:
        # The thread's number as /proc knows it, which may be of another namespace.
        thread = posix.readlink("/proc/thread-self").rpartition("/")[2]
        handle = posix.open(f"/proc/{thread}/timerslack_ns", posix.O_WRONLY)
        try:
            posix.write(handle, b"1")
        finally:
            posix.close(handle)
    except OSError:
        pass


def _listen(state: Any, parameters: dict[str, Any]) -> None:  # a module  # noqa: ANN401
    """Import lineprof from the client's folder, and wait for the client.

    The program's own interval is restored, unless the program has set another one.
    """
    known: Any = sys.modules.get("lineprof")
    version = getattr(known, "__version__", None)
    if known is not None and version != parameters["version"]:
        message = (
            f"the program has imported lineprof {version}, and this is"
            f" {parameters['version']}: attach with its own"
        )
        raise RuntimeError(message)
    _import(parameters, known)
    from kernprof.control import Control  # noqa: PLC0415
    from lineprof.quiet_threads import QuickTurns  # noqa: PLC0415
    from lineprof.recording.core import unmap  # noqa: PLC0415

    is_ours = sys.getswitchinterval() == state.quick
    with QuickTurns(state.interval if is_ours else None):
        address, size = parameters["page"]
        if size:
            unmap(address, size)
        folder, patience = parameters["folder"], parameters["patience"]
        Control(folder=folder, patience=patience).begin()


def _import(parameters: dict[str, Any], known: Any) -> None:  # noqa: ANN401
    """Import lineprof, of which the program has the package `known`, or None."""
    is_loaded = _LAST in sys.modules
    code = _code(parameters["code"], is_needed=not is_loaded)
    if is_loaded:
        return
    if known is not None and known.__file__ != parameters["packages"]["lineprof"][0]:
        code = {}
    # The finder takes the place of the first one, and asks that one in turn: a thread
    # of the program that is looking for a module goes through this list meanwhile, and
    # would miss a finder if those behind an added one moved up again.
    finders = sys.meta_path
    first = finders[:1]
    finder = _Finder(parameters, code, *first)
    finders[:1] = [finder]
    try:
        import kernprof.control  # noqa: F401, PLC0415
    finally:
        for at, found in enumerate(finders):
            if found is finder:
                finders[at : at + 1] = first
                break


def _code(file: str, *, is_needed: bool) -> dict[str, Any]:
    """Return what ``bundle.py`` has put into a file, {} if that is for another Python.

    The file is deleted. One that another user may have written is not used.
    """
    try:
        data = _own_content(file) if is_needed else b""
        posix.unlink(file)
        version, optimized, standard, code = loads(data)  # noqa: S302
    except (OSError, EOFError, ValueError, TypeError):
        return {}
    here = sys.version, sys.flags.optimize, _os_file()
    return code if here == (version, optimized, standard) else {}


def _own_content(file: str) -> bytes:
    """Return the content of a file that nobody but this process's user can write."""
    flags = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
    handle = posix.open(file, flags)
    with open(handle, "rb") as stream:
        status = posix.fstat(handle)
        is_file = status.st_mode & _KIND == _REGULAR
        if not is_file or status.st_mode & _OTHERS_WRITE:
            return b""
        return stream.read() if status.st_uid == posix.getuid() else b""


def _os_file() -> str:
    """Return the file of `os`, from the folder of the standard library.

    Python has that module in itself, so that none of the program is taken for it.
    """
    import os  # noqa: PLC0415  # not imported yet with `python -S`

    return str(os.__file__)


class _Finder:
    """Finder of lineprof's own packages, wherever the client has them.

    And of the modules of the standard library that they need, without a second search.
    """

    def __init__(
        self,
        parameters: dict[str, Any],
        code: dict[str, Any],
        next_one: Any = None,  # noqa: ANN401
    ) -> None:
        """Find those modules, and ask the program's finder `next_one` for others.

        Raises RuntimeError if the program has other modules in their place.
        """

        class Loaded(SourceFileLoader):
            """A loader of code that is known, which leaves a usual one behind."""

            def get_code(self, name: str) -> Any:  # noqa: ANN401
                return loads(texts.pop(name))  # noqa: S302  # of this user

            def exec_module(self, module: Any) -> None:  # noqa: ANN401
                super().exec_module(module)
                usual = SourceFileLoader(self.name, self.path)
                module.__loader__ = module.__spec__.loader = usual

        texts: dict[str, Any] = {}
        self._next_one = next_one
        self._texts, self._loader, self._new = texts, Loaded, ModuleSpec
        self._code, self._packages = code, parameters["packages"]
        folder = _os_file().rpartition("/")[0]
        elsewhere = _searched_before(folder)
        self._standard = {
            name: self._find_standard(name, folder, elsewhere)
            for name in parameters["standard"]
        }

    def __eq__(self, other: object) -> bool:
        """Return whether the program means this finder, by the one that it has there.

        So the program can look for its own finder in the list, and remove it.
        """
        return other is self or other is self._next_one

    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Return an attribute of the program's finder, whose place this one has."""
        if name == "_next_one":  # of a copy that is being made
            raise AttributeError(name)
        return getattr(self._next_one, name)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ANN401
        """Return a module's spec; None for what others are to find."""
        spec = self._standard.pop(name, None)
        if spec is not None:
            return spec
        if name in self._code:
            return self._spec(name, *self._code.pop(name))
        if name in self._packages:
            return self._spec(name, *self._packages[name])
        find = getattr(self._next_one, "find_spec", None)
        return find and find(name, path, target)

    def _spec(self, name: str, file: str, folders: Any, code: Any = None) -> Any:  # noqa: ANN401

        loader: Any = ExtensionFileLoader
        if code:
            loader, self._texts[name] = self._loader, code
        elif file.endswith(".py"):
            loader = SourceFileLoader
        spec = self._new(name, loader(name, file), origin=file)
        spec.has_location = True
        spec.submodule_search_locations = folders
        return spec

    def _find_standard(self, name: str, folder: str, elsewhere: Any) -> Any:  # noqa: ANN401
        """Return the spec of a module of the standard library, which is in `folder`.

        Returns None for one that has been imported, that is built in, or that this
        Python does not have. `elsewhere` is the result of `_searched_before`.
        """
        if name not in sys.stdlib_module_names:
            return None
        module, code = sys.modules.get(name), self._code
        if module is None and code and elsewhere is not None and name not in elsewhere:
            return self._spec(name, *code.pop(name)) if name in code else None
        spec = PathFinder.find_spec(name) if module is None else module.__spec__
        origin = getattr(spec, "origin", None)
        if not origin or not origin.endswith((".py", ".pyc", ".so")):
            return None
        inside = origin.removeprefix(folder + "/")
        if inside == origin or "/site-packages/" in f"/{inside}":
            message = (
                f"{origin} is in the place of Python's own module {name}, which"
                " lineprof needs: rename it"
            )
            raise RuntimeError(message)
        return spec if module is None else None


def _searched_before(folder: str) -> Any:  # a set of str  # noqa: ANN401
    """Return names of modules that may be in folders before `folder` in `sys.path`.

    Returns None if that is not known.
    """
    names: set[str] = set()
    for one in sys.path:
        if one == folder:
            return names
        try:
            files = posix.listdir(one or ".")
            names.update(file.partition(".")[0] for file in files)
        except FileNotFoundError:
            continue
        except (OSError, TypeError):
            break
    return None


def _fail(file: str, error: BaseException) -> None:
    """Leave a file with the reason for the client."""
    text = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    try:
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW
        handle = posix.open(f"{file}.new", flags | posix.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write(str(text))
        posix.rename(f"{file}.new", file)
    except Exception:  # the client waits in vain  # noqa: BLE001, S110
        pass
