"""Workers of Dask: each process writes a profile of the functions that are named.

A cluster takes a second to start, so that one runs all that several tests look at.
"""

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
NAMES = ("shop.total", "shop.py::total", "::total")
CLIENT = """\
import os, shutil, sys
from distributed import Client, LocalCluster
from lineprof.dask import ProfilerPlugin, write_profile
{imports}
def register(client, name, folder):
    client.register_plugin(ProfilerPlugin(name, folder=folder))

def work(client):
    tasks = [client.submit({total}, range(n), pure=False) for n in range(10)]
    return sum(client.gather(tasks))

def main():
    processes = sys.argv[1] == "processes"
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=processes
    )
    with cluster, Client(cluster) as client:
        for name in sys.argv[2:]:
            folder = name.replace(":", "-")
            register(client, name, folder)
            assert work(client) == 120
            {then}
            if name != sys.argv[-1]:
                client.unregister_worker_plugin("lineprof")
                shutil.copytree(folder, f"removed/{{folder}}")

if __name__ == "__main__":
    main()
"""
# What a client does while the first name is registered.
THEN = """if name == sys.argv[2]:
                assert client.submit(shop.tax, 100).result() == 20
                client.run(write_profile)
                shutil.copytree(folder, "written")
                register(client, name, "again")
                assert work(client) == 120
                client.unregister_worker_plugin("lineprof")
                register(client, name, "again")
                assert client.submit(shop.total, [1]).result() == 1
"""
HITS = {2: 10, 3: 10 + 45, 4: 45, 5: 10}


def work(folder: Path, where: str, *names: str, then: str = THEN) -> Path:
    """Run a client of a cluster that has workers in processes, or in threads."""
    write(folder, "shop.py", SHOP)
    text = CLIENT.format(imports="import shop\n", total="shop.total", then=then)
    write(folder, "client.py", text)
    done = run(["client.py", where, *names], cwd=folder)
    assert done.status == 0, done.err
    return folder


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a client that registered all names, one after the other."""
    return work(tmp_path_factory.mktemp("dask"), "processes", *NAMES)


def hits(folder: Path) -> Counter[int]:
    """Return the hits of total, summed over the files."""
    total: Counter[int] = Counter()
    for file in folder.glob("dask.*.lprof"):
        found = hits_in(file)
        assert set(found) <= {"total"}
        total.update(found.get("total", {}))
    return total


def test_each_worker_writes_a_profile_when_it_closes(closed: Path) -> None:
    assert hits(closed / "--total") == HITS
    assert len(list((closed / "--total").iterdir())) == 2
    assert not (closed / "removed/--total").exists()


def test_workers_that_are_threads_share_a_profile(tmp_path: Path) -> None:
    work(tmp_path, "threads", "shop.total", then="")
    assert hits(tmp_path / "shop.total") == HITS
    assert len(list((tmp_path / "shop.total").iterdir())) == 1


def test_profiles_are_written_on_demand(closed: Path) -> None:
    assert hits(closed / "written") == HITS


def test_profiles_are_written_when_the_plugin_is_removed(closed: Path) -> None:
    removed = closed / "removed/shop.py--total"
    assert hits(removed) == HITS
    assert len(list(removed.iterdir())) == 2


def test_a_plugin_that_is_registered_again_writes_other_files(closed: Path) -> None:
    again = {2: 1, 3: 2, 4: 1, 5: 1}
    assert hits(closed / "again") == Counter(HITS) + Counter(again)
    assert len(list((closed / "again").iterdir())) == 4
    merged = viewer("merge", "again", "-o", "all.lprof", cwd=closed)
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


@pytest.mark.parametrize("where", ["processes", "threads"])
def test_a_function_of_the_client_itself_is_profiled(
    tmp_path: Path, where: str
) -> None:
    own = CLIENT.format(imports="\n" + SHOP, total="total", then="")
    write(tmp_path, "own.py", own)
    names = ("::total", "own.total", "own.py::total")
    done = run(["own.py", where, *names], cwd=tmp_path)
    assert done.status == 0, done.err
    first = own.splitlines().index("def total(prices):")
    for name in names:
        found = hits(tmp_path / name.replace(":", "-"))
        assert found == {line + first: count for line, count in HITS.items()}, name
