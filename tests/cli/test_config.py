"""Configuration files in TOML: the search for a file, and `ConfigSource`."""

from __future__ import annotations

from pathlib import Path

import pytest
from as_python import enter_removed_folder, write

import lineprof
from lineprof.config import DEFAULTS, ConfigError, column_widths, configuration, read
from lineprof.toml_config import ConfigSource

pytestmark = pytest.mark.usefixtures("here")

SAMPLE = Path(lineprof.__file__).parent / "rc" / "line_profiler.toml"


def test_the_sample_has_the_defaults() -> None:
    tool = read(str(SAMPLE), whole=True)["tool"]
    assert tool == {"line_profiler": DEFAULTS}
    default = ConfigSource.from_default()
    assert default.path.samefile(SAMPLE)
    assert default.conf_dict == DEFAULTS
    assert default == ConfigSource.from_config() == ConfigSource.from_config(False)
    assert (default.subtable, default.file) == (["tool", "line_profiler"], "")


def test_parts_of_a_configuration() -> None:
    default = ConfigSource.from_default()
    widths = default.get_subconfig("show", "column_widths")
    assert widths.subtable == ["tool", "line_profiler", "show", "column_widths"]
    assert widths.conf_dict is default.conf_dict["show"]["column_widths"]
    copied = default.get_subconfig("show", "column_widths", copy=True)
    assert copied == widths
    assert copied.conf_dict is not widths.conf_dict
    assert default.get_subconfig("no", "such", allow_absence=True).conf_dict == {}
    with pytest.raises(KeyError):
        default.get_subconfig("no")
    with pytest.raises(TypeError):
        default.get_subconfig("cli", "rich")
    other = default.copy()
    assert other == default
    other.conf_dict["cli"]["rich"] = True
    assert other != default
    assert ConfigSource.from_default().conf_dict["cli"]["rich"] is False
    assert repr(default).startswith("ConfigSource(conf_dict={'kernprof': {")


def test_the_nearest_file_is_used(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(here / "a" / "b")
    nearer = [
        here / name
        for folder in (".", "a", "a/b")
        for name in (
            f"{folder}/pyproject.toml",
            f"{folder}/line_profiler.toml",
            f"{folder}/lineprof.toml",
        )
    ]
    for number, file in enumerate(nearer):
        file.write_text(f"[tool.line_profiler.kernprof]\nverbose = {number}\n")
        source = ConfigSource.from_config()
        assert source.path.samefile(file)
        assert source.conf_dict["kernprof"]["verbose"] == number
    for file in reversed(nearer):
        assert ConfigSource.from_config().path.samefile(file)
        file.unlink()
    assert ConfigSource.from_config() == ConfigSource.from_default()


def test_a_nearer_file_without_our_tables_is_also_used(here: Path) -> None:
    (here.parent / "lineprof.toml").write_text("[tool.lineprof.cli]\nrich = true\n")
    try:
        assert ConfigSource.from_config().conf_dict["cli"]["rich"] is True
        (here / "pyproject.toml").write_text("[project]\n")
        source = ConfigSource.from_config()
        assert source.path.samefile(here / "pyproject.toml")
        assert source.conf_dict == DEFAULTS
    finally:
        (here.parent / "lineprof.toml").unlink()


def test_the_variable_names_the_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("line_profiler.toml", "other.toml", "given.toml"):
        (here / name).write_text(f"[tool.line_profiler.write]\noutput_prefix='{name}'")
    monkeypatch.setenv("LINE_PROFILER_RC", "other.toml")

    def prefix(source: ConfigSource) -> object:
        return source.get_subconfig("write").conf_dict["output_prefix"]

    assert prefix(ConfigSource.from_config()) == "other.toml"
    assert prefix(ConfigSource.from_config(True)) == "other.toml"
    assert prefix(ConfigSource.from_config(read_env=False)) == "line_profiler.toml"
    assert prefix(ConfigSource.from_config("given.toml")) == "given.toml"
    assert prefix(ConfigSource.from_config(here / "given.toml")) == "given.toml"
    assert prefix(ConfigSource.from_config(False)) == "profile_output"
    monkeypatch.setenv("LINE_PROFILER_RC", "no.toml")
    source = ConfigSource.from_config()
    assert source == ConfigSource.from_default()
    assert source.remarks == (f"ignoring {here}/no.toml: No such file or directory",)


def test_tables_of_lineprof_override_single_keys_of_line_profiler(here: Path) -> None:
    text = """
    [tool.line_profiler.kernprof]
    verbose = 1
    skip-zero = true
    unknown = "is left out"
    [tool.lineprof.kernprof]
    verbose = 2
    rich = true
    gpu = "off"
    [tool.line_profiler.show.column_widths]
    line = 8
    hits = 10
    [tool.lineprof.show.column_widths]
    line = 9
    [elsewhere]
    """
    write(here, "lineprof.toml", text)
    source = ConfigSource.from_config()
    table = source.get_subconfig("kernprof")
    given = {"verbose": 2, "skip-zero": True, "rich": True}
    assert table.conf_dict == {**DEFAULTS["kernprof"], **given}
    assert table.own == {"gpu": "off"}
    widths = DEFAULTS["show"]["column_widths"]
    assert column_widths(source) == {**widths, "line": 9, "hits": 10}
    assert source.remarks == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tool.lineprof", "it is no TOML: "),
        ("lineprof = '\xff'", "it is no TOML: "),
        (
            "[tool.line_profiler]\nwrite = 1",
            "tables at these keys: ['tool.line_profiler",
        ),
        ("[tool]\nlineprof = 1", "expected tables at these keys: ['tool.lineprof']"),
        ("tool = 'lineprof'", "expected tables at these keys: ['tool']"),
    ],
)
def test_an_invalid_file(
    here: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    file = here / "pyproject.toml"
    file.write_bytes(text.encode("latin-1"))
    source = ConfigSource.from_config()
    assert source == ConfigSource.from_default()
    [remark] = source.remarks
    assert remark.startswith(f"ignoring {file}: ")
    assert why in remark
    with pytest.raises(ValueError, match=r"pyproject\.toml") as caught:
        ConfigSource.from_config(file)
    assert why in str(caught.value)
    with pytest.raises(ConfigError, match="; give a file of TOML, or --no-config"):
        configuration("pyproject.toml", off=False)
    monkeypatch.setenv("LINE_PROFILER_RC", "pyproject.toml")
    assert ConfigSource.from_config().remarks == (remark,)


def test_files_that_cannot_be_read(here: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ConfigSource.from_config("no.toml")
    with pytest.raises(ValueError, match="Is a directory"):
        ConfigSource.from_config(here)
    with pytest.raises(TypeError):
        ConfigSource.from_config(3)


def test_an_invalid_file_without_our_name_is_ignored(here: Path) -> None:
    (here / "pyproject.toml").write_text("[broken")
    assert ConfigSource.from_config().remarks == ()
    with pytest.raises(ValueError, match="it is no TOML"):
        ConfigSource.from_config("pyproject.toml")


def test_a_removed_folder_has_no_configuration(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_removed_folder(here, monkeypatch)
    assert ConfigSource.from_config() == ConfigSource.from_default()
