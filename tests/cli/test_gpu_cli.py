"""Flags of the command for GPU data, and the log file of a report."""

from __future__ import annotations

import io
import os
import re
import threading
from pathlib import Path

import pytest
from as_python import enter_removed_folder, error_line
from example_gpu import PROCESS, example, without_gpu

from lineprof import files
from lineprof.cli.command import report_name
from lineprof.cli.main import main
from lineprof.errors import LineprofError
from lineprof.line_stats import LineStats
from lineprof.storage import save

GOLDEN = Path(__file__).parents[1] / "golden"
FULL = (
    "lineprof: The timeline was full: 4 records are in --gpu-summary alone;"
    " kernprof -l --gpu-events N keeps more\n"
)


def golden(name: str) -> str:
    return (GOLDEN / name).read_text(encoding="utf-8")


def entries(folder: Path = Path()) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the example profile, go to its folder, and return its name."""
    monkeypatch.chdir(tmp_path)
    save(example(), "model.lprof")
    return "model.lprof"


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ("", "gpu_table.txt"),
        ("-u 1e-6", "gpu_table.txt"),
        ("--gpu-columns all", "gpu_table_all_columns.txt"),
        (
            "-u1e-3 -m --gpu-self --top-kernels 2 --sort-by gpu --columns await",
            "gpu_table_self.txt",
        ),
        ("--gpu-summary", "gpu_summary.txt"),
        ("--gpu-trace", "gpu_trace.txt"),
        ("--gpu-trace --occupancy --uvm on", "gpu_trace_occupancy.txt"),
        ("--api-trace", "api_trace.txt"),
    ],
)
def test_each_view_is_shown(
    file: str, capsys: pytest.CaptureFixture[str], flags: str, name: str
) -> None:
    assert main(["view", file, *flags.split()]) == 0
    captured = capsys.readouterr()
    assert captured.out == golden(name)
    assert captured.err == ""


@pytest.mark.parametrize(
    ("flags", "name", "remark"),
    [
        ("--gpu-summary --csv", "gpu_summary.csv", ""),
        ("--gpu-trace --csv", "gpu_trace.csv", FULL),
        ("--gpu-trace --csv --occupancy", "gpu_trace_occupancy.csv", FULL),
        ("--api-trace --csv", "api_trace.csv", FULL),
    ],
)
def test_csv_has_only_rows_and_notes_go_to_standard_error(
    file: str, capsys: pytest.CaptureFixture[str], flags: str, name: str, remark: str
) -> None:
    assert main([*flags.split(), file]) == 0
    captured = capsys.readouterr()
    assert captured.out == golden(name)
    assert captured.err == remark


def test_flags_for_kernels_and_graphs_reach_the_views(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file, "--gpu-summary", "--kernel", "*relu*", "--uvm=off"]) == 0
    out = capsys.readouterr().out
    assert "relu" in out
    assert "gemm" not in out
    assert main([file, "--graph-origin", "--gpu-columns", "time,kernels"]) == 0
    replay = next(
        line for line in capsys.readouterr().out.split("\n") if "graph.replay" in line
    )
    assert replay.split()[:5] == ["37", "10", "90.0", "9.0", "0.9"]
    assert replay.split()[5] == "model.graph.replay()"


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ("--gpu-columns x", "there is no GPU column 'x'; known are: time, percent,"),
        ("--gpu-columns all,time", "'all' cannot be combined; name it alone"),
        ("--gpu-columns time,none", "'none' cannot be combined; name it alone"),
        ("--top-kernels 0", "bad number '0'; give one above 0, like 5"),
        ("--top-kernels -3", "argument --top-kernels: "),
        ("--top-kernels 1e3", "bad number '1e3'; give one above 0"),
        ("--top-kernels 9999999999", "bad number '9999999999'; give one above 0"),
        ("--sort-by size", "there is no order 'size'; known are: gpu, time, hits,"),
        (
            "--sort-by name",
            "the table has no order 'name'; known are: gpu, time, hits,",
        ),
        ("--gpu-summary --uvm yes", "bad value 'yes'; give on or off"),
        (
            "--csv",
            (
                "--csv goes with --hot or --functions or --tree or --drill or"
                " --callers or --advice or --memory or --ranks or --by or"
                " --gpu-summary or --gpu-idle or --gpu-trace or --api-trace;"
            ),
        ),
        ("--occupancy", "--occupancy goes with --gpu-trace;"),
        ("--uvm off", "--uvm goes with --gpu-summary or --gpu-trace;"),
        ("--json --csv", "--json takes no --csv;"),
        ("--api-trace --kernel x", "--api-trace takes no --kernel;"),
        ("--gpu-summary --occupancy", "--gpu-summary takes no --occupancy;"),
        ("--gpu-trace -u 1", "--gpu-trace takes no --unit;"),
        ("--gpu-trace --sort-by gpu", "--gpu-trace takes no --sort ORDER;"),
        ("--gpu-trace --gpu-summary", "not allowed with argument --gpu-trace;"),
        ("--log-file %x", "unknown placeholder '%x' in the output name '%x'; use"),
        ("--log-file %q{NO_SUCH}", "variable 'NO_SUCH' in the output name"),
        ("--log-file=", "the name is empty; name a file"),
    ],
)
def test_invalid_flags_are_one_line_and_status_2(
    file: str, capsys: pytest.CaptureFixture[str], flags: str, line: str
) -> None:
    text = error_line(capsys, 2, "view", file, *flags.split())
    assert line in text
    assert "--help" in text


def test_repeated_columns_are_shown_once(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([file, "--gpu-columns", "wait,time,wait,,"]) == 0
    head = next(line for line in capsys.readouterr().out.split("\n") if "Wait" in line)
    assert head.split("% Time")[1].split() == [
        "Wait",
        "GPU",
        "Time",
        "Line",
        "Contents",
    ]
    assert main([file, "--gpu-columns", "none"]) == 0
    tables = capsys.readouterr().out.split("GPU time:")[0]
    assert "GPU" not in tables.replace("a GPU", "")


def test_a_profile_without_gpu_data_says_so(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(without_gpu(), file)
    why = "No GPU activity was recorded: there is no NVIDIA device\n"
    assert main([file, "--gpu-trace"]) == 0
    assert capsys.readouterr().out == why
    assert main([file, "--gpu-trace", "--csv"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith('"Start","Duration",')
    assert captured.err == f"lineprof: {why}"


def test_the_report_goes_to_the_log_file_instead_of_standard_output(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "7")
    monkeypatch.setenv("COLUMNS", "40")
    name = "out.%p.%h.%q{RANK}.%%.txt"
    assert main([file, "--log-file", name]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path("out.4711.node-1.7.%.txt").read_text(encoding="utf-8") == golden(
        "gpu_table.txt"
    )
    assert main([file, "--gpu-trace", "--csv", "--log-file", "t.csv"]) == 0
    assert capsys.readouterr() == ("", FULL)
    assert Path("t.csv").read_text(encoding="utf-8") == golden("gpu_trace.csv")
    assert entries() == [file, "out.4711.node-1.7.%.txt", "t.csv"]


def test_json_can_go_to_a_log_file(file: str) -> None:
    assert main([file, "--json", "--log-file", "a.json"]) == 0
    assert Path("a.json").read_text(encoding="utf-8").startswith('{"format": 1')


def test_placeholders_are_of_the_first_process_or_of_this_one() -> None:
    second = PROCESS._replace(pid=1, host="x")
    assert report_name("%p@%h", [PROCESS, second]) == "4711@node-1"
    assert report_name("%p@%h", []) == f"{os.getpid()}@{os.uname().nodename}"
    hostile = PROCESS._replace(host="../../etc\0")
    assert report_name("%h", [hostile]) == ".._.._etc_"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}", report_name("%t", []))


def test_an_existing_file_is_replaced_through_its_link(file: str) -> None:
    Path("target").write_text("old", encoding="utf-8")
    Path("link").symlink_to("target")
    assert main([file, "--gpu-summary", "--log-file", "link"]) == 0
    assert Path("link").is_symlink()
    assert Path("target").read_text(encoding="utf-8") == golden("gpu_summary.txt")


def test_a_report_never_replaces_its_profile(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(file).read_bytes()
    Path("link").symlink_to(file)
    for name in (file, f"./{file}", "link"):
        text = error_line(capsys, 1, file, "--log-file", name)
        assert "is the profile; name another file" in text
    assert Path(file).read_bytes() == before


def test_invalid_paths_are_one_line_and_status_1(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, reason in {
        ".": "Is a directory",
        "no/such": "No such file or directory",
        f"{file}/x": "Not a directory",
        "x" * 300: "File name too long",
    }.items():
        text = error_line(capsys, 1, file, "--log-file", name)
        assert f"cannot write the report to {name!r}: {reason}" in text
        assert text.endswith("; choose another file\n")
    assert entries() == [file]


def test_a_current_folder_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_removed_folder(tmp_path, monkeypatch)
    with pytest.raises(LineprofError, match="No such file or directory; choose"):
        files.write_file(["one"], "a.txt")
    monkeypatch.chdir(tmp_path)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    def lines() -> object:
        yield "one"
        raise LineprofError("damaged")

    target = tmp_path / "a.txt"
    target.write_text("old", encoding="utf-8")
    with pytest.raises(LineprofError, match="damaged"):
        files.write_file(lines(), str(target))  # type: ignore[arg-type]
    assert target.read_text(encoding="utf-8") == "old"
    assert entries(tmp_path) == ["a.txt"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(
        target=lambda: got.append(pipe.read_text(encoding="utf-8"))
    )
    reader.start()
    files.write_file(["one", "\udcff"], str(pipe))
    reader.join()
    assert got == ["one\n\\udcff\n"]
    assert pipe.is_fifo()
    files.write_file(["one"], os.devnull)


def test_a_profile_without_gpu_data_can_go_to_a_log_file(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(LineStats({("a.py", 1, "f"): [(1, 1, 1)]}, 1e-9), file)
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    assert main([file]) == 0
    assert main([file, "--log-file", "%p.txt"]) == 0
    assert Path(f"{os.getpid()}.txt").read_text(encoding="utf-8") == stream.getvalue()
