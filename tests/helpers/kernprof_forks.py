"""The process of kernprof_server, a main program of its own.

Its arguments: the descriptor of a socket, and the modules to import. Each child becomes
the main program `python -m kernprof`, and ends as Python does.
"""

import gc
import os
import pickle
import runpy
import socket
import sys
from importlib import import_module


def serve() -> None:
    """Fork a child for each request; return in the child."""
    door = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        import_module(name)
    gc.freeze()  # else each end goes through all that
    while True:
        data, fds, *_ = socket.recv_fds(door, 1 << 20, 3)
        if not data:
            os._exit(0)
        argv, folder, environment = pickle.loads(data)  # noqa: S301 - of the tests
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
        sys.argv[:] = ["-m", *argv]
        sys.orig_argv[:] = [sys.executable, "-m", "kernprof", *argv]
        sys.path[0] = os.getcwd()  # noqa: PTH109 - as python -m does
        return


if __name__ == "__main__":
    serve()
    runpy._run_module_as_main("kernprof")  # what -m calls
