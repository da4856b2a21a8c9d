// The views that are tables: functions, hot lines, GPUs, ranks, files, advice, the run.

/** Return the column "% run" of own times, whose bars are full at `most`; `phone` is its place there. */
function runColumn(value, most, phone) {
  const tip = `${data.hasCalls ? "own time" : "time"} as a share of the run`;
  return { title: "% run", tip, width: 130, phone, value, show: (ns) => barCell(ns / most, ofRun(ns)) };
}

/** The tab Functions. */
class FunctionsView extends TablesView {
  make(panel) {
    const { functions } = data;
    const has = (name) => functions[name]?.some((one) => one > 0);
    const outermost = functions.primitive ?? functions.calls;
    const number = (name, title, tip, show = time) => ({ title, tip, width: title.length > 12 ? 112 : undefined, value: (f) => functions[name][f], show: unlessZero(show) });
    const columns = [
      { title: "Function", left: true, wide: 2, width: 180, phone: 1, value: (f) => functions.name[f], text: functionLink },
      { title: "Place", left: true, wide: 1, width: 120, value: functionPlace, show: (place) => h("span", { class: "place" }, ending(place)) },
      number("calls", "Calls", "all calls, recursive ones included", count),
      has("primitive") && number("primitive", "Primitive", "calls while no other call of the function was open", count),
      number("self", ownTitle(), data.hasCalls ? "time without profiled functions that it called" : "time with all that it called"),
      runColumn((f) => functions.self[f], maxima().ofFunctions, 2),
      data.hasCalls && number("total", "Total", "time with all that it called; recursion counts once"),
      { title: "Per call", tip: `time with all that it called, by ${has("primitive") ? "primitive " : ""}calls`, value: (f) => functions.total[f] / (outermost[f] || Infinity), text: (f) => (outermost[f] ? time(functions.total[f] / outermost[f]) : "") },
      has("gpu") && number("gpu", "GPU", "work on GPUs that it launched, with its callees"),
      has("gpu") && number("kernels", "Kernels", "kernels that were launched", count),
      has("copy") && number("copy", "Copies", "time of copies between host and device"),
      has("sync") && number("sync", "GPU wait", "time in which a device blocked it"),
      has("load") && number("load", "GPU load", "time of calls that loaded the code of kernels or created a context"),
      has("gpuPeak") && number("gpuPeak", "GPU peak", "memory of devices that it allocated, with its callees, and that was live when the device had most", size),
      ...["hostPeakOwn", "hostPeak", "hostAllocOwn", "hostAlloc"].filter(has).map((name) => LINE_COLUMNS.find((one) => one.name === name)).map(({ name, title, tip, show }) => number(name, title, tip.replace("line", "function"), show)),
    ].filter(Boolean);
    this.add(panel, columns, [...functions.name.keys()], {
      label: "Functions",
      placeholder: "Search functions and files",
      sort: columns.findIndex((one) => one.title === ownTitle()),
      search: (f) => `${functionName(f)} ${functionPlace(f)}`,
      address: functionAddress,
    });
  }

  show([name]) {
    if (name === undefined) return super.show();
    const [table] = this.tables;
    const index = table.list.findIndex((f) => data.functions.name[f] === name);
    if (index >= 0) table.select(index);
  }
}

/** The tab Hot lines. */
class HotLinesView extends TablesView {
  make(panel) {
    const { functions, lines } = data;
    const gpu = column(lines, "gpuOwn");
    const waits = column(lines, "ownWait");
    const columns = [
      { title: ownTitle(), tip: data.hasCalls ? "time of the line itself" : "time with all that it called", value: (i) => lines.self[i], show: time },
      runColumn((i) => lines.self[i], maxima().self, 3),
      waits.some((one) => one) && { title: "Wait", tip: "own time off the processor, at most", value: (i) => waits[i], show: unlessZero(time) },
      data.gpuTotal && { title: "GPU", tip: "time of work on GPUs that the line itself launched", value: (i) => gpu[i], show: unlessZero(time) },
      data.gpuTotal && { title: "% GPU", width: 130, value: (i) => gpu[i], show: unlessZero((ns) => barCell(ns / maxima().gpu, percent(ns, data.gpuTotal), "gpu")) },
      { title: "Hits", value: (i) => lines.hits[i], show: count },
      { title: "Line", left: true, wide: 1, width: 120, phone: 1, value: (i) => lineOrder(lineFile(i), lines.line[i]), text: (i) => lineLink(lineFile(i), lines.line[i]) },
      { title: "Function", isName: true, left: true, wide: 1, width: 120, value: (i) => functions.name[lines.function[i]], text: (i) => functionName(lines.function[i]) },
      { title: "Source", left: true, wide: 3, width: 240, phone: 2, value: (i) => sourceLine(lineFile(i), lines.line[i]), show: code },
    ];
    this.add(panel, columns, hotLines(), {
      label: "Hot lines",
      placeholder: "Search lines",
      search: (i) => `${placeName(lineFile(i), lines.line[i])} ${functions.name[lines.function[i]]} ${sourceLine(lineFile(i), lines.line[i])}`,
      address: (i) => lineFile(i) >= 0 && measuredAddress(i),
    });
  }

  /** Show the lines, sorted by a column and searched for words, if the address names these. */
  show([title, words]) {
    const [table] = this.tables;
    const index = table.columns.findIndex((one) => one.title === title);
    if (index >= 0 && table.order !== index) table.sortBy(index);
    if (words) this.searchFor(words);
    super.show();
  }
}

/** The tab Files. */
class FilesView extends TablesView {
  make(panel) {
    const { files, functions, lines } = data;
    const gpuOwn = column(lines, "gpuOwn");
    const inside = groups(functions.file, files.name.length);
    const own = inside.map((some) => sum(some.map((f) => functions.self[f])));
    const gpu = inside.map((some) => sum(some.map((f) => sum(ofLines(gpuOwn, f)))));
    const columns = [
      { title: "File", left: true, wide: 1, phone: 1, value: (i) => files.name[i], text: (i) => link(address("source", files.name[i]), ending(fileName(i))) },
      data.hasCalls && { title: "Own", value: (i) => own[i], show: time },
      data.hasCalls && runColumn((i) => own[i], maximum(own), 2),
      data.gpuTotal && { title: "GPU", value: (i) => gpu[i], show: unlessZero(time) },
      { title: "Functions", value: (i) => inside[i].length, show: count },
      { title: "Lines", tip: "lines that were executed", value: (i) => data.linesOfFile[i].size, show: count },
      { title: "Path", left: true, wide: 2, value: (i) => files.path[i], show: visible },
    ];
    this.add(panel, columns, [...files.name.keys()], {
      label: "Files",
      placeholder: "Search files",
      sort: 1,
      search: (i) => files.path[i],
      address: (i) => address("source", files.name[i]),
    });
  }
}

/** The tab GPU. */
class GpuView extends TablesView {
  make(panel) {
    const { gpu } = data;
    const facts = [
      `${time(gpu.total)} of kernels, memsets and graphs, ${time(gpu.copies)} of copies`,
      ...gpu.devices.map((one) => `${visible(one.name)} (${one.device}) was busy for ${one.busy_exact ? "" : "at least "}${time(one.busy_ns)}`),
      ...gpu.memory.map(visible),
      gpu.unattributed ? `${time(gpu.unattributed)} were launched by no profiled line` : "",
      ...gpu.runs.filter((one) => one.backend !== "cupti").map((one) => visible(one.reason)),
    ].filter(Boolean);
    panel.append(list(facts, { class: "facts" }));
    const isCall = (kind) => kind === "runtime" || kind === "driver";
    const isPart = (kind) => kind === "wait" || kind === "load";
    this.summary(panel, "Activities", (kind) => !isCall(kind) && !isPart(kind) && !["alloc", "free"].includes(kind));
    this.summary(panel, "CUDA calls", isCall);
    this.summary(panel, "Waits for GPUs and loading, which are parts of calls", isPart);
    this.idle(panel);
  }

  /** A table as nvprof's: a row for each name, with the line that caused most of it. */
  summary(panel, title, wanted) {
    const { sums } = data.gpu;
    const found = new Map();
    for (let i = 0; i < sums.ns.length; i++) {
      if (!wanted(sums.kind[i])) continue;
      const key = `${sums.kind[i]} ${sums.name[i]}`;
      const row = found.get(key) ?? { name: sums.name[i], kind: sums.kind[i], count: 0, ns: 0, min: Infinity, max: 0, bytes: 0, places: new Map() };
      row.count += sums.count[i];
      row.ns += sums.ns[i];
      row.min = Math.min(row.min, sums.min[i]);
      row.max = Math.max(row.max, sums.max[i]);
      row.bytes += sums.bytes[i];
      const place = `${sums.function[i]} ${sums.line[i]}`;
      row.places.set(place, (row.places.get(place) ?? 0) + sums.ns[i]);
      found.set(key, row);
    }
    const rows = [...found.values()];
    if (!rows.length) return;
    const total = sum(rows.map((row) => row.ns));
    const most = maximum(rows.map((row) => row.ns));
    for (const row of rows) {
      const [place, ns] = [...row.places].reduce((one, other) => (other[1] > one[1] ? other : one));
      row.cause = placeOf(...place.split(" ").map(Number));
      row.share = row.ns ? ns / row.ns : 1;
    }
    const columns = [
      { title: "Time", value: (r) => r.ns, show: time },
      { title: "% table", tip: "share in the time of this table", width: 130, phone: 3, value: (r) => r.ns, show: (ns) => barCell(ns / most, percent(ns, total), "gpu") },
      { title: "Calls", value: (r) => r.count, show: count },
      { title: "Mean", value: (r) => r.ns / r.count, show: time },
      { title: "Min", value: (r) => r.min, show: unlessZero(time) }, // not known of parts of calls
      { title: "Max", value: (r) => r.max, show: time },
      rows.some((r) => r.bytes) && { title: "Bytes", value: (r) => r.bytes, show: unlessZero(size) },
      { title: "Line", left: true, wide: 1, width: 180, phone: 2, tip: "the line that launched most of this time", value: (r) => (r.cause ? placeName(...r.cause) : ""), text: (r) => (r.cause ? [lineLink(...r.cause), r.share < 0.995 ? ` (${Math.round(100 * r.share)}%)` : ""] : "no profiled line") },
      { title: "Name", left: true, wide: 3, width: 240, phone: 1, value: (r) => r.name, show: (name) => code(visible(name)) },
    ];
    this.add(panel, columns, rows, { heading: title, label: title, search: (r) => r.name, address: (r) => r.cause && lineAddress(...r.cause) });
  }

  idle(panel) {
    const { idle } = data.gpu;
    if (!idle?.rows.length) return;
    const total = sum(idle.devices.map((one) => one.idle_ns));
    const rows = idle.rows.filter((one) => one.idle_ns);
    const most = maximum(rows.map((one) => one.idle_ns));
    const place = (row) => placeOf(row.function, row.line);
    const columns = [
      { title: "Idle", tip: "time without any work on the device", value: (r) => r.idle_ns, show: time },
      { title: "% idle", tip: "share in the idle time of all devices", width: 130, phone: 3, value: (r) => r.idle_ns, show: (ns) => barCell(ns / most, percent(ns, total)) },
      ...Object.entries(idle.causes).filter(([name]) => rows.some((r) => r[name])).map(([name, title]) => ({ title, value: (r) => r[name] ?? 0, show: unlessZero(time) })),
      { title: "Line", left: true, wide: 1, phone: 1, value: (r) => (place(r) ? placeName(...place(r)) : ""), text: (r) => (!place(r) ? "no profiled line" : r.line ? lineLink(...place(r)) : functionLink(r.function)) },
      { title: "Source", left: true, wide: 3, phone: 2, value: (r) => (place(r) ? sourceLine(...place(r)) : ""), text: (r) => (place(r) ? code(sourceLine(...place(r))) : "") },
    ];
    this.add(panel, columns, rows, {
      heading: `GPU idle for ${time(total)}: the lines that ran meanwhile`,
      label: "Idle time of GPUs by line",
      search: () => "",
      address: (r) => place(r) && lineAddress(...place(r)),
    });
  }
}

/** The tab Ranks. */
class RanksView extends TablesView {
  make(panel) {
    const { ranks } = data;
    const { lines } = ranks;
    const file = (i) => data.functions.file[lines.function[i]];
    const share = (part) => percent(part, 1);
    panel.append(list([
      `${counted(ranks.numbers.length, "rank")}, the longest ran for ${time(Math.max(...ranks.wall))}`,
      `parallel efficiency ${share(ranks.parallel)} = load balance ${share(ranks.balance)} \u00d7 communication efficiency ${share(ranks.communication)}`,
    ], { class: "facts" }));
    const columns = [
      { title: "Lost", phone: 3, tip: "(max - mean) \u00d7 ranks: time for which others may have waited", value: (i) => lines.lost[i], show: time },
      { title: "Imbalance", tip: "max / mean - 1", value: (i) => lines.imbalance[i], show: share },
      { title: "Max", value: (i) => lines.max[i], show: time },
      { title: "of rank", value: (i) => lines.rank[i], width: 68 },
      { title: "Mean", value: (i) => lines.mean[i], show: time },
      { title: "Min", value: (i) => lines.min[i], show: time },
      { title: "SD", tip: "standard deviation over the ranks", value: (i) => lines.sd[i], show: time },
      { title: "Comm", tip: "time in collectives and messages, of all ranks", value: (i) => lines.mpi[i], show: unlessZero(time) },
      { title: "Ran on", value: (i) => lines.ran[i], show: (number) => `${number} of ${ranks.numbers.length}` },
      { title: "Line", left: true, wide: 1, phone: 1, value: (i) => lineOrder(file(i), lines.line[i]), text: (i) => lineLink(file(i), lines.line[i]) },
      { title: "Source", left: true, wide: 2, phone: 2, value: (i) => sourceLine(file(i), lines.line[i]), show: code },
    ];
    this.add(panel, columns, [...lines.line.keys()], {
      heading: "Lines over the ranks",
      placeholder: "Search lines",
      label: "Lines over the ranks, the most lost time first",
      search: (i) => `${placeName(file(i), lines.line[i])} ${sourceLine(file(i), lines.line[i])}`,
      address: (i) => file(i) >= 0 && lineAddress(file(i), lines.line[i]),
    });
    this.matrix(panel);
  }

  /** The own time of each line on each rank, as colours and numbers. */
  matrix(panel) {
    const { ranks } = data;
    if (!ranks.matrix.length) return;
    const few = ranks.numbers.length <= 16;
    const rows = ranks.matrix.slice(0, 60);
    const head = h("tr", {}, h("th", { scope: "col" }, "Line"), ranks.numbers.map((one) => h("th", { scope: "col" }, few ? `rank ${one}` : "")));
    const body = rows.map((times, i) => {
      const most = maximum(times);
      return h("tr", {},
        h("th", { scope: "row" }, lineLink(data.functions.file[ranks.lines.function[i]], ranks.lines.line[i])),
        times.map((ns, index) => {
          const cell = h("td", { title: `rank ${ranks.numbers[index]}: ${time(ns)}` }, few ? time(ns) : "");
          cell.style.setProperty("--share", (ns / most).toFixed(3));
          return cell;
        }));
    });
    const title = "Time of each line on each rank, without communication and callees";
    const columns = ["Line", ...ranks.numbers.map((one) => `rank ${one}`)].map((one, at) => ({ title: one, left: !at }));
    const nameOf = (i) => cellMarkdown(lineLink(data.functions.file[ranks.lines.function[i]], ranks.lines.line[i]));
    const markdown = (room) => tableMarkdown(titleMarkdown(title), columns, rows.length, (i) => [nameOf(i), ...rows[i].map(time)], room);
    this.tables.push({ markdown });
    panel.append(
      copyHead(title, markdown),
      h("div", { class: "matrix" }, h("table", { class: few ? "" : "narrow" }, h("thead", {}, head), h("tbody", {}, body))));
  }
}

/** Return the time, or the bytes of memory, that a finding is about. */
function costOfFinding(one) {
  return one.bytes ? hostSize(one.bytes) : time(one.cost);
}

/** The tab Advice. */
class AdviceView {
  /** Return the findings as a table in Markdown; "" if there is none. */
  markdown() {
    const { findings } = data.advice;
    const columns = ["Finding", "Time", "% run", "Lines", "Measured", "Advice"].map((title, at) => ({ title, left: at !== 1 && at !== 2 }));
    return findings.length && tableMarkdown(titleMarkdown("Advice"), columns, findings.length, (at) => {
      const { kind, share, places, measured, advice } = findings[at];
      const names = places.map(([f, line]) => codeSpan(placeOf(f, line) ? placeName(...placeOf(f, line)) : functionName(f)));
      return [inline(kind), costOfFinding(findings[at]), percent(share, 1), names.join(", "), inline(measured), inline(advice)];
    });
  }

  make(panel) {
    const { findings, unchecked, missing } = data.advice;
    if (findings.length) panel.append(h("div", { class: "tools" }, markdownButton(() => this.markdown())));
    panel.append(h("p", {}, findings.length
      ? "Findings that the numbers of this profile prove, the most time first; findings on the machine are last. Shares are of the run, and overlap."
      : "The numbers of this profile prove none of the known causes of lost time."));
    panel.append(h("ol", { class: "findings" }, findings.map((one) =>
      h("li", {},
        h("h2", {}, `${one.kind}: ${costOfFinding(one)}, ${percent(one.share, 1)} of the ${one.bytes ? "peak" : "run"} `, bar(one.share)),
        h("p", {}, visible(one.measured)),
        list(one.places.map(([f, line]) => {
          const file = f >= 0 ? data.functions.file[f] : NONE;
          return [lineLink(file, line, file < 0 ? functionName(f) : undefined), " ", code(sourceLine(file, line))];
        })),
        h("p", { class: "dim" }, visible(one.advice))))));
    const rest = [...unchecked.map((one) => `Not looked for: ${one}`), ...missing];
    panel.append(list(rest.map(visible), { class: "facts dim" }));
  }
}

/** The tab Run. */
class RunView extends TablesView {
  make(panel) {
    const { notes, processes } = data;
    if (notes.length) panel.append(h("h2", {}, "Notes"), list(notes.map(visible), { class: "facts" }));
    if (processes.length) {
      const facts = this.facts(processes[0]);
      const markdown = (room) => htmlTableMarkdown(titleMarkdown("Run"), facts, room);
      this.tables.push({ markdown });
      panel.append(copyHead("Run", markdown), facts);
    } else panel.append(h("h2", {}, "Run"), h("p", { class: "dim" }, "The profile has no process."));
    if (processes.length > 1) this.processes(panel);
    panel.append(colophon());
  }

  facts(one) {
    const facts = {
      Command: this.command(one),
      Folder: visible(one.cwd),
      Process: `${one.pid} on ${visible(one.host)}${one.rank === null ? "" : `, rank ${one.rank}${one.ranks ? ` of ${one.ranks}` : ""}`}`,
      Started: one.start_unix_ns ? new Date(one.start_unix_ns / 1e6).toISOString() : "",
      "Wall time": time(one.wall_ns),
      "CPU time": one.cpu_ns === null ? "" : time(one.cpu_ns),
      Measuring: one.overhead_ns ? `about ${time(one.overhead_ns)}, which is in no line` : "",
      End: visible(one.exit || "normal"),
      Python: visible(one.python),
      lineprof: visible(one.version),
      Events: visible(`${one.core}${one.core_reason ? `: ${one.core_reason}` : ""}`),
      Clock: visible(one.clock),
    };
    return this.pairs(Object.entries(facts).filter(([, text]) => text));
  }

  /** Return a table of two columns, the first of which names the second. */
  pairs(rows) {
    return h("table", { class: "process" }, h("tbody", {}, rows.map(([name, text]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, text)))));
  }

  command(one) {
    return visible(one.argv.join(" "));
  }

  processes(panel) {
    const { processes } = data;
    const columns = [
      { title: "Rank", width: 60, value: (p) => p.rank ?? NONE, text: (p) => (p.rank === null ? "" : String(p.rank)) },
      { title: "Process", value: (p) => p.pid },
      { title: "Wall", phone: 2, value: (p) => p.wall_ns, show: time },
      { title: "CPU", value: (p) => p.cpu_ns ?? 0, text: (p) => (p.cpu_ns === null ? "" : time(p.cpu_ns)) },
      { title: "Host", left: true, wide: 1, value: (p) => p.host, show: visible },
      { title: "End", left: true, wide: 1, value: (p) => p.exit, show: (exit) => visible(exit || "normal") },
      { title: "Command", left: true, wide: 3, phone: 1, value: this.command },
    ];
    this.add(panel, columns, processes, { heading: `${count(processes.length)} processes`, label: "Processes", sort: 2, search: this.command });
  }
}
