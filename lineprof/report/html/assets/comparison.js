// The page of a comparison: lines and functions that changed, and their source before
// and after, side by side.

/** Return a time with its sign, or what else `show` writes. */
function signed(number, show = time) {
  return number > 0 ? `+${show(number)}` : number < 0 ? `\u2212${show(-number)}` : "0";
}

/** Return the one of some changes that is furthest from zero. */
function greater(changes) {
  return changes.reduce((one, other) => (Math.abs(other) > Math.abs(one) ? other : one));
}

/** Return a bar for a change: to the right if it is slower, to the left if faster. */
function changeBar(change, most) {
  const share = Math.min(0.5, (0.5 * Math.abs(change)) / most);
  return h("span", { class: "bar change", "aria-hidden": "true" }, fill(change > 0 ? "slower" : "faster", share));
}

/** Return whether both sides know how often something ran. */
function hasHits(table, i) {
  return table.low0[i] !== null && table.low1[i] !== null;
}

/** Return how often something ran: on each side one number, or the extremes of several runs. */
function hitsChange(table, i) {
  if (!hasHits(table, i)) return "";
  const hits = (low, high) => (low === high ? count(low) : `${count(low)}\u2013${count(high)}`);
  const [before, after] = [hits(table.low0[i], table.high0[i]), hits(table.low1[i], table.high1[i])];
  return before === after ? before : `${before} \u2192 ${after}`;
}

/** Return the title and the name in the data of each own time that is compared, of which there is any. */
function comparedTimes() {
  const waits = data.hasWaits && (data.lines.wait0.some(Boolean) || data.lines.wait1.some(Boolean));
  const own = data.hasWaits ? ["CPU ", "cpu"] : ["", "self"];
  return [own, waits && ["Wait ", "wait"], data.hasGpu && ["GPU ", "gpu"]].filter(Boolean);
}

/** Return the address of the source of a row, before and after. */
function sidesAddress(table, i) {
  return address("sides", table.source[i], table.before[i], table.after[i]);
}

/** A tab with the lines, or the functions, that changed. */
class ChangesView extends TablesView {
  /** `name` is a table of the data, "lines" or "functions". */
  constructor(name) {
    super();
    this.name = name;
  }

  make(panel) {
    const table = data[this.name];
    const rows = [...table.name.keys()];
    if (!rows.length) {
      panel.append(h("p", {}, `No ${this.name} took another time or ran another number of times.`));
      return;
    }
    const isLines = this.name === "lines";
    const changeOf = (name) => (i) => table[`${name}1`][i] - table[`${name}0`][i];
    const most = maximum(comparedTimes().flatMap(([, name]) => rows.map((i) => Math.abs(changeOf(name)(i)))));
    const times = comparedTimes().flatMap(([title, name]) => {
      const change = changeOf(name);
      return [
        { title: `${title}Change`, value: change, show: signed },
        { title: "Bar", isDrawing: true, width: 76, tip: "to the right: slower, to the left: faster", value: (i) => Math.abs(change(i)), text: (i) => changeBar(change(i), most) },
        { title: `${title}Noise`, tip: "half width of the noise band: a smaller change is chance", value: (i) => table[`${name}Noise`][i], show: (ns) => `\u00b1${time(ns)}` },
        { title: `${title}Before`, tip: data.hasCalls ? "own time" : "time with callees", value: (i) => table[`${name}0`][i], show: time },
        { title: `${title}After`, value: (i) => table[`${name}1`][i], show: time },
      ];
    });
    const greatest = (i) => greater(comparedTimes().map(([, name]) => changeOf(name)(i)));
    const columns = [
      { title: "Change", phone: 3, onPhone: true, tip: "the greatest change of its times", value: greatest, show: signed },
      { title: "Order", width: 60, tip: "order of the change", value: (i) => -i, text: (i) => String(i + 1) },
      ...times,
      { title: "Verdict", left: true, width: 140, value: (i) => table.verdict[i] },
      { title: isLines ? "Hits" : "Calls", width: 130, value: (i) => (hasHits(table, i) ? table.high1[i] - table.high0[i] : 0), text: (i) => hitsChange(table, i) },
      { title: "Note", left: true, width: 110, value: (i) => table.note[i] },
      { title: "Line", left: true, wide: 1, width: 140, value: (i) => table.place[i], phone: 1, text: (i) => link(sidesAddress(table, i), ending(visible(table.place[i]))) },
      { title: "Function", isName: true, left: true, wide: 1, width: 120, phone: !isLines && 2, value: (i) => table.name[i], show: visible },
      isLines && { title: "Source", left: true, wide: 2, width: 220, phone: 2, value: (i) => table.text[i].trim(), show: (text) => code(visible(text)) },
    ];
    this.add(panel, columns, rows, {
      placeholder: `Search ${this.name}`,
      sort: 1,
      label: `Changes of ${this.name}`,
      search: (i) => `${table.place[i]} ${table.name[i]} ${table.text[i]} ${table.note[i]}`,
      address: (i) => sidesAddress(table, i),
    });
  }
}

/** The source of one function before and after, the lines that match in one row. */
class SidesView {
  /** Return the address of the row that is chosen; undefined if none is. */
  chosen() {
    return data.sources.length ? current.last ?? address("sides", 0) : undefined;
  }

  /** Return the lines in Markdown; "" if there is none. */
  markdown() {
    const table = this.body.querySelector("table");
    return table && htmlTableMarkdown(titleMarkdown("Before and after", `: ${codeSpan(this.names[this.picker.value])}`), table);
  }

  make(panel) {
    const { functions, lines } = data;
    this.names = [];
    for (const table of [lines, functions]) {
      table.source.forEach((source, i) => (this.names[source] = `${visible(table.name[i])} (${visible(table.place[i])})`));
    }
    this.picker = select("Function", [...this.names.entries()], () => go(address("sides", this.picker.value)));
    this.body = h("div", { class: "pairs", tabindex: 0, role: "region", "aria-label": "Source before and after" });
    panel.append(h("div", { class: "tools" }, this.picker, h("span", { class: "dim" }, "Lines that ran, before and after; a line that only moved has no colour."), markdownButton(() => this.markdown())), this.body);
  }

  show([source, before, after]) {
    const number = Number(source ?? 0);
    const one = data.sources[number];
    if (!one) {
      this.body.replaceChildren(h("p", {}, "There is no change to show."));
      return;
    }
    this.picker.value = number;
    const rows = one.before.map((_, i) => i);
    const times = comparedTimes();
    const change = (name, i) => one[`${name}1`][i] - one[`${name}0`][i];
    const greatest = (i) => greater(times.map(([, name]) => change(name, i)));
    const most = maximum(rows.map((i) => Math.abs(greatest(i))));
    const side = (number, i) => {
      const line = one[number ? "after" : "before"][i];
      return [
        h("td", { class: "number" }, line || ""),
        h("td", {}, line ? count(one[`hits${number}`][i]) : ""),
        ...times.map(([, name]) => h("td", {}, line ? time(one[`${name}${number}`][i]) : "")),
        h("td", { class: "text" }, pythonSpans(one[`text${number}`][i].slice(0, 2000), "")),
      ];
    };
    const cells = rows.map((i) => {
      const wanted = one.before[i] === Number(before) && one.after[i] === Number(after);
      const row = h("tr", { class: `${wanted ? "selected " : ""}${one.noise[i] ? "quiet" : greatest(i) > 0 ? "slower" : "faster"}` },
        side(0, i),
        h("td", { class: "mid" }, greatest(i) ? signed(greatest(i)) : "", changeBar(greatest(i), most)),
        side(1, i));
      row.style.setProperty("--share", (Math.abs(greatest(i)) / most).toFixed(3));
      return row;
    });
    const own = times.map(([title]) => title.trim() || "Own");
    const head = ["Line", "Hits", ...own, "Before", "Change", "Line", "Hits", ...own, "After"].map((title) => h("th", { scope: "col" }, title));
    this.body.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, cells)));
    this.body.querySelector(".selected")?.scrollIntoView({ block: "center" });
  }
}

/** The tab Runs: the files of both sides, and the notes. */
class RunsView {
  make(panel) {
    const side = (name, files) => h("section", {}, h("h2", {}, name), list(files.map(visible), { class: "facts" }));
    panel.append(side("Before", data.before), side("After", data.after));
    if (data.notes.length) panel.append(side("Notes", data.notes));
    panel.append(colophon());
  }
}

/** Return a change of the whole program in words. */
function changeFact(name, change) {
  if (!change) return null;
  const words = change.within ? "no change" : change.words;
  return [name, `${time(change.before)} \u2192 ${time(change.after)}${words ? ` (${words})` : ""}`];
}

showPage(async () => {
  await readData();
  addTab("lines", `Lines (${count(data.lines.name.length)})`, new ChangesView("lines"));
  addTab("functions", `Functions (${count(data.functions.name.length)})`, new ChangesView("functions"));
  addTab("sides", "Side by side", new SidesView());
  if (data.flame?.paths.parent.length) addTab("flame", "Flame graph", new ChangedPathsView());
  if (data.memory) addTab("memory", "Memory", new ChangedMemoryView());
  addTab("runs", data.notes.length ? `Runs (${counted(data.notes.length, "note")})` : "Runs", new RunsView());
  const own = data.hasWaits ? [changeFact("CPU", data.cpu), changeFact("Waits", data.wait)] : [changeFact(data.hasCalls ? "Own time" : "Functions", data.own)];
  const plain = [["Wall", data.wall], ["Waits for a processor", data.ready]].map(([name, one]) => one && [name, `${time(one.before)} \u2192 ${time(one.after)}`]);
  const peaks = data.memory && ["Peak of memory", data.memory.peaks.map(size).join(" \u2192 ")];
  const gpus = data.gpuMemory.map(([name, ...both]) => [`Peak of ${name}`, both.map(size).join(" \u2192 ")]);
  return [["Verdict", data.verdict], ...own, ...plain, peaks, ...gpus].filter(Boolean);
});
