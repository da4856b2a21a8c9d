// The view of source: a file with the numbers of its lines, its functions on one side, the
// panel of the selected line and a map of the file on the others.

const AROUND_HOT = 5; // lines above and below a hot one, on paper

/** Whether the panel of the selected line has room beside the source. */
const WIDE = matchMedia("(min-width: 1750px)");

/** Return the files as choices, those with the most own time first. */
function filesByTime() {
  const { functions, files } = data;
  const own = files.name.map(() => 0);
  functions.file.forEach((file, f) => file >= 0 && (own[file] += functions.self[f]));
  return descending([...own.keys()], own).map((file) => [file, `${fileName(file)} \u00b7 ${ofRun(own[file]) || "0%"}`]);
}

/** The tab Source. */
class SourceView {
  keys = {
    title: "Source",
    list: [
      ["n p", "next and previous hot line"],
      ["ArrowDown ArrowUp j k", "next and previous line"],
      ["PageDown PageUp Home End", "scroll"],
      ["ArrowRight ArrowLeft", "show and hide the callees of the line"],
      ["Enter", "go to the callee of the line"],
      ["c", "go to the caller of the line's function"],
      ["h", "hot lines only"],
    ],
  };

  make(panel) {
    this.file = NONE;
    this.selected = 0;
    this.onlyHot = false;
    this.openedIn = []; // by file
    this.above = null; // the function in the head
    this.shown = [];
    const { lines } = data;
    this.known = LINE_COLUMNS.filter((one) =>
      one.always || (one.needs ? data[one.needs] : lines[one.name]?.some((number) => number > 0)));
    this.fit();
    this.outline = new Outline(this);
    this.scroller = tableElement("code", "Source with the numbers of each line", (event) => this.key(event));
    this.headRow = h("div", { class: "row", role: "row" });
    this.around = h("div", { class: "around", role: "row" });
    this.scroller.classList.toggle("with-gpu", data.gpuTotal > 0);
    this.scroller.append(h("div", { class: "head", role: "rowgroup" }, this.headRow, this.around));
    // Before the same of the rows.
    addEventListener("beforeprint", () => this.layOut(true));
    this.rows = new Rows(this.scroller, (index) => this.row(index));
    this.rows.rendered = () => this.follow();
    addEventListener("afterprint", () => this.layOut());
    this.panel = new LinePanel();
    this.map = new Minimap(this);
    this.picker = select("File", filesByTime(), () => go(address("source", data.files.name[this.picker.value])));
    this.find = searchInput("Find in this file", {
      placeholder: "Find in this file (/)",
      keydown: (event) => {
        if (event.key === "Enter") this.findNext(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape") this.scroller.focus();
      },
      input: () => this.rows.again(),
    });
    this.hotButton = h("button", { "aria-pressed": "false", title: "Show hot lines alone (h)", click: () => this.toggleHot() }, "Hot lines only");
    this.menu = h("details", { class: "menu", toggle: () => this.placeMenu(), keydown: (event) => this.menu.open && act(event, { Escape: () => this.closeMenu() }) },
      h("summary", {}, "Columns"), h("div", {}));
    addEventListener("pointerdown", (event) => {
      if (!this.menu.contains(event.target)) this.menu.open = false;
    });
    const { element } = this.outline;
    this.lanes = data.memory && choiceButtons(null, LANES.map((name, i) => [name, ["Peak bytes", "Allocated bytes"][i], "memory of each line itself"]), (name) => this.showLane(name));
    panel.append(
      h("div", { class: "source" },
        element,
        h("section", { class: "middle", "aria-label": "Source" },
          h("div", { class: "tools" }, this.picker, this.find, this.hotButton, this.menu, this.lanes,
            h("button", { title: "Next hot line (n)", click: () => this.nextHot(1) }, "\u2193 hot"),
            h("button", { title: "Previous hot line (p)", click: () => this.nextHot(-1) }, "\u2191 hot")),
          h("div", { class: "page" }, this.scroller, this.map.element)),
        this.panel.element,
        splitter("Width of the list of functions", element, "outline", 1, () => false),
        splitter("Size of the panel of the selected line", this.panel.element, "detail", -1, () => !WIDE.matches)));
    const fitAgain = inNextFrame(() => this.fitAgain());
    addEventListener("resize", fitAgain);
    NARROW.addEventListener("change", fitAgain);
    this.setColumns();
    if (data.hasSlices) setTimeout(() => this.readSlices(), 200);
  }

  /** Read when each line ran, after the page has come into sight. */
  async readSlices() {
    const over = new OverTime();
    await over.read();
    this.over = over;
    this.rows.again();
    this.panel.show(this, this.selected);
  }

  /** Choose the columns that are shown first: those for which the window has room. */
  fit() {
    const isLarge = (one) => !one.large || this.matters(one.name);
    this.columns = this.known.filter((one) => (!one.off || one.name === firstLane()) && isLarge(one) && (one.name === "run" || !NARROW.matches));
    const beside = WIDE.matches ? 700 : innerWidth > 900 ? 300 : 0; // outline, detail
    const room = innerWidth - beside - 150; // map, number, arrows
    const needed = () => 380 + sum(this.columns.map((one) => one.width));
    for (const name of LESS_NEEDED) {
      if (needed() <= room) return;
      this.columns = this.columns.filter((one) => one.name !== name);
    }
  }

  /** Choose the columns again for another width, unless the reader has chosen them; a phone has few. */
  fitAgain() {
    const old = this.columns;
    if (!this.isChosen || NARROW.matches !== this.wasNarrow) this.fit();
    if (old.length !== this.columns.length || NARROW.matches !== this.wasNarrow) this.setColumns();
  }

  /** Return whether times of lines are a part of the run that is worth a column. */
  matters(name) {
    const times = column(data.lines, name);
    return (OWN.includes(name) ? sum(times) : maximum(times)) > 0.01 * data.run.ns;
  }

  /** Offer all columns, with what they mean. */
  setMenu() {
    const boxes = this.known.map((one) =>
      h("label", {},
        h("input", {
          type: "checkbox",
          checked: this.columns.includes(one),
          change: (event) => {
            const on = event.target.checked;
            this.isChosen = true;
            this.columns = this.known.filter((other) => (other === one ? on : this.columns.includes(other)));
            this.setColumns();
          },
        }),
        ` ${one.title}`,
        h("span", { class: "dim" }, ` ${one.tip}`)));
    this.menu.lastChild.replaceChildren(...boxes); // the title keeps the focus
  }

  /** Move the open menu so that all of it is in the window. */
  placeMenu() {
    const box = this.menu.lastChild;
    box.style.marginLeft = 0;
    box.style.marginLeft = `${Math.min(0, innerWidth - 8 - box.getBoundingClientRect().right)}px`;
  }

  closeMenu() {
    this.menu.open = false;
    this.menu.firstChild.focus();
  }

  setColumns() {
    const isNarrow = NARROW.matches;
    this.wasNarrow = isNarrow;
    const widths = [isNarrow ? 44 : 56, ...this.columns.map((one) => (isNarrow && one.narrow) || one.width), 52];
    this.scroller.style.setProperty("--columns", `${widths.map((one) => `${one}px`).join(" ")} minmax(0, 1fr)`);
    this.scroller.style.setProperty("--fixed", `${sum(widths)}px`);
    this.headRow.replaceChildren(
      h("span", { role: "columnheader" }, "Line"),
      ...this.columns.map((one) => h("span", { role: "columnheader", class: `of-${one.name}`, title: one.tip }, one.title)),
      h("span", { role: "columnheader", class: "left", title: "Calls from this line (\u2192), calls of this function (\u2190)" }, "Calls"),
      h("span", { role: "columnheader", class: "left" }, "Source"),
    );
    if (!this.menu.open) this.setMenu();
    LANES.forEach((name, i) => this.lanes?.children[i].setAttribute("aria-pressed", this.columns.some((one) => one.name === name)));
    this.rows.again();
  }

  /** Show one of the columns of memory with bars in place of the others. */
  showLane(name) {
    this.isChosen = true;
    this.columns = this.known.filter((one) => (LANES.includes(one.name) ? one.name === name : this.columns.includes(one)));
    this.setColumns();
  }

  /** Show [file name, line] of the address. */
  show([name, line]) {
    let file = name === undefined ? NONE : data.files.name.indexOf(name);
    let number = /^\d+$/.test(line) ? Number(line) : 0;
    if (file < 0) {
      const [hottest] = hotLines();
      [file, number] = hottest === undefined ? [0, 0] : [lineFile(hottest), data.lines.line[hottest]];
    }
    if (!data.files.name.length) {
      this.panel.element.replaceChildren(h("p", {}, "The profile has no functions."));
      return;
    }
    const isNew = file !== this.file;
    if (isNew) this.open(file);
    if (!number || number > this.last) number = this.hottestOfFile() || 1;
    if (number === this.selected && !isNew) this.rows.reveal(this.place.get(this.cursor ?? number) ?? 0);
    else this.select(number);
  }

  /** Return the address of the chosen line; undefined if the page has none. */
  chosen() {
    return this.selected ? lineAddress(this.file, this.selected) : undefined;
  }

  /**
   * Return the function of the chosen line in Markdown, with the columns and the rows that are
   * shown: of a module, its own lines; without a function, some lines around.
   */
  markdown() {
    if (!this.selected) return "";
    const f = this.functionAt(this.selected);
    const { functions } = data;
    const isInside = (line) => {
      if (f === undefined) return Math.abs(line - this.selected) <= 2 * AROUND_HOT;
      return f in data.modules ? this.functionOf[line] === f : line >= functions.line[f] && line <= functions.end[f];
    };
    const columns = this.columns.filter((one) => one.name !== "over");
    const textOf = (one, numbers) => one.text(numbers) || (one.isBoth ? [time(numbers.time), numbers.hits !== undefined && `\u00d7 ${count(numbers.hits)}`].filter(Boolean).join(" ") : "");
    const rows = [["Line", ...columns.map((one) => one.title), "Source"]];
    let before = NONE;
    for (const [index, row] of this.shown.entries()) {
      const isCall = typeof row === "object";
      if (!isInside(isCall ? row.at : row)) continue;
      if (before >= 0 && index > before + 1) rows.push(["\u22ef"]);
      before = index;
      const numbers = isCall ? row : this.numbers.get(row);
      const isKnown = (one) => numbers && (!isCall || (one.ofCalls && (!row.note || one.name === "run" || one.isBoth)));
      const source = isCall ? `${"  ".repeat(row.depth)}\u2192 ${row.note ?? this.calleeName(row)}` : visible((this.text[row - 1] ?? "").slice(0, LONGEST));
      rows.push([isCall ? "" : String(row), ...columns.map((one) => (isKnown(one) ? textOf(one, numbers) : "")), source]);
    }
    const widths = rows[0].slice(0, -1).map((_, at) => maximum(rows.map((one) => one[at]?.length ?? 0)));
    const [lines, rest] = fitting(rows.length, (at) => rows[at].map((text, column) => (column < widths.length ? text.padStart(widths[column]) : text)).join("  ").trimEnd());
    const title = f === undefined ? "" : `, ${codeSpan(functionName(f))} (${[codeSpan(functionPlace(f)), ...[time(functions.total[f]), `${ofRun(functions.total[f]) || "0%"} of the run`, ...callsOf(f)].map(inline)].join(", ")})`;
    return `${titleMarkdown("Source", title)}\n\n${codeBlock(lines)}${leftOut(rest, "more line")}`;
  }

  /** Go to the search of functions, or to the choice of files where that is hidden. */
  focusFunctions() {
    const { input } = this.outline;
    (getComputedStyle(input).visibility === "visible" ? input : this.picker).focus();
  }

  hottestOfFile() {
    return data.lines.line[hotLines().find((i) => lineFile(i) === this.file)] ?? 0;
  }

  open(file) {
    this.file = file;
    this.picker.value = file;
    this.text = textLines(file);
    this.highlighter = new Highlighter(this.text);
    this.numbers = new FileNumbers(file);
    this.last = Math.max(this.text.length, maximum(this.numbers.keys()));
    // By line: its callees that are shown below it. The way back to the file finds them again.
    this.opened = this.openedIn[file] ??= new Map();
    this.cursor = null; // the one of them that is chosen, if any
    this.readCalls();
    this.layOut();
  }

  /** Find the calls from each line, and the functions that begin on it. */
  readCalls() {
    const { functions, edges } = data;
    this.callsFrom = new Map();
    this.starts = new Map();
    for (let f = 0; f < functions.count; f++) {
      if (functions.file[f] !== this.file) continue;
      addTo(this.starts, this.definition(f), f);
      for (const edge of functions.callsFrom[f]) addTo(this.callsFrom, edges.line[edge], edge);
    }
    const inside = [...this.starts.values()].flat();
    const length = (f) => functions.end[f] - functions.line[f];
    this.functionOf = new Int32Array(this.last + 1).fill(NONE);
    for (const f of inside.sort((a, b) => length(b) - length(a) || b - a)) {
      this.functionOf.fill(f, functions.line[f], functions.end[f] + 1);
    }
  }

  /** Return the line of a function's name: its first line may be that of a decorator. */
  definition(f) {
    const first = data.functions.line[f];
    for (let line = first; line < Math.min(first + 20, data.functions.end[f]); line++) {
      if (/^\s*(async\s+def|def|class)\b/.test(this.text[line - 1] ?? "")) return line;
    }
    return first;
  }

  /**
   * Choose the lines that are shown; a gap stands for those in between. On paper, they are
   * the hot ones and some around them.
   */
  layOut(isPaper = false) {
    if (this.file < 0) return;
    const { last, numbers } = this;
    let chosen = [];
    const add = (from, to) => {
      for (let line = Math.max(1, from); line <= Math.min(last, to); line++) chosen.push(line);
    };
    const { indexes } = numbers;
    const hot = isPaper ? [...numbers.keys()].filter((line) => heatOf(indexes.get(line)) >= 0.01) : [];
    if (this.text.length && !this.onlyHot && !hot.length) add(1, last);
    else {
      for (const line of hot) add(line - AROUND_HOT, line + AROUND_HOT);
      for (const [line, one] of hot.length ? [] : numbers) {
        if (!this.onlyHot || this.isHot(one)) chosen.push(line, ...one.functions.map((f) => this.definition(f)));
      }
      chosen = [...new Set(chosen)].sort((a, b) => a - b);
    }
    const shown = [];
    let before = 0;
    for (const line of chosen) {
      if (line > before + 1) shown.push(-(line - before - 1));
      shown.push(line);
      if (this.opened.has(line)) shown.push(...openRows(this.opened.get(line)));
      before = line;
    }
    if (last > before) shown.push(-(last - before));
    this.shown = shown;
    this.place = new Map(shown.map((line, index) => [line, index]));
    this.scroller.setAttribute("aria-rowcount", shown.length + 1);
    this.scroller.style.setProperty("--text", `${this.widest(shown)}ch`);
    this.rows.reset(shown.length);
    if (!isPaper) this.map.draw();
  }

  /** Return the characters of the longest text of some rows, for which the scroller has room. */
  widest(rows) {
    const tabs = (text) => 7 * (text.split("\t").length - 1);
    const length = (row) => {
      if (typeof row === "object") return 4 * row.depth + 40 + (row.note ?? this.calleeName(row)).length;
      const text = this.text[row - 1] ?? "";
      return text.length > LONGEST ? LONGEST + 30 : text.length + tabs(text);
    };
    return 3 + maximum(rows.map(length));
  }

  isHot(numbers) {
    return heat(numbers) >= 0.01 || numbers.time >= 0.01 * numbers.whole;
  }

  row(index) {
    const line = this.shown[index];
    if (typeof line === "object") return this.calleeRow(line);
    if (line < 0) {
      return h("div", { class: "row gap", role: "row" }, h("span", { role: "cell" }, `\u22ef ${counted(-line, "line")}`));
    }
    const numbers = this.numbers.get(line);
    const isSelected = line === this.selected && !this.cursor;
    const properties = {
      class: `row${isSelected ? " selected" : ""}${numbers ? " measured" : " idle"}`,
      role: "row",
      click: (event) => event.target.closest("button") || this.choose(line),
    };
    const row = h("div", properties,
      h("span", { role: "cell", class: "number" }, String(line)),
      this.columns.map((one) => this.cell(one, numbers)),
      this.arrows(line),
      this.code(line));
    if (numbers) row.style.setProperty("--share", Math.sqrt(heat(numbers)).toFixed(3));
    return row;
  }

  /** Return the cell of a column for a line or for calls below it; `numbers` may be missing. */
  cell(one, numbers) {
    if (!numbers) return h("span", { role: "cell" });
    const content = !one.isBoth ? one.text(numbers) : one.name === "cost" ? this.cost(numbers) : this.overTime(numbers);
    const title = content.getAttribute?.("aria-label");
    const cell = h("span", { role: "cell", class: `of-${one.name}`, title }, content);
    if (one.name === "run") this.setBars(cell.style, numbers);
    if (LANES.includes(one.name)) cell.style.setProperty("--bytes", (numbers[one.name] / maxima()[one.name]).toFixed(3));
    return cell;
  }

  cost(numbers) {
    const amount = h("span", { class: "amount" }, time(numbers.time));
    return numbers.hits === undefined ? amount : [amount, h("span", { class: "dim" }, ` \u00d7 ${count(numbers.hits)}`)];
  }

  overTime(numbers) {
    return this.over && numbers.outer ? this.over.drawing(numbers) : "";
  }

  /** Return the row of calls below a line, or of a sum of calls. */
  calleeRow(callee) {
    const { f, note, above } = callee;
    const at = f >= 0 && placeOf(f, 0) && callee.line && above ? above.f : NONE;
    const whole = this.wholeOf(callee);
    const share = callee.time <= whole && `${percent(callee.time, whole)} of ${above ? `those of ${functionName(above.f)}` : "the line"}`; // recursive calls have more
    const words = callee.hits === undefined ? "" : [`${counted(callee.hits, "call")} of ${this.calleeName(callee)}: ${time(callee.time)}`, share].filter(Boolean).join(", ");
    const row = h("div", { class: `row callee${this.cursor === callee ? " selected" : ""}`, role: "row", title: words, click: (event) => event.target.closest("button, a") || this.pick(callee) },
      h("span", { role: "cell", class: "number" }),
      this.columns.map((one) => this.cell(one, one.ofCalls && (!note || one.name === "run" || one.name === "cost") && callee)),
      h("span", { role: "cell" }),
      h("span", { role: "cell", class: "text" },
        !this.isOpenable(callee) ? h("span", { class: "leaf" }) : h("button", { tabindex: -1, "aria-expanded": callee.open, "aria-label": `Callees of ${functionName(f)}`, click: () => this.toggle(callee) }, callee.open ? "\u25be" : "\u25b8"),
        h("span", { class: "name" }, note ? h("i", { class: "dim" }, note) : f < 0 ? this.calleeName(callee) : functionLink(f)),
        callee.recurses && h("i", { class: "dim", title: "A call of a function that is already running: the callees of this call stand below the outer one, and % run counts the outer one alone" }, " \u21ba recursion"),
        at >= 0 && h("span", { class: "dim" }, `  ${callee.line}: ${sourceLine(data.functions.file[at], callee.line)}`)));
    row.style.setProperty("--depth", callee.depth);
    return row;
  }

  calleeName({ f }) {
    return f < 0 ? "deeper calls" : functionName(f);
  }

  /** Return the time (ns) of the line above some calls, or of the calls above them. */
  wholeOf({ above, at }) {
    return above?.time ?? this.numbers.get(at)?.time ?? 0;
  }

  isOpenable(callee) {
    return callee.below.length > 0;
  }

  /** Show the callees of a line, or of calls below it, or hide them again. */
  toggle(row, wanted) {
    const isLine = typeof row === "number";
    const isOpen = isLine ? this.opened.has(row) : row.open;
    if (isOpen === wanted) return;
    if (!isLine) row.open = !isOpen;
    else if (isOpen) this.opened.delete(row);
    else this.opened.set(row, calleesOf(row, this.callsFrom.get(row)));
    this.layOut();
    this.pick(row);
    this.scroller.focus({ preventScroll: true }); // the row was made anew
  }

  /** Set the lengths of the bars in a cell (0 to 1): they are its background. */
  setBars(style, numbers) {
    const set = (name, share) => style.setProperty(`--${name}`, Math.min(1, share).toFixed(3));
    if (!numbers.functions) {
      set("own", numbers.run / (this.wholeOf(numbers) || 1));
      return;
    }
    const most = maxima();
    set("own", numbers.self / most.self);
    if (numbers.ownWait) set("pale", numbers.ownWait / numbers.self);
    if (numbers.gpuOwn) set("gpu-own", numbers.gpuOwn / most.gpu);
  }

  arrows(line) {
    const { edges } = data;
    const cell = h("span", { role: "cell", class: "arrows" });
    const calls = this.callsFrom.get(line);
    if (calls) {
      const names = byTime(calls).slice(0, 8).map((edge) => functionName(edges.callee[edge]));
      const isOpen = this.opened.has(line);
      const leave = (event) => event.preventDefault() ?? go(functionAddress(this.mainCallee(calls)));
      cell.append(h("button", {
        tabindex: -1,
        title: `Calls ${names.join(", ")}: show them below; with Ctrl, go to the one with the most time`,
        "aria-label": `Callees of line ${line}`,
        "aria-expanded": String(isOpen),
        click: (event) => (isModified(event) ? leave(event) : this.toggle(line)),
        auxclick: (event) => event.button === 1 && leave(event),
      }, isOpen ? "\u2193" : "\u2192"));
    }
    const edge = this.mainCaller(this.starts.get(line) ?? []);
    if (edge !== undefined) {
      const caller = functionName(edges.caller[edge]);
      cell.append(h("button", {
        tabindex: -1,
        class: "caller",
        title: `Called from ${caller}: go to the line with the most calls' time`,
        "aria-label": `Go to the caller ${caller}`,
        click: () => go(callAddress(edge)),
      }, "\u2190"));
    }
    return cell;
  }

  mainCallee(calls) {
    const { edges, functions } = data;
    const callees = byTime(calls).map((edge) => edges.callee[edge]);
    return callees.find((f) => functions.file[f] >= 0) ?? callees[0];
  }

  /** Return the call of one of `functions` with the most time, from a line that has a source. */
  mainCaller(functions) {
    const { caller } = data.edges;
    const into = functions.flatMap((f) => data.functions.calledFrom[f]);
    return byTime(into).find((edge) => placeOf(caller[edge]));
  }

  code(line) {
    const text = this.text[line - 1];
    const cell = h("span", { role: "cell", class: "text" });
    if (text === undefined) return cell;
    const more = text.length - LONGEST;
    if (more <= 0) cell.append(...this.highlighter.spans(line - 1));
    else cell.append(visible(text.slice(0, LONGEST)), h("i", { class: "dim" }, ` \u2026 ${counted(more, "more character")}`));
    const wanted = this.find.value.toLowerCase();
    if (wanted && text.toLowerCase().includes(wanted)) cell.classList.add("found");
    return cell;
  }

  /** Select a line as a click does: the address of the page names it. */
  choose(line, isStep = false) {
    this.select(line);
    go(lineAddress(this.file, line), isStep);
  }

  /** Select a row: a line, or calls below one. */
  pick(row) {
    if (typeof row === "number") return this.choose(row, true);
    const old = this.cursor;
    if (row.at !== this.selected) this.choose(row.at, true);
    this.cursor = row;
    for (const one of [old, row.at]) if (this.place.has(one)) this.rows.refresh(this.place.get(one));
    this.rows.refresh(this.place.get(row));
    this.rows.reveal(this.place.get(row));
    // The name of a deep callee may be beside the sight.
    const name = this.rows.shown.get(this.place.get(row)).querySelector(".name");
    const end = name.offsetLeft + name.offsetWidth + 12;
    this.scroller.scrollLeft = Math.min(end - this.scroller.clientWidth, name.offsetLeft - 36);
  }

  select(line) {
    const olds = [this.selected, this.cursor];
    this.selected = line;
    this.cursor = null;
    if (!this.place.has(line) && this.onlyHot) this.toggleHot();
    for (const old of olds) if (this.place.has(old)) this.rows.refresh(this.place.get(old));
    if (this.place.has(line)) {
      this.rows.refresh(this.place.get(line));
      this.rows.reveal(this.place.get(line));
    }
    this.panel.show(this, this.selected);
    this.outline.mark(this.functionAt(line));
  }

  /** Return the innermost function around a line; undefined if there is none. */
  functionAt(line) {
    const f = this.functionOf[line];
    return f >= 0 ? f : undefined;
  }

  step(by) {
    let index = (this.place.get(this.cursor ?? this.selected) ?? 0) + by;
    index = Math.max(0, Math.min(this.shown.length - 1, index));
    while (this.shown[index] < 0 && this.shown[index + Math.sign(by)] !== undefined) index += Math.sign(by);
    if (!(this.shown[index] < 0)) this.pick(this.shown[index]);
  }

  nextHot(by) {
    const hot = hotLines();
    const at = hot.findIndex((i) => data.lines.line[i] === this.selected && lineFile(i) === this.file);
    const next = hot[at < 0 ? 0 : Math.max(0, Math.min(hot.length - 1, at + by))];
    if (next !== undefined) go(measuredAddress(next));
  }

  toggleHot() {
    this.onlyHot = !this.onlyHot;
    this.hotButton.setAttribute("aria-pressed", this.onlyHot);
    this.layOut();
    const index = this.place.get(this.cursor ?? this.selected);
    if (index !== undefined) this.rows.reveal(index);
  }

  findNext(by) {
    const wanted = this.find.value.toLowerCase();
    const { length } = this.text;
    for (let step = 1; wanted && step <= length; step++) {
      const line = ((this.selected - 1 + by * step) % length + length) % length;
      if (this.text[line].toLowerCase().includes(wanted)) return this.choose(line + 1);
    }
  }

  key(event) {
    if (isModified(event) || (event.key === "Enter" && event.target !== this.scroller)) return;
    const page = Math.floor((this.rows.room - this.rows.head) / ROW) - 1;
    const row = this.cursor ?? this.selected;
    const calls = this.callsFrom.get(this.selected);
    const caller = this.mainCaller(this.numbers.get(this.selected)?.functions ?? this.starts.get(this.selected) ?? []);
    act(event, {
      ArrowDown: () => this.step(1),
      j: () => this.step(1),
      ArrowUp: () => this.step(-1),
      k: () => this.step(-1),
      PageDown: () => this.step(page),
      PageUp: () => this.step(-page),
      Home: () => this.choose(1, true),
      End: () => this.choose(Math.max(1, this.text.length), true),
      ArrowRight: () => this.unfold(row),
      ArrowLeft: () => this.fold(row),
      n: () => this.nextHot(1),
      p: () => this.nextHot(-1),
      h: () => this.toggleHot(),
      Enter: () => (this.cursor ? this.cursor.f >= 0 && go(functionAddress(this.cursor.f)) : calls && go(functionAddress(this.mainCallee(calls)))),
      c: () => caller !== undefined && go(callAddress(caller)),
    });
  }

  /** Show the callees of a row. */
  unfold(row) {
    if (typeof row === "number" ? this.callsFrom.has(row) : this.isOpenable(row)) this.toggle(row, true);
  }

  /** Hide the callees of a row, or go to the row above if it shows none. */
  fold(row) {
    if (typeof row === "number" || row.open) this.toggle(row, false);
    else this.pick(row.above?.time === undefined ? row.at : row.above);
  }

  /** Show what is in sight: in the map, and in the head the function of the first line. */
  follow() {
    if (!this.shown.length) return;
    this.map.follow();
    let index = Math.floor(this.rows.top / ROW);
    while (this.shown[index] < 0 && index < this.shown.length - 1) index++;
    const row = this.shown[index];
    const f = this.functionAt(typeof row === "object" ? row.at : row);
    if (f === this.above) return;
    this.above = f;
    const { functions } = data;
    this.around.replaceChildren(h("span", { role: "cell" },
      f === undefined ? "" : [
        functionLink(f),
        h("span", { class: "dim" }, ` ${[time(functions.total[f]), `${ofRun(functions.total[f])} of the run`, ...callsOf(f)].join(" \u00b7 ")}`),
      ]));
  }
}
