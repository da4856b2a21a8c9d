"""Tasks of Dask that call a function of this program, and one of a module.

Arguments: processes or threads, and a folder for profiles of the plugin or "".
"""

# mypy: ignore-errors

from __future__ import annotations

import builtins
import sys

import sums
from distributed import Client, LocalCluster

from lineprof.dask import ProfilerPlugin

profile = getattr(builtins, "profile", lambda function: function)
TASKS = range(100, 108)


@profile
def work(n: int) -> int:
    """Return the sum of the numbers below `n`."""
    total = 0
    for number in range(n):
        total += number
    return total


def main(where: str, folder: str) -> None:
    """Run the tasks."""
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=where == "processes",
        dashboard_address=None,
    )
    with cluster, Client(cluster) as client:
        if folder:
            plugin = ProfilerPlugin("on_dask.work", "sums.add", folder=folder)
            client.register_plugin(plugin)
        for function in (work, sums.add):
            print(sum(client.gather(client.map(function, TASKS))))


if __name__ == "__main__":
    main(*sys.argv[1:])
