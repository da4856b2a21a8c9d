"""Walks through what leaves a page: links, Markdown, lines in an editor."""

from __future__ import annotations

import functools
import itertools
import json
import random
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tools.checks.findings import Mismatch
from tools.checks.report import markdown
from tools.checks.report.figures import within
from tools.checks.report.walk_frame import OPEN, tabs_of
from tools.checks.report.walks import drawn, expect, press, search_for, show

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tools.checks.browser import Page

CLIPBOARD = "navigator.clipboard.readText()"
SAID = "document.querySelector('.said').textContent"
KINDS = {
    *("paragraph_open", "paragraph_close", "inline", "text", "code_inline"),
    *("strong_open", "strong_close", "fence", "text_special"),
    *(
        f"{tag}_{end}"
        for tag in ("table", "thead", "tbody")
        for end in ("open", "close")
    ),
    *(f"{tag}_{end}" for tag in ("tr", "th", "td") for end in ("open", "close")),
}
MAX_CELL = 300  # characters of a text in a cell
MAX_COMMENT = 65_536  # characters of a comment on GitHub
# Titles and texts of all rows of each table; [] for one that has no such rows.
TABLES = """
current.view.tables.map((table) => {
  if (!table.list) return [];
  const isShown = (_, at) => !table.shown[at].isDrawing;
  const texts = (index) => [...table.row(index).children].map((one) => one.textContent);
  const rows = table.list.map((_, index) => texts(index).filter(isShown));
  return [table.shown.map((one) => one.title).filter(isShown), ...rows];
})
"""
# The call with the most time from a line that has a source.
DEAREST_CALL = """
byTime([...data.edges.line.keys()].filter((one) => placeOf(data.edges.caller[one])))[0]
"""
HOTTEST = "hotLines()[0]"
# Texts that Markdown, or GitHub's, gives a meaning.
MARKUP = (
    *(
        "a|b",
        r"a\|b",
        r"a\\|b",
        "\\",
        "|",
        "`",
        "``",
        "` `",
        "a`b``c",
        "`a",
        "a`",
        r"\`",
    ),
    *("*x*", "_x_", "__x__", "~~x~~", "<b>", "<!-- x", "&amp;", "&#124;", "[a](b)"),
    *("![a](b)", "[a]", "@me", "#1", "http://x.y", "www.x.y", "a@b.c", ":tada:", "$x$"),
    *("GH-12", "ABC-1", "%1", "deadbeef1", "(@me)", "www.", "x (a)", "`" * 99),
    *("1. x", "- x", "# x", "> x", "```", "~~~", "---", "|--|", " x ", "a\nb", "", " "),
)
OWN_EDITOR = "x-own:{path}#{line}"  # of who runs lineprof serve
VSCODE = "vscode://file/{path}:{line}"
# Addresses that are of no editor, and those of editors with the address of a line.
REFUSED = (
    *("javascript:alert(1)//{path}", "JavaScript:'{path}'", "data:text/html,{path}"),
    *("vbscript:{path}", "file://{path}", "blob:{path}", "http://localhost/{path}"),
    *("https://x/{path}", "about:{path}", "view-source:{path}", "ms-msdt:/id {path}"),
    *("ms-msdt:{path}", "search-ms:query={path}", "intent:{path}", "{path}"),
    *("/{path}", "", "vscode:", "vscode://file/", "vscode://file/{line}"),
    *("jar:{path}", "mhtml:{path}", "resource://{path}", "res:{path}"),
    *("vs code://{path}", "vscode://file/{path} {line}", "vscode://file/{path}\n"),
    *("vscode://{file}{path}", "vscode://{path", "\u202evscode://{path}"),
    *("java\tscript:{path}", " vscode:{path}", f"vscode://{'x' * 1000}/{{path}}"),
)
TAKEN = {
    "vscode://file/{path}:{line}:{column}": "vscode://file/a/b.py:12:1",
    "vscode://file{path}:{line}": "vscode://file/a/b.py:12",
    "idea://open?file={path}&line={line}": "idea://open?file=/a/b.py&line=12",
    "x-mine+1.0:{path}#{line}": "x-mine+1.0:/a/b.py#12",
    "vscode://vscode-remote/ssh-remote+box{path}:{line}": (
        "vscode://vscode-remote/ssh-remote+box/a/b.py:12"
    ),
}
# Names of source that no editor opens, and paths as they are encoded.
NO_FILES = (
    *("<string>", "<frozen importlib._bootstrap>", "<ipython-input-1-abc>", ""),
    *("a.py", "./a.py", "../a.py", "~/a.py", "C:a.py", "javascript:alert(1)"),
    *("//host/share/a.py", r"\\host\share\a.py", "/t/ipykernel_12/345.py"),
    *(r"/\host\a.py", r"/./\host\a.py", r"/x/../\host\a.py", "/??/UNC/host/a.py"),
    *("/a\nb.py", "/a\0.py", "/\ufffd.py", "/\ud800.py", f"/{'a' * 5000}"),
)
FILES = {
    "/a b/%41#1?x=y&z.py": "/a%20b/%2541%231%3Fx%3Dy%26z.py",
    '/it\'s "x" (1)*!.py': "/it%27s%20%22x%22%20%281%29%2A%21.py",
    "/back\\slash/\u00fc\u202e\U0001f600.py": (
        "/back%5Cslash/%C3%BC%E2%80%AE%F0%9F%98%80.py"
    ),
    "/<b>|`{line}{path}$1.py": "/%3Cb%3E%7C%60%7Bline%7D%7Bpath%7D%241.py",
    r"C:\a b\c.py": "C:/a%20b/c.py",
    "d:/x.py": "d:/x.py",
    # A browser would resolve ".." itself, also beyond the path: to a share, to a host.
    "/a/./b/../c//d.py": "/a/c/d.py",
    "/a/..//host/share/a.py": "/host/share/a.py",
    "/../../ssh-remote+other/a.py": "/ssh-remote%2Bother/a.py",
    r"C:\..\..\\host\a.py": "C:/host/a.py",
    "/a:3:4.py": "/a%3A3%3A4.py",
}
# A message of a report, and those of a hostile frame.
GOOD_MESSAGE = "{open: {editor: EDITORS.Zed, path: '/a.py', line: 1}}"
GARBAGE = (
    *("null", "1", "'open'", "[]", "{open: 1}", "{open: null}", "{open: []}"),
    *("{open: {}}", "{open: {line: 1}}", "{address: {}}", "{open: 'x'.repeat(1e6)}"),
    *(
        f"{{open: {{editor: {editor}, path: {path}, line: {line}}}}}"
        for editor, path, line in (
            ("'javascript:alert(1)//{path}'", "'/a.py'", "1"),
            ("'https://example.org/{path}'", "'/a.py'", "1"),
            ("'file://{path}'", "'/a.py'", "1"),
            ("EDITORS.Zed", "'//host/a.py'", "1"),
            ("EDITORS.Zed", "'javascript:alert(1)'", "1"),
            ("EDITORS.Zed", "'/' + 'a'.repeat(1e6)", "1"),
            ("EDITORS.Zed", "'/a.py'", "'1'"),
            ("EDITORS.Zed", "'/a.py'", "-1"),
            ("EDITORS.Zed", "{toString: 1}", "1"),
            ("['vscode://file/{path}']", "'/a.py'", "1"),
            ("'x:{path}' + 'y'.repeat(1e6)", "'/a.py'", "1"),
        )
    ),
)


def copied(one: Page, key: str) -> str:
    """Press a key that copies; return what is on the clipboard."""
    one.value("navigator.clipboard.writeText('nothing').catch(() => 0)")
    one.value(f"{SAID.removesuffix('.textContent')}.textContent = ''")
    press(one, "body", key)
    expect(one, f"{key}: a message", SAID)
    text: str = one.value(CLIPBOARD)
    return text


def allow(one: Page, setting: str = "granted") -> None:
    """Let the page read the clipboard; it may write as `setting` says."""
    for name, value in (("clipboard-read", "granted"), ("clipboard-write", setting)):
        permission = {"name": name, "allowWithoutSanitization": False}
        one.send("Browser.setPermission", permission=permission, setting=value)


def forget(one: Page) -> None:
    """Forget the editor that a walk before has chosen."""
    one.value("localStorage.clear(), window.name = '', data.editor = '', 0")


def copies_links(one: Page) -> None:
    """Copy a link in each tab, and open one to a line."""
    allow(one)
    base = one.value("location.href.split('#')[0]")
    for tab in tabs_of(one):
        show(one, tab)
        link = copied(one, "y")
        row = one.value("chosenAddress()")  # a row of a table has the link of its line
        if link != f"{base}{row}" if row else not link.startswith(f"{base}#{tab}"):
            raise Mismatch(f"{tab}: the link is {link}")
    if "source" in tabs_of(one):
        _opens_links(one, base)


def takes_the_last_choice(one: Page) -> None:
    """Choose a row in each table of a tab: the last one is linked, and shown alone."""
    for tab in tabs_of(one):
        show(one, tab)
        if not one.value("current.view instanceof TablesView"):
            continue
        for number in range(one.value("current.view.tables.length")):
            table = f"current.view.tables[{number}]"
            if not one.value(f"{table}.list?.length"):
                continue
            one.value(f"{table}.element.focus()")
            one.press("Home", "End")
            expect(one, f"{tab}: its address", f"chosenAddress() === {table}.chosen()")
            marked = "current.panel.querySelectorAll('.row.selected').length"
            expect(one, f"{tab}: one row is chosen", f"{marked} === 1")


def _opens_links(one: Page, base: str) -> None:
    """Copy links from a row and from the source; the first leads there again."""
    show(one, "lines")
    press(one, "#panel-lines .table", "Home")
    link = copied(one, "y")
    line = one.value("data.lines.line[current.view.tables[0].list[0]]")
    show(one, "source")
    view = "sourceTab().view"
    one.value(f"{view}.choose({line} === 1 ? {view}.text.length : 1)")
    if copied(one, "y") == link:
        raise Mismatch("the link to another line is the same")
    one.open("about:blank")
    one.open(link)
    one.wait("document.documentElement.dataset.ready", limit_s=30)
    expect(one, "the line of the link", f"{view}.selected === {line}")
    one.open("about:blank")
    one.open(base)
    one.wait("document.documentElement.dataset.ready", limit_s=30)


def copies_places(one: Page) -> None:
    """Copy the path and the number of a line."""
    allow(one)
    show(one, "source")
    one.value("copyPlace()")
    expect(one, "a message", SAID)
    place = one.value(CLIPBOARD)
    wanted = one.value(
        "visible(`${data.files.path[sourceTab().view.file]}"
        ":${sourceTab().view.selected}`)"
    )
    if place != wanted:
        raise Mismatch(f"the place is {place}, not {wanted}")


def plain(text: str) -> str:
    """Return a text without blanks, which Markdown does not keep at ends of code."""
    return re.sub(r"\s|\\n", "", text.replace("&emsp;", ""))


def copies_tables(python: Path, one: Page) -> None:
    """Copy the tables of each tab as Markdown: a renderer reads what the page shows."""
    allow(one)
    for tab in tabs_of(one):
        show(one, tab)
        drawn(one)
        if tab == "source" or not one.value("Boolean(current.view.markdown?.())"):
            continue
        text = copied(one, "m")
        found = _rendered(python, tab, text)
        if not found["tables"]:
            raise Mismatch(f"{tab}: a renderer sees no table in {text[:200]!r}")
        rows = itertools.chain(*found["tables"])
        cells = {cell.strip() for cell in itertools.chain(*rows)}
        lines = "[...current.panel.querySelectorAll('td.text')]"
        for line in one.value(f"{lines}.map((cell) => cell.textContent)"):
            if len(line) < MAX_CELL and line.strip() not in cells:
                raise Mismatch(f"{tab}: {line!r} is not whole in {text[:400]!r}")
        widths = {len(row) for table in found["tables"] for row in table[:1]}
        shown = one.value(f"Boolean(current.view.tables?.length) && {TABLES}") or []
        for table, read in zip(shown, found["tables"]):
            if table:
                _same(tab, table, read)
        if 1 in widths:
            raise Mismatch(f"{tab}: a table of one column")


def _rendered(python: Path, what: str, text: str) -> dict[str, Any]:
    """Return what a renderer reads; Mismatch if it sees other markup than is meant."""
    found = markdown.read(python, text)
    strange = {*found["kinds"]} - KINDS
    if strange:
        raise Mismatch(f"{what}: a renderer sees {strange} in {text[:400]!r}")
    return found


def _same(what: str, table: list[list[str]], read: list[list[str]]) -> None:
    """Compare the rows of a table with those that a renderer read."""
    if len(table) != len(read):
        raise Mismatch(f"{what}: {len(table)} rows, a renderer reads {len(read)}")
    for row, cells in zip(table, read):
        for text, cell in zip(row, cells, strict=True):
            is_cut = cell.endswith("\u2026")
            wanted, is_ = plain(text), plain(cell).removesuffix("\u2026")
            if not (wanted == is_ or (is_cut and wanted.startswith(is_))):
                raise Mismatch(f"{what}: {text!r} is read as {cell!r}")


def copies_what_is_shown(python: Path, one: Page) -> None:
    """Sort and search a table, then copy it."""
    allow(one)
    show(one, "lines")
    text = one.value(f"sourceLine(lineFile({HOTTEST}), data.lines.line[{HOTTEST}])")
    word = re.findall(r"[a-z]+", text)[0]
    search_for(one, "lines", word)
    one.value("document.querySelectorAll('#panel-lines .head button')[0].click()")
    text = copied(one, "m")
    if f"rows with `{word}`" not in text:
        raise Mismatch(f"the copy does not say what was searched: {text[:200]!r}")
    name = one.value(f"codeSpan(functionName(data.lines.function[{HOTTEST}]))")
    if " | {} | ".format(name.replace("|", r"\|")) not in text:
        raise Mismatch(f"the function is not {name} in {text[-300:]!r}")
    _same("lines", one.value(TABLES)[0], _rendered(python, "lines", text)["tables"][0])
    search_for(one, "lines", "")


def cuts_long_tables(python: Path, one: Page) -> None:
    """Copy a table of many rows: its first ones, and how many more there are."""
    rows, call = 5_000, "tableMarkdown('T', [{title: 'A'}, {title: 'B'}], %d, %s)"
    text: str = one.value(
        call % (rows, "(at) => [String(at), codeSpan('a|b`'.repeat(9))]")
    )
    (table,) = _rendered(python, "many rows", text)["tables"]
    rest = re.search(r"\n\n([\d,]+) more rows left out\.$", text)
    missing = int(rest[1].replace(",", "")) if rest else 0
    if len(table) - 1 + missing != rows or len(text) > MAX_COMMENT:
        raise Mismatch(f"{len(table) - 1} rows and {missing} more of {rows}")
    if table[-1] != [str(len(table) - 2), "a|b`" * 9]:
        raise Mismatch(f"the last row is read as {table[-1]}")


def escapes_texts(python: Path, one: Page) -> None:
    """Put texts with a meaning in Markdown into a table, as words and as code.

    The page writes them as reports in Markdown do.
    """
    choose = random.Random(5).choices  # noqa: S311
    pieces = (*"|\\`<>&*_[]()#@!~-+=%:$/.'a1", " ", "\n", "\u00e9", *MARKUP)
    texts = [*MARKUP, *("".join(choose(pieces, k=1 + n % 9)) for n in range(1000))]
    texts = [one for one in texts if not re.search("`[^`]+`", one)]  # is code already
    how = "(text) => [inline(text), codeSpan(text)]"
    here = one.value(f"{json.dumps(texts)}.map({how})")
    both = zip(texts, here, markdown.written(python, texts))
    differ = [(text, mine, other) for text, mine, other in both if mine != other]
    if differ:
        raise Mismatch(f"the page and a report differ: {differ[:3]} of {len(differ)}")
    one.value(f"window.texts = {json.dumps(MARKUP)}, 0")
    for how in ("inline", "codeSpan"):
        cells = f"(at) => [String(at), {how}(texts[at])]"
        columns = "[{title: 'A'}, {title: 'B', left: true}]"
        text = one.value(f"tableMarkdown('T', {columns}, texts.length, {cells})")
        (table,) = _rendered(python, how, text)["tables"]
        # A renderer closes no more backticks side by side.
        wanted = [plain(text).replace("`" * 99, f"{'`' * 39}\u2026") for text in MARKUP]
        found = [plain(row[1]) for row in table[1:]]
        if found != wanted:
            raise Mismatch(f"{how}: {wanted} is read as {found}")
    ms = one.value(
        "(() => { const start = performance.now(); inline(')'.repeat(1e5) + 'x');"
        " return performance.now() - start; })()"
    )
    within("a sentence of 100,000 brackets", ms, 200, "ms")
    block = one.value("codeBlock(texts.map((text) => visible(text.trim())))")
    if len(_rendered(python, "a block", block)["blocks"]) != 1:
        raise Mismatch(f"it is not one block: {block!r}")


def copies_functions(python: Path, one: Page) -> None:
    """Copy the function of the hottest line: its rows as the source shows them."""
    allow(one)
    show(one, "source")
    one.value(f"go(measuredAddress({HOTTEST}))")
    text = copied(one, "m")
    (block,) = _rendered(python, "source", text)["blocks"]
    view = "sourceTab().view"
    line = f"{view}.text[{view}.selected - 1]"
    source, number = one.value(
        f"[visible({line}.slice(0, LONGEST)).trim(), {view}.selected]"
    )
    place = one.value(f"codeSpan(functionPlace({view}.functionAt({view}.selected)))")
    if f"({place}, " not in text:
        raise Mismatch(f"the place {place} is not in {text[:300]!r}")
    row = rf"(?m)^ *{number} .*{re.escape(source)}$"
    if not re.search(row, block):
        raise Mismatch(f"no row {number} with {source!r} in {block!r}")


def copies_calls(python: Path, one: Page) -> None:
    """Copy the calls of a line that has some."""
    allow(one)
    show(one, "source")
    one.value(f"go(callAddress({DEAREST_CALL}))")
    one.value("sourceTab().view.panel.copyCalls()")
    expect(one, "a message", f"{SAID}.includes('calls')")
    found = _rendered(python, "calls", one.value(CLIPBOARD))
    if found["tables"][0][0] != ["Time", "Calls", "Line", "Function"]:
        raise Mismatch(f"the calls are read as {found['tables']}")


def copies_without_permission(one: Page) -> None:
    """Copy where the clipboard is refused; then where no way is left."""
    show(one, tabs_of(one)[0])
    one.value("navigator.clipboard.writeText('nothing')")
    allow(one, "denied")
    link = copied(one, "y")
    if "#" not in link:
        raise Mismatch(f"without permission the link is {link!r}")
    allow(one)
    one.value("document.execCommand = () => false, 0")
    link = copied(one, "y")
    if "#" not in link:
        raise Mismatch(f"by the clipboard of the page the link is {link!r}")
    allow(one, "denied")
    press(one, "body", "y")
    expect(
        one, "a text to copy", f"{OPEN}?.querySelector('textarea').value.includes('#')"
    )
    field = "document.activeElement"
    expect(one, "it is selected", f"{field}.selectionEnd === {field}.value.length")
    one.press("Escape")
    expect(one, "no text", f"!{OPEN}")
    one.value("delete document.execCommand, 0")
    allow(one)


def checks_addresses(one: Page) -> None:
    """Ask for addresses of many files and editors, whose answers are known."""

    def found(editor: str, path: str, line: object = 12) -> str:
        literals = ", ".join(map(json.dumps, (editor, path, line)))
        address: str = one.value(f"editorAddress({literals})")
        return address

    wrong_lines = (0, -1, 1.5, "1", None)
    refused = [template for template in REFUSED if found(template, "/a/b.py")]
    refused += [path for path in NO_FILES if found(VSCODE, path)]
    refused += [str(line) for line in wrong_lines if found(VSCODE, "/a.py", line)]
    if refused:
        raise Mismatch(f"these have an address: {refused}")
    answers = {template: found(template, "/a/b.py") for template in TAKEN}
    if answers != TAKEN:
        raise Mismatch(f"the addresses of /a/b.py:12 are {answers}")
    for before in ("vscode://file", "vscode://vscode-remote/ssh-remote+box"):
        address = found(f"{before}{{path}}", r"C:\a.py")
        if address != f"{before}/C:/a.py":
            raise Mismatch(f"a drive behind a host is {address}")
    paths = {path: found("x:{path}", path).removeprefix("x:") for path in FILES}
    if paths != FILES:
        raise Mismatch(f"paths are encoded as {paths}")


def chooses_an_editor(one: Page) -> None:
    """Press e before an editor is known; one that is none is refused."""
    show(one, "source")
    forget(one)
    one.click(3, 3)  # a browser opens no second program without another click
    press(one, "body", "e")
    field = f"{OPEN}.querySelector('input')"
    expect(one, "a choice", f"{field}.value === EDITORS['VS Code']")
    button = f"{OPEN}.querySelector('.tools button')"
    one.value(f"{field}.value = 'javascript:alert(1)//{{path}}', {button}.click()")
    expect(one, "why not", f"{OPEN}.querySelector('[role=alert]').textContent")
    expect(one, "it is not kept", "chosenEditor() === ''")
    one.value(
        f"{OPEN}.querySelector('select').value = 'PyCharm',"
        f"{OPEN}.querySelector('select').dispatchEvent(new Event('change'))"
    )
    one.followed.clear()
    one.value(f"{button}.click()")
    expect(
        one,
        "it is kept",
        "chosenEditor() === EDITORS.PyCharm && !document.querySelector('dialog')",
    )
    expect(
        one,
        "its name",
        "sourceTab().view.panel.opens.textContent === 'Open in PyCharm'",
    )
    path, line = one.value("(({path, line}) => [path, line])(placeAt(chosenAddress()))")
    _followed(one, "pycharm", path, line)


def _followed(one: Page, scheme: str, path: str, line: int) -> None:
    """Raise Mismatch unless the last link that was followed leads to a line."""
    for _ in range(100):
        one.value("0")
        if one.followed:
            break
        time.sleep(0.02)
    url = one.followed[-1] if one.followed else ""
    is_encoded = re.fullmatch(r"[!#$%&*+,./0-9:;=?@A-Z_a-z~-]+", url)
    rest = url.removeprefix(f"{scheme}://")
    if not is_encoded or path not in unquote(rest) or str(line) not in rest:
        raise Mismatch(f"{path}:{line} is opened by {url!r}")
    drawn(one)
    one.requests[:] = [other for other in one.requests if other != url]


def opens_lines(one: Page) -> None:
    """Open the chosen line of each tab; nothing is opened where none is chosen."""
    forget(one)
    one.value("choose('editor', EDITORS['VS Code'])")
    real = "followAddress"
    one.value(f"window.real ??= {real}, window.sent = [], 0")
    one.value(f"{real} = (href) => sent.push(href), 0")
    for tab in tabs_of(one):
        show(one, tab)
        one.value("sent.length = 0")
        drawn(one)
        press(one, "body", "e")
        chosen = one.value(
            "chosenAddress() ? pathProblem(placeAt(chosenAddress()).path) : 'none'"
        )
        sent = one.value("sent")
        if bool(sent) == bool(chosen):
            raise Mismatch(f"{tab}: opens {sent}, chosen is {chosen}")
        expect(one, f"{tab}: a message", SAID)
    one.value(f"{real} = window.real, 0")
    forget(one)


def takes_the_editor_of_the_page(one: Page) -> None:
    """Open in the editor that the page was made with; one that is none is ignored."""
    forget(one)
    one.value("data.editor = EDITORS.Zed, 0")
    expect(
        one, "its editor", "chosenEditor() === EDITORS.Zed && editorName() === 'Zed'"
    )
    one.value("data.editor = 'javascript:{path}', window.name = 'lineprof {', 0")
    expect(one, "none", "chosenEditor() === ''")
    one.value("openEditors(), 0")
    why = f"{OPEN}.querySelector('[role=alert]').textContent"
    expect(one, "why not", f"{why}.startsWith('LINEPROF_EDITOR had')")
    one.value(f"{OPEN}.close(), 0")
    forget(one)


def shares_served(window: Page, report: Page) -> None:
    """Copy from a report in the frame of lineprof serve, and open one of its lines."""
    allow(window)
    window.value("navigator.clipboard.writeText('nothing')")
    report.value("copyLink()")
    expect(report, "a message", SAID)
    link = window.value(CLIPBOARD)
    base = window.value("location.origin + location.pathname")
    if not link.startswith(f"{base}#") or "token" in link:
        raise Mismatch(f"the link to the page around the report is {link!r}")
    show(report, "lines")
    report.value("copyMarkdown()")
    expect(report, "a message", f"{SAID}.includes('Markdown')")
    if not window.value(CLIPBOARD).startswith("**Hot lines** of "):
        raise Mismatch(f"the table is {window.value(CLIPBOARD)!r}")
    _opens_from_frame(window, report)


# Timers that take messages away are held, so that a slow machine sees these as well.
HELD_TIMERS = """
window.held = new Map(), window.timers = 0;
window.realTimeout = setTimeout, window.realClear = clearTimeout;
setTimeout = (act, ms) => {
  if (ms !== 4000) return realTimeout(act, ms);
  timers += 1;
  held.set(-timers, act);
  return -timers;
};
clearTimeout = (i) => held.delete(i) || realClear(i);
0
"""


def _opens_from_frame(window: Page, report: Page) -> None:
    """Open a line in known and in other editors; then send what no report sends."""
    window.value("window.sent = [], window.real = followAddress, 0")
    window.value("followAddress = (href) => sent.push(href), 0")
    window.value(HELD_TIMERS)
    show(report, "source")

    def open_in(editor: str) -> None:
        window.value("openedAt = -Infinity, 0")
        report.value(f"choose('editor', {editor}), openChosen()")

    def sent(what: str, number: int, shown: str) -> None:
        says = f"!opening.hidden && opening.textContent.startsWith({shown!r})"
        expect(window, what, f"sent.length === {number} && {says}")

    open_in("EDITORS['VS Code']")
    sent("it is opened", 1, "Opening vscode://file/")
    open_in(json.dumps(OWN_EDITOR))
    sent("so is that of the server's user", 2, "Opening x-own:/")
    window.value("sent.length = 1, 0")
    open_in("'x-mine:{path}#{line}'")
    sent("it asks", 1, "The report asks to open another program: x-mine:/")
    click = "opening.querySelector('button').click()"
    window.value(f"openedAt = performance.now(), {click}")
    expect(window, "a click at once is no answer", "sent.length === 1")
    window.value("window.buttons = [...opening.querySelectorAll('button')], 0")
    for other in ("x-other:{path}", "x-mine:{path}?{line}"):
        open_in(f"'{other}'")
    sent("another question waits", 1, "The report asks to open another program: x-mine")
    kept = "buttons.every((one) => one.isConnected)"
    expect(window, "it takes no button away from below the pointer", kept)
    held = "document.activeElement"
    expect(window, "the keys are at the question", f"{held}.textContent === 'Cancel'")
    window.value("openedAt = -Infinity, 0")
    window.press("Escape")
    expect(window, "Escape refuses", f"opening.hidden && {held} === frame")
    open_in("'x-mine:{path}#{line}'")
    sent("it asks again", 1, "The report asks to open another program: x-mine:/")
    window.value("openedAt = -Infinity, opening.querySelector('button').focus()")
    window.press("Enter")
    sent("what the reader agreed to", 2, "Opening x-mine:/")
    expect(window, "the keys are at the report again", f"{held} === frame")
    open_in("'x-mine:{path}#{line}'")
    sent("it asks no more", 3, "Opening x-mine:/")
    _messages_go(window)
    _opens_nothing(window, report)
    window.value("followAddress = window.real, 0")
    window.followed.clear()
    report.followed = window.followed  # whichever waits gets the messages of both
    window.click(3, 3)  # a browser opens no second program without another click
    show(report, "source")
    open_in("EDITORS['VS Code']")
    path, line = report.value(
        "((one) => [one.path, one.line])(placeAt(chosenAddress()))"
    )
    _followed(window, "vscode", path, line)


def _messages_go(window: Page) -> None:
    """Let the time of each message pass: its own timer alone takes it away."""
    last = "[...held.keys()].at(-1)"
    window.value(f"[...held].forEach(([i, act]) => i === {last} || act()), 0")
    expect(window, "no earlier timer takes it away", "!opening.hidden")
    window.value(f"held.get({last})(), sent.length = 0, 0")
    expect(window, "its own does", "opening.hidden")
    window.value("setTimeout = window.realTimeout, clearTimeout = window.realClear, 0")


def _opens_nothing(window: Page, report: Page) -> None:
    """Send what no report sends, and what it sends when nobody asked for it."""
    for message in GARBAGE:
        window.value("openedAt = -Infinity, 0")
        report.value(f"parent.postMessage({message}, '*'), 0")
    window.value(f"window.postMessage({GOOD_MESSAGE}, '*'), 0")  # not from the frame
    activation = "{configurable: true, value: {isActive: false}}"
    window.value(f"Object.defineProperty(navigator, 'userActivation', {activation}), 0")
    for editor in ("EDITORS.Zed", "'x-unasked:{path}'"):
        window.value("openedAt = -Infinity, 0")
        message = f"{{open: {{editor: {editor}, path: '/a.py', line: 1}}}}"
        report.value(f"parent.postMessage({message}, '*'), 0")
    report.value("go('#files')")
    window.wait("location.hash === '#files'")  # a later message has arrived
    expect(window, "nothing else is opened", "!sent.length && opening.hidden")
    window.value("delete navigator.userActivation, 0")


def walk(python: Path) -> tuple[Callable[[Page], None], ...]:
    """Return the walks of any report; `python` has a renderer of Markdown."""
    tables = functools.partial(copies_tables, python)
    links = (copies_links, takes_the_last_choice)
    return (*links, tables, copies_without_permission, opens_lines)


def walk_of_source(python: Path) -> tuple[Callable[[Page], None], ...]:
    """Return the walks of a report of a program."""
    with_python = (
        *(copies_what_is_shown, cuts_long_tables, escapes_texts),
        *(copies_functions, copies_calls),
    )
    return (
        copies_places,
        *(functools.partial(one, python) for one in with_python),
        checks_addresses,
        takes_the_editor_of_the_page,
        chooses_an_editor,  # the browser asks about the program, and takes no more keys
    )
