"""The process of forked_python, a main program of its own.

Its arguments: the descriptor of a socket, and the modules to import. Each child becomes
the main program that its words name, and ends as Python does.
"""

import gc
import os
import pickle
import runpy
import socket
import sys
from importlib import import_module
from types import ModuleType


def serve() -> list[str]:
    """Fork a child for each request; return its words in the child."""
    door = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        import_module(name)
    gc.freeze()  # else each end goes through all that
    while True:
        data, fds, *_ = socket.recv_fds(door, 1 << 20, 3)
        if not data:
            os._exit(0)
        words, folder, environment = pickle.loads(data)  # noqa: S301 - of the tests
        child = os.fork()
        if child:
            for fd in fds:
                os.close(fd)
            door.send(pickle.dumps(child))
            door.send(pickle.dumps(os.waitpid(child, 0)[1]))
            continue
        door.close()
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
            os.close(fd)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        become(words)
        return words


def become(words: list[str]) -> None:
    """Give this process the arguments and the first path of `python WORDS`."""
    first, *_ = words
    sys.orig_argv[:] = [sys.executable, *words]
    if first in {"-c", "-m"}:
        sys.argv[:] = [first, *words[2:]]
        sys.path[0] = "" if first == "-c" else os.getcwd()  # noqa: PTH109
    else:
        sys.argv[:] = words
        sys.path[0] = os.path.dirname(os.path.realpath(first))  # noqa: PTH120


def program(words: list[str]) -> tuple[str, str]:
    """Return the text and the file name of a program."""
    if words[0] == "-c":
        return words[1], "<string>"
    with open(words[0], encoding="utf-8") as file:  # noqa: PTH123
        return file.read(), words[0]


if __name__ == "__main__":
    given = serve()
    if given[0] == "-m":
        runpy._run_module_as_main(given[1])  # what -m calls
    else:
        source, name = program(given)
        # Nothing else holds the module, so that its objects go before other modules.
        sys.modules["__main__"] = ModuleType("__main__")
        if given[0] != "-c":
            vars(sys.modules["__main__"]).update(__file__=name, __cached__=None)
        code = compile(source, name, "exec", dont_inherit=True)
        exec(code, vars(sys.modules["__main__"]))
