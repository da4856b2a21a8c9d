"""Workers of Dask: each process writes a profile of the functions that are named."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from as_python import hits_in, run, viewer, write

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("distributed")

SHOP = """\
def total(prices):
    result = 0
    for price in prices:
        result += price
    return result
def tax(price):
    return price // 5
"""
CLIENT = """\
import os, shutil
from distributed import Client, LocalCluster
from lineprof.dask import ProfilerPlugin, write_profile
import shop

def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes={processes}
    )
    with cluster, Client(cluster) as client:
        client.register_plugin(ProfilerPlugin({name!r}, folder="out"))
        tasks = [client.submit(shop.total, range(n), pure=False) for n in range(10)]
        print(sum(client.gather(tasks)), client.submit(shop.tax, 100).result())
        {then}
        shutil.copytree("out", "before") if os.path.exists("out") else None

if __name__ == "__main__":
    main()
"""
HITS = {2: 10, 3: 10 + 45, 4: 45, 5: 10}


def work(
    folder: Path,
    *,
    processes: bool = True,
    name: str = "shop.total",
    then: str = "pass",
    files: str = "out",
) -> Counter[int]:
    """Run a client; return the hits of shop.total, summed over the files."""
    write(folder, "shop.py", SHOP)
    write(folder, "client.py", CLIENT.format(processes=processes, name=name, then=then))
    done = run(["client.py"], cwd=folder)
    assert (done.status, done.out.splitlines()[0]) == (0, "120 20"), done.err
    total: Counter[int] = Counter()
    for file in (folder / files).glob("dask.*.lprof"):
        found = hits_in(file)
        assert set(found) <= {"total"}
        total.update(found.get("total", {}))
    return total


@pytest.mark.parametrize("name", ["shop.total", "shop.py::total", "::total"])
def test_each_worker_writes_a_profile_when_it_closes(tmp_path: Path, name: str) -> None:
    assert work(tmp_path, name=name) == HITS
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_workers_that_are_threads_share_a_profile(tmp_path: Path) -> None:
    assert work(tmp_path, processes=False) == HITS
    assert len(list((tmp_path / "out").iterdir())) == 1


@pytest.mark.parametrize(
    "then",
    [
        "client.run(write_profile)",
        "client.unregister_worker_plugin('lineprof')",
    ],
)
def test_profiles_are_written_on_demand(tmp_path: Path, then: str) -> None:
    assert work(tmp_path, then=then, files="before") == HITS


def test_a_plugin_that_is_registered_again_writes_other_files(tmp_path: Path) -> None:
    then = (
        "client.unregister_worker_plugin('lineprof')\n"
        "        client.register_plugin(ProfilerPlugin('shop.total', folder='out'))\n"
        "        print(client.submit(shop.total, [1]).result())"
    )
    again = {2: 1, 3: 2, 4: 1, 5: 1}
    assert work(tmp_path, then=then) == Counter(HITS) + Counter(again)
    assert len(list((tmp_path / "out").iterdir())) == 4
    merged = viewer("merge", "out", "-o", "all.lprof", cwd=tmp_path)
    assert merged.status == 0, merged.err


def test_a_plugin_without_names_and_a_wrong_name_are_errors(tmp_path: Path) -> None:
    write(
        tmp_path,
        "x.py",
        "from lineprof.dask import ProfilerPlugin, write_profile\n"
        "for call in (ProfilerPlugin, lambda: ProfilerPlugin('a[b'), write_profile):\n"
        "    try:\n        call()\n    except Exception as error:\n"
        "        print(type(error).__name__, error)\n",
    )
    assert run(["x.py"], cwd=tmp_path).out == (
        "LineprofError the plugin has no names of functions; name a module to profile\n"
        "LineprofError bad pattern 'a[b': its '[' is not closed; write '[[]' for a"
        " '[' of a name\n"
        "LineprofError this process has no worker that is profiled; register a"
        " ProfilerPlugin first\n"
    )


OWN = """\
import sys
from distributed import Client, LocalCluster
from lineprof.dask import ProfilerPlugin

def total(prices):
    result = 0
    for price in prices:
        result += price
    return result

def main():
    processes = sys.argv[1] == "processes"
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=processes
    )
    with cluster, Client(cluster) as client:
        client.register_plugin(ProfilerPlugin(sys.argv[2], folder="out"))
        tasks = [client.submit(total, range(n), pure=False) for n in range(10)]
        print(sum(client.gather(tasks)))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("where", ["processes", "threads"])
@pytest.mark.parametrize("name", ["::total", "own.total", "own.py::total"])
def test_a_function_of_the_client_itself_is_profiled(
    tmp_path: Path, where: str, name: str
) -> None:
    write(tmp_path, "own.py", OWN)
    done = run(["own.py", where, name], cwd=tmp_path)
    assert (done.status, done.out) == (0, "120\n"), done.err
    found: Counter[int] = Counter()
    for file in (tmp_path / "out").iterdir():
        found.update(hits_in(file).get("total", {}))
    assert found == {line + 4: hits for line, hits in HITS.items()}
