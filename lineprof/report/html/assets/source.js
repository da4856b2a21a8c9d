// The view of source: a file with the numbers of its lines, its functions on one side,
// and callers, callees and causes of the selected line on the other.

/**
 * Columns of numbers. A column with `always` is in every page. One that `needs` a field of
 * the data is in a page where the field is true. Any other is in a page where a line has a
 * number for it. Columns that are `off` are not shown at first. `text` is by default `show`
 * of the number, a time.
 */
const LINE_COLUMNS = [
  { name: "hits", title: "Hits", tip: "times that the line was executed", show: count, always: true },
  { name: "time", title: "Time", tip: "time of the line with all that it called", text: (l) => time(l.time), width: 70, always: true },
  { name: "each", title: "Per hit", tip: "time of one execution", text: (l) => (l.hits ? time(l.time / l.hits) : ""), width: 70, always: true },
  { name: "share", title: "%", tip: "share in the time of the function's lines", text: (l) => percent(l.time, l.whole), width: 56, always: true },
  { name: "self", title: "Own", tip: "time of the line itself, without profiled functions that it called", width: 70, needs: "hasCalls" },
  { name: "ownWait", title: "Wait", tip: "own time off the processor: I/O, locks, sleep, the GIL; an upper bound where callees waited too", width: 70 },
  { name: "await", title: "Await", tip: "time suspended in an await, not in Time", width: 70 },
  { name: "mpi", title: "MPI", tip: "time in collectives and messages", width: 70 },
  { name: "gpu", title: "GPU", tip: "time of kernels, memsets and graphs that the line launched, with its callees", width: 70 },
  { name: "kernels", title: "Kernels", tip: "kernels that were launched", show: count, width: 64 },
  { name: "copy", title: "Copies", tip: "time of copies between host and device", width: 70 },
  { name: "copyBytes", title: "Copied", tip: "bytes that were copied", show: size, width: 70, off: true },
  { name: "sync", title: "Sync", tip: "time blocked until the device was done", width: 70 },
  { name: "min", title: "Min", tip: "shortest execution", text: (l) => (l.min >= 0 ? time(l.min) : ""), width: 70, off: true },
  { name: "max", title: "Max", tip: "longest execution", text: (l) => (l.max >= 0 ? time(l.max) : ""), width: 70, off: true },
  { name: "python", title: "Python", tip: "own time in the interpreter", width: 70 },
  { name: "native", title: "Native", tip: "own time in compiled code", width: 70 },
  { name: "system", title: "System", tip: "own time in the kernel of the operating system", width: 70 },
].map((one) => ({ text: (l) => unlessZero(one.show ?? time)(l[one.name]), width: 66, ...one }));

/** Numbers of a line itself, and those with all that it called. */
const OWN = ["self", "ownWait", "gpuOwn", "python", "native", "system"];
const INCLUSIVE = ["hits", "time", "await", "mpi", "gpu", "kernels", "copy", "copyBytes", "sync"];

/** Columns that narrow windows leave out, the first one first. */
const LESS_NEEDED = ["sync", "copy", "kernels", "each", "python", "native", "system", "await", "mpi", "ownWait", "self", "gpu", "hits"];

const WAIT_CAUSES = {
  gil: "for the interpreter's lock",
  lock: "for locks",
  sleep: "asleep",
  io: "for input and output",
  ready: "for a processor",
  other: "for something else",
};

/**
 * Return the numbers of one line of a file. If functions share it, such as one and a
 * lambda in it, the outer one's time has that of the inner one: it counts once.
 */
function lineNumbers(indexes) {
  const { lines } = data;
  const functions = indexes.map((index) => lines.function[index]);
  const outer = indexes.length < 2 ? indexes : indexes.filter((_, i) => !functions.some((other) => encloses(other, functions[i])));
  const found = { indexes, outer, functions, whole: 0, min: NONE, max: NONE };
  for (const name of OWN) found[name] = sum(indexes.map((index) => lines[name]?.[index] ?? 0));
  for (const name of INCLUSIVE) found[name] = sum(outer.map((index) => lines[name]?.[index] ?? 0));
  for (const index of outer) {
    found.whole = Math.max(found.whole, linesTotal(lines.function[index]));
    const [low, high] = [lines.min?.[index] ?? NONE, lines.max?.[index] ?? NONE];
    if (low >= 0) found.min = found.min < 0 ? low : Math.min(found.min, low);
    found.max = Math.max(found.max, high);
  }
  return found;
}

/** Return whether a function is defined in function `outer` of the same file. */
function encloses(outer, inner) {
  const { name, line, end } = data.functions;
  if (outer === inner || name[outer].startsWith(`${name[inner]}.`)) return false;
  if (name[outer] === "<module>" || name[inner].startsWith(`${name[outer]}.`)) return true;
  return line[outer] <= line[inner] && end[inner] <= end[outer] && end[inner] - line[inner] < end[outer] - line[outer];
}

/** Return the time of all lines of a function together (ns). */
function linesTotal(f) {
  const { functions, lines } = data;
  functions.linesTotal ??= [];
  functions.linesTotal[f] ??= sum(ofLines(lines.time, f));
  return functions.linesTotal[f];
}

/** Return the cost of a line (0 to 1), of own time or of GPU time: the hottest has 1. */
function heat(numbers) {
  const most = maxima();
  return Math.min(1, Math.max(numbers.self / most.self, numbers.gpuOwn / most.gpu));
}

/** Return the most own time and GPU time of a line (ns), and of a function. */
function maxima() {
  data.maxima ??= {
    self: maximum(data.lines.self),
    gpu: maximum(column(data.lines, "gpuOwn")),
    ofFunctions: maximum(data.functions.self),
  };
  return data.maxima;
}

/** Return all lines that ran, as indexes of `lines`, the hottest first. */
function hotLines() {
  if (!data.hot) {
    const { lines } = data;
    const gpu = column(lines, "gpuOwn");
    const cost = lines.self.map((ns, i) => Math.max(ns, gpu[i]));
    data.hot = descending([...cost.keys()].filter((i) => lines.hits[i] || cost[i]), cost);
  }
  return data.hot;
}

/** Return calls in the order of their time, as indexes of `edges`. */
function byTime(calls) {
  return descending(calls, data.edges.inclusive);
}

/** Return the address of the line from which a call was made. */
function callAddress(edge) {
  return lineAddress(data.functions.file[data.edges.caller[edge]], data.edges.line[edge]);
}

const MOST = 30; // items of a list beside the source

/** Return a list below its title, `item(one)` of each of `all`; [] if there is none. */
function listed(title, all, item) {
  return all.length ? [h("h3", {}, title), list(all.map(item))] : [];
}

/** Return the begin of an item: the time of all calls, and their number. */
function times(ns, calls) {
  return [h("b", {}, time(ns)), ` ${count(calls)} \u00d7 `];
}

class SourceView {
  keys = {
    title: "Source",
    list: [
      ["n p", "next and previous hot line"],
      ["ArrowDown ArrowUp j k", "next and previous line"],
      ["PageDown PageUp Home End", "scroll"],
      ["Enter", "go to the callee of the line"],
      ["c", "go to the caller of the line's function"],
      ["h", "hot lines only"],
    ],
  };

  make(panel) {
    this.file = NONE;
    this.selected = 0;
    this.onlyHot = false;
    const { lines } = data;
    this.known = LINE_COLUMNS.filter((one) =>
      one.always || (one.needs ? data[one.needs] : lines[one.name]?.some((number) => number > 0)));
    this.columns = this.known.filter((one) => !one.off && !(one.name === "ownWait" && !this.waitsMatter()));
    this.fit();
    this.outline = new Outline(this);
    this.scroller = tableElement("code", "Source with the numbers of each line", (event) => this.key(event));
    this.headRow = h("div", { class: "row", role: "row" });
    this.scroller.append(h("div", { class: "head", role: "rowgroup" }, this.headRow));
    this.rows = new Rows(this.scroller, (index) => this.row(index));
    this.rows.rendered = () => this.drawWindow();
    this.detail = h("aside", { class: "detail", "aria-label": "Selected line", "aria-live": "polite" });
    this.map = h("canvas", { class: "minimap", "aria-hidden": "true", pointerdown: (event) => this.drag(event) });
    this.frame = h("div", { class: "window", "aria-hidden": "true" });
    const files = data.files.name.map((name, file) => [file, visible(name)]);
    this.picker = select("File", files, () => go(address("source", data.files.name[this.picker.value])));
    this.find = searchInput("Find in this file", {
      placeholder: "Find in this file (/)",
      keydown: (event) => {
        if (event.key === "Enter") this.findNext(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape") this.scroller.focus();
      },
      input: () => this.rows.again(),
    });
    this.hotButton = h("button", { class: "toggle", "aria-pressed": "false", title: "Show hot lines alone (h)", click: () => this.toggleHot() }, "Hot lines only");
    panel.append(
      h("div", { class: "source" },
        this.outline.element,
        h("section", { class: "middle" },
          h("div", { class: "tools" }, this.picker, this.find, this.hotButton, this.columnsMenu(),
            h("button", { title: "Next hot line (n)", click: () => this.nextHot(1) }, "\u2193 hot"),
            h("button", { title: "Previous hot line (p)", click: () => this.nextHot(-1) }, "\u2191 hot")),
          h("div", { class: "page" }, this.scroller, h("div", { class: "map" }, this.map, this.frame))),
        this.detail));
    new ResizeObserver(inNextFrame(() => this.drawMap())).observe(this.map);
    onTheme.push(() => this.drawMap());
    this.setColumns();
  }

  /** Leave out columns at first where the window has no room for them and the source. */
  fit() {
    const beside = innerWidth >= 1750 ? 580 : innerWidth > 900 ? 230 : 0; // outline, detail
    const room = innerWidth - beside - 200; // map, number, lanes, arrows
    const needed = () => 380 + sum(this.columns.map((one) => one.width));
    for (const name of LESS_NEEDED) {
      if (needed() <= room) return;
      this.columns = this.columns.filter((one) => one.name !== name);
    }
  }

  /** Return whether waits are a part of the run that is worth a column. */
  waitsMatter() {
    return sum(column(data.lines, "ownWait")) > 0.01 * data.selfTotal;
  }

  columnsMenu() {
    const boxes = this.known.map((one) =>
      h("label", { title: one.tip },
        h("input", {
          type: "checkbox",
          checked: this.columns.includes(one),
          change: (event) => {
            const on = event.target.checked;
            this.columns = this.known.filter((other) => (other === one ? on : this.columns.includes(other)));
            this.setColumns();
          },
        }),
        ` ${one.title}`));
    return h("details", { class: "menu" }, h("summary", {}, "Columns"), h("div", {}, boxes));
  }

  setColumns() {
    const widths = this.columns.map((one) => `${one.width}px`).join(" ");
    this.scroller.style.setProperty("--columns", `52px ${widths} ${data.gpu ? 70 : 50}px 50px minmax(360px, 1fr)`);
    this.headRow.replaceChildren(
      h("span", { role: "columnheader" }, "Line"),
      ...this.columns.map((one) => h("span", { role: "columnheader", title: one.tip }, one.title)),
      h("span", { role: "columnheader", class: "left", title: "Own time of the line (above: processor, paler: waiting) and on GPUs (below), as shares of the hottest line's" }, data.gpu ? "CPU/GPU" : "CPU"),
      h("span", { role: "columnheader", class: "left", title: "Calls from this line (\u2192), calls of this function (\u2190)" }, "Calls"),
      h("span", { role: "columnheader", class: "left" }, "Source"),
    );
    this.rows.again();
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
      this.detail.replaceChildren(h("p", {}, "The profile has no functions."));
      return;
    }
    if (file !== this.file) this.open(file);
    if (!number || number > this.last) number = this.hottestOfFile() || 1;
    this.select(number);
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
    this.numbers = new Map();
    for (const [line, indexes] of data.linesOfFile[file]) this.numbers.set(line, lineNumbers(indexes));
    this.last = Math.max(this.text.length, maximum(this.numbers.keys()));
    this.readCalls();
    this.layOut();
    this.drawMap();
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
  }

  /** Return the line of a function's name: its first line may be that of a decorator. */
  definition(f) {
    const first = data.functions.line[f];
    for (let line = first; line < Math.min(first + 20, data.functions.end[f]); line++) {
      if (/^\s*(async\s+def|def|class)\b/.test(this.text[line - 1] ?? "")) return line;
    }
    return first;
  }

  /** Choose the lines that are shown; a gap stands for those in between. */
  layOut() {
    const { last } = this;
    const chosen = new Set();
    if (this.text.length && !this.onlyHot) {
      for (let line = 1; line <= last; line++) chosen.add(line);
    } else {
      for (const [line, numbers] of this.numbers) {
        if (this.onlyHot && !this.isHot(numbers)) continue;
        chosen.add(line);
        for (const f of numbers.functions) chosen.add(this.definition(f));
      }
    }
    const shown = [];
    let before = 0;
    for (const line of [...chosen].sort((a, b) => a - b)) {
      if (line > before + 1) shown.push(-(line - before - 1));
      shown.push(line);
      before = line;
    }
    if (last > before) shown.push(-(last - before));
    this.shown = shown;
    this.place = new Map(shown.map((line, index) => [line, index]));
    this.scroller.setAttribute("aria-rowcount", shown.length + 1);
    this.rows.reset(shown.length);
  }

  isHot(numbers) {
    return heat(numbers) >= 0.01 || numbers.time >= 0.01 * numbers.whole;
  }

  row(index) {
    const line = this.shown[index];
    if (line < 0) {
      return h("div", { class: "row gap", role: "row" }, h("span", { role: "cell" }, `\u22ef ${counted(-line, "line")}`));
    }
    const numbers = this.numbers.get(line);
    const properties = {
      class: `row${line === this.selected ? " selected" : ""}${numbers ? " measured" : " idle"}`,
      role: "row",
      click: (event) => event.target.closest("button") || this.choose(line),
    };
    const row = h("div", properties,
      h("span", { role: "cell", class: "number" }, String(line)),
      this.columns.map((one) => h("span", { role: "cell" }, numbers ? one.text(numbers) : "")),
      this.lanes(numbers),
      this.arrows(line),
      this.code(line));
    if (numbers) row.style.setProperty("--share", Math.sqrt(heat(numbers)).toFixed(3));
    return row;
  }

  lanes(numbers) {
    const cell = h("span", { role: "cell", class: "lanes" });
    if (!numbers) return cell;
    const lane = (kind, share, pale) => {
      const element = fill(kind, share);
      element.style.setProperty("--pale", `${(100 * pale).toFixed(1)}%`);
      return element;
    };
    const most = maxima();
    const pale = numbers.self ? Math.min(1, numbers.ownWait / numbers.self) : 0;
    cell.append(lane("cpu", numbers.self / most.self, pale));
    if (data.gpuTotal) cell.append(lane("gpu", numbers.gpuOwn / most.gpu, 0));
    return cell;
  }

  arrows(line) {
    const { edges } = data;
    const arrow = (sign, where, name, title, target) =>
      h("button", { title, "aria-label": `Go to the ${where} ${name}`, click: () => go(target) }, sign);
    const cell = h("span", { role: "cell", class: "arrows" });
    const calls = this.callsFrom.get(line);
    if (calls) {
      const callee = this.mainCallee(calls);
      const names = calls.slice(0, 8).map((edge) => functionName(edges.callee[edge]));
      cell.append(arrow("\u2192", "callee", functionName(callee), `Calls ${names.join(", ")}: go to the one with the most time`, functionAddress(callee)));
    }
    const edge = this.mainCaller(this.starts.get(line) ?? []);
    if (edge !== undefined) {
      const caller = functionName(edges.caller[edge]);
      cell.append(arrow("\u2190", "caller", caller, `Called from ${caller}: go to the line with the most calls' time`, callAddress(edge)));
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
  choose(line) {
    go(lineAddress(this.file, line));
  }

  select(line) {
    const old = this.selected;
    this.selected = line;
    if (!this.place.has(line) && this.onlyHot) this.toggleHot();
    if (this.place.has(old)) this.rows.refresh(this.place.get(old));
    if (this.place.has(line)) {
      this.rows.refresh(this.place.get(line));
      this.rows.reveal(this.place.get(line));
    }
    this.tell();
    this.outline.markLine(this.file, line);
  }

  step(by) {
    let index = (this.place.get(this.selected) ?? 0) + by;
    index = Math.max(0, Math.min(this.shown.length - 1, index));
    while (this.shown[index] < 0 && this.shown[index + Math.sign(by)] !== undefined) index += Math.sign(by);
    if (this.shown[index] > 0) this.choose(this.shown[index]);
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
    if (this.place.has(this.selected)) this.rows.reveal(this.place.get(this.selected));
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
    if (isModified(event)) return;
    const page = Math.floor(this.scroller.clientHeight / ROW) - 2;
    const calls = this.callsFrom.get(this.selected);
    const caller = this.mainCaller(this.numbers.get(this.selected)?.functions ?? this.starts.get(this.selected) ?? []);
    act(event, {
      ArrowDown: () => this.step(1),
      j: () => this.step(1),
      ArrowUp: () => this.step(-1),
      k: () => this.step(-1),
      PageDown: () => this.step(page),
      PageUp: () => this.step(-page),
      Home: () => this.choose(1),
      End: () => this.choose(Math.max(1, this.text.length)),
      n: () => this.nextHot(1),
      p: () => this.nextHot(-1),
      h: () => this.toggleHot(),
      Enter: () => calls && go(functionAddress(this.mainCallee(calls))),
      c: () => caller !== undefined && go(callAddress(caller)),
    });
  }

  // The selected line.

  tell() {
    const { selected: line, file } = this;
    const numbers = this.numbers.get(line);
    const parts = [
      [h("h2", {}, `${fileName(file)}:${line}`), h("p", { class: "text" }, sourceLine(file, line))],
    ];
    if (numbers) {
      const rows = this.known
        .filter((one) => one.text(numbers))
        .map((one) => h("div", { title: one.tip }, h("dt", {}, one.title), h("dd", {}, one.text(numbers))));
      const share = ofRun(numbers.self);
      if (share) rows.push(h("div", { title: "share of its own time in that of the whole run" }, h("dt", {}, "% of the run"), h("dd", {}, share)));
      parts[0].push(h("dl", { class: "numbers" }, rows));
      parts.push(this.inner(numbers), this.waits(numbers), this.work(numbers));
    } else parts[0].push(h("p", { class: "dim" }, "This line was not executed under the profiler, or is part of another statement."));
    parts.push(this.callees(line));
    for (const f of new Set([...(numbers?.functions ?? []), ...(this.starts.get(line) ?? [])])) parts.push(this.callers(f));
    this.detail.replaceChildren(...parts.filter((one) => one.length).map((one) => h("section", {}, one)));
  }

  /** The functions inside this line, whose time is part of its own numbers. */
  inner({ indexes, outer }) {
    const { lines } = data;
    const inside = indexes.filter((index) => !outer.includes(index));
    return listed("Inside it", inside.slice(0, MOST), (i) =>
      [h("b", {}, time(lines.time[i])), ` ${counted(lines.hits[i], "hit")} in ${functionName(lines.function[i])}`]);
  }

  waits(numbers) {
    const rows = Object.entries(WAIT_CAUSES).map(([cause, words]) => {
      const times = data.lines[`wait:${cause}`];
      return [words, times ? sum(numbers.outer.map((i) => times[i])) : 0];
    });
    const found = rows.filter(([, ns]) => ns).sort((a, b) => b[1] - a[1]);
    return listed("Waited, callees included", found, ([words, ns]) => `${time(ns)} ${words}`);
  }

  /** The work on GPUs that the line itself launched, by name. */
  work(numbers) {
    if (!data.gpu) return [];
    const { sums } = data.gpu;
    const own = [...sums.ns.keys()].filter((i) => sums.line[i] === this.selected && numbers.functions.includes(sums.function[i]));
    const found = descending(own, sums.ns);
    const more = found.length - 12;
    return [
      ...listed("On GPUs and in CUDA, from this line itself", found.slice(0, 12), (i) => [...times(sums.ns[i], sums.count[i]), code(visible(sums.name[i]))]),
      more > 0 ? h("p", { class: "dim" }, `${more} more`) : "",
    ].filter(Boolean);
  }

  callees(line) {
    const { edges } = data;
    const calls = byTime(this.callsFrom.get(line) ?? []).slice(0, MOST);
    return listed("Calls", calls, (edge) => [...times(edges.inclusive[edge], edges.calls[edge]), functionLink(edges.callee[edge])]);
  }

  callers(f) {
    const { edges, functions } = data;
    const items = byTime(functions.calledFrom[f]).slice(0, MOST).map((edge) => {
      const caller = edges.caller[edge];
      const place = caller >= 0 ? lineLink(functions.file[caller], edges.line[edge]) : "";
      return [...times(edges.inclusive[edge], edges.calls[edge]), place, " ", caller < 0 ? functionName(caller) : h("span", { class: "dim" }, functionName(caller))];
    });
    return [
      h("h3", {}, `${functionName(f)}: ${time(functions.total[f])} in ${counted(functions.calls[f], "call")}`),
      items.length ? list(items, { class: "callers", "aria-label": "Callers" }) : h("p", { class: "dim" }, data.hasCalls ? "Its callers are not known." : "The profile does not say who called whom."),
    ];
  }

  // The map of the whole file.

  drawMap() {
    const { map } = this;
    const [width, height] = [map.clientWidth, map.clientHeight];
    if (!width || !height || this.file < 0) return;
    const scale = devicePixelRatio;
    map.width = width * scale;
    map.height = height * scale;
    const paint = map.getContext("2d");
    paint.scale(scale, scale);
    const rows = this.shown.length || 1;
    const step = Math.min(ROW, height / rows);
    paint.fillStyle = colour("heat");
    for (const [line, numbers] of this.numbers) {
      if (!this.place.has(line)) continue;
      paint.globalAlpha = 0.08 + 0.92 * Math.sqrt(heat(numbers));
      paint.fillRect(0, this.place.get(line) * step, width, Math.max(1.5, step));
    }
    this.mapStep = step;
    this.drawWindow();
  }

  drawWindow() {
    if (!this.mapStep) return;
    const { scroller, frame } = this;
    const room = scroller.clientHeight - this.rows.head;
    frame.style.top = `${(scroller.scrollTop / ROW) * this.mapStep}px`;
    frame.style.height = `${Math.max(6, Math.min(this.shown.length, room / ROW) * this.mapStep)}px`;
  }

  drag(event) {
    const jump = (move) => {
      const row = (move.clientY - this.map.getBoundingClientRect().top) / this.mapStep;
      this.scroller.scrollTop = row * ROW - this.scroller.clientHeight / 2;
    };
    jump(event);
    this.map.setPointerCapture(event.pointerId);
    this.map.onpointermove = jump;
    this.map.onpointerup = () => (this.map.onpointermove = null);
  }
}

/** The functions of the program beside the source, those with the most own time first. */
class Outline {
  constructor(view) {
    this.view = view;
    const { functions } = data;
    const gpu = column(functions, "gpu");
    this.all = [...functions.name.keys()]
      .filter((f) => functions.file[f] >= 0)
      .sort((a, b) => functions.self[b] - functions.self[a] || gpu[b] - gpu[a]);
    this.list = this.all;
    this.scroller = h("div", { class: "list", role: "table", "aria-label": "Functions by own time" });
    this.rows = new Rows(this.scroller, (index) => this.row(index));
    this.input = searchInput("Search functions and files", {
      placeholder: "Functions and files (f)",
      input: () => {
        const wanted = this.input.value.toLowerCase();
        this.list = this.all.filter((f) => `${functions.name[f]} ${functionPlace(f)}`.toLowerCase().includes(wanted));
        this.rows.reset(this.list.length);
      },
      keydown: (event) => {
        if (event.key === "Enter" && this.list.length) go(functionAddress(this.list[0]));
        else if (event.key === "Escape") view.scroller.focus();
      },
    });
    this.element = h("aside", { class: "outline", "aria-label": "Functions" }, this.input, this.scroller);
    requestAnimationFrame(() => this.rows.reset(this.list.length));
  }

  row(index) {
    const f = this.list[index];
    const { functions } = data;
    const share = functions.self[f] / maxima().ofFunctions;
    return h("div", { class: f === this.here ? "row selected" : "row", role: "row", title: `${functionPlace(f)}: own time ${time(functions.self[f])}`, click: () => this.open(f) },
      h("span", { role: "cell" }, bar(share)),
      h("span", { role: "cell", class: "left" }, functionLink(f)),
      h("span", { role: "cell" }, time(functions.self[f])));
  }

  /** Go to the hottest line of a function. */
  open(f) {
    const { functions, lines } = data;
    let best = functions.first[f];
    for (let i = best; i < functions.first[f + 1]; i++) if (lines.self[i] > lines.self[best]) best = i;
    go(best < functions.first[f + 1] ? lineAddress(functions.file[f], lines.line[best]) : functionAddress(f));
  }

  markLine(file, line) {
    const { functions } = data;
    const size = (f) => functions.end[f] - functions.line[f];
    const around = this.all.filter((f) => functions.file[f] === file && functions.line[f] <= line && line <= functions.end[f]);
    this.here = around.sort((a, b) => size(a) - size(b) || a - b)[0]; // the innermost one
    this.rows.again();
  }
}
