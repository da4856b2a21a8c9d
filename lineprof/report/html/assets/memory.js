// Host memory: the tab with the curve over the run, the call paths and the lines, and the
// numbers that other views show.

const MOST_AREAS = 7; // of the curve: other lines are one area
const OTHER_AREA = "area-0"; // the name of its colour
const MOST_PATHS = 12; // in the panel of a line

// A process has its measurement `run`, its `curve`, the line that held most at the peak, `holder`,
// and its call `paths`, as columns.

/** Return the processes that were measured, the one with the highest peak first. */
function memoryProcesses() {
  if (!data.memorySorted) {
    // Processes that were added up have their paths in common.
    const shared = data.memory.find(({ process }) => process < 0);
    for (const one of data.memory) {
      one.isShared = Boolean(shared) && !one.paths.parent.length;
      if (one.isShared) one.paths = shared.paths;
    }
    data.memorySorted = [...data.memory].sort((a, b) => Boolean(b.run) - Boolean(a.run) || peakOf(b) - peakOf(a));
  }
  return data.memorySorted;
}

/** Return a number of the program's memory as `show` does; "~" marks an estimate, from samples. */
function estimate(number, show) {
  // On the page of a comparison, `data.memory` is no list.
  data.memorySampled ??= data.memory?.some?.(({ run }) => run?.sample_bytes) ?? false;
  return `${number && data.memorySampled ? "~" : ""}${show(number)}`;
}

/** Return bytes of the program's memory. */
function hostSize(bytes) {
  return estimate(bytes, size);
}

/** Return the call paths of all processes: a list of tables. */
function memoryPaths() {
  return [...new Set(memoryProcesses().map(({ paths }) => paths))];
}

/** Return the peak of a process (bytes). */
function peakOf({ run, paths }) {
  return run?.peak_bytes ?? sum(paths.hostPeak);
}

/** Return the name of a process. */
function processName({ process }) {
  if (process < 0) return "all processes";
  const { pid, rank } = data.processes[process] ?? {};
  return rank == null ? `process ${pid ?? process}` : `rank ${rank}`;
}

/** Return the own bytes of each line, by its key; `name` is a column of call paths. */
function bytesOfLines({ paths: { parent, function: fn, line, ...columns } }, name) {
  const found = new Map();
  fn.forEach((f, i) => {
    if (f !== OWN_BLOCKS) return;
    const key = lineKey(fn[parent[i]], line[i]);
    found.set(key, (found.get(key) ?? 0) + columns[name][i]);
  });
  return found;
}

/** Return the function and the line of a key. */
function ofLineKey(key) {
  const line = ((key % 2 ** 24) + 2 ** 24) % 2 ** 24;
  return [(key - line) / 2 ** 24, line];
}

/** Return a link to a line of a function, or the function's name. */
function keyLink(key) {
  const [f, line] = ofLineKey(key);
  const place = placeOf(f, line);
  return place ? lineLink(...place) : f < 0 ? "another function" : functionName(f);
}

/** Return a sentence on the peak of a process: how much was live, and by which line the most. */
function peakSentence(one) {
  const peak = peakOf(one);
  const ns = one.run?.peak_ns;
  if (!peak) return sum(one.paths.hostAlloc) ? "The peak is not known." : "No memory was allocated while it was measured.";
  const { function: f, line, bytes } = one.holder;
  const here = (text) => link(address("memory"), h("b", {}, text));
  return [
    "At its peak", data.memory.length > 1 && ` in ${processName(one)}`, ", ", ns >= 0 && [here(moment(ns)), ", "], here(hostSize(peak)), " were live",
    bytes > 0 && [": ", here(percent(bytes, sum(one.paths.hostPeak))), line ? [" by ", keyLink(lineKey(f, line))] : " outside of profiled lines"], ".",
  ];
}

/** Return a moment of the run (ns). */
function moment(ns) {
  return ns ? time(ns) : "0 s";
}

/** The live memory of a process over its run, by line. */
class MemoryCurve extends Drawing {
  said = h("div", { class: "info unseen", "aria-live": "polite" });
  title = h("h3", {});
  rows = h("ul", { class: "plain" });

  constructor() {
    super();
    this.makeCanvas("Live memory over the run; the arrow keys go from moment to moment, p to the peak", {
      pointerleave: () => this.tell(this.at),
      click: (event) => this.walkTo(this.momentAt(event)),
      focus: () => this.say(this.at),
    });
    this.element = h("div", { class: "curve" }, this.scroller, h("div", { class: "moment" }, this.title, this.rows), this.said);
  }

  /** Show the curve of a process. */
  set(one) {
    const { curve, run } = one;
    const known = curve.times.map((ns, i) => ({ ns, live: curve.live[i], bytes: (line) => curve.bytes[line][i] }));
    // The call paths have the bytes of each line at the peak.
    const peaks = bytesOfLines(one, "hostPeak");
    const keys = curve.line.map((line, i) => lineKey(curve.function[i], line));
    const moments = known.filter(({ ns }) => one.isShared || ns !== run.peak_ns);
    if (!one.isShared) moments.push({ ns: run.peak_ns, live: run.peak_bytes, bytes: (line) => peaks.get(keys[line]) ?? 0 });
    moments.sort((a, b) => a.ns - b.ns);
    const most = keys.map((_, line) => maximum(moments.map(({ bytes }) => bytes(line))));
    this.areas = descending(keys.keys(), most).slice(0, MOST_AREAS).map((line) => {
      const of = moments.map(({ bytes }) => bytes(line));
      return { key: keys[line], steady: sum(of) / most[line], of };
    });
    // The steadiest lines are at the bottom: those above move with them.
    this.areas.sort((a, b) => b.steady - a.steady);
    this.areas.forEach((area, i) => (area.colour = `area-${i + 1}`));
    const rest = moments.map(({ live }, i) => Math.max(0, live - sum(this.areas.map(({ of }) => of[i]))));
    if (rest.some(Boolean)) this.areas.push({ colour: OTHER_AREA, of: rest });
    this.times = moments.map(({ ns }) => ns);
    this.live = moments.map(({ live }) => live);
    this.peak = this.at = this.live.indexOf(maximum(this.live));
    this.legend();
    this.tell(this.at);
  }

  /** Make a row for each area, the top one first, as they are drawn. */
  legend() {
    this.amounts = this.areas.map(() => h("b", {}));
    this.shares = this.areas.map(() => h("span", { class: "dim" }));
    const rows = this.areas.map(({ colour: kind, key }, i) => {
      const swatch = h("i", { "aria-hidden": "true" });
      swatch.style.background = `var(--${kind})`;
      const [f, line] = key === undefined ? [NONE, 0] : ofLineKey(key);
      const place = placeOf(f, line);
      return h("li", {}, swatch, this.amounts[i], this.shares[i],
        h("span", { class: "place" }, key === undefined ? "other lines, and outside of profiled lines" : [keyLink(key), " ", place && code(sourceLine(...place))]));
    });
    this.rows.replaceChildren(...rows.reverse());
  }

  /** Show the bytes of a moment. */
  tell(i) {
    this.shown = i;
    this.title.textContent = this.words(i);
    this.areas.forEach(({ of }, area) => {
      this.amounts[area].textContent = hostSize(of[i]);
      this.shares[area].textContent = percent(of[i], this.live[i]) || "0%";
    });
    this.draw();
  }

  words(i) {
    return `${moment(this.times[i])}: ${hostSize(this.live[i])} live${i === this.peak ? ", the peak" : ""}`;
  }

  /** Tell a moment to screen readers. */
  say(i) {
    const parts = this.areas.map(({ key, of }) => [of[i], key === undefined ? "other lines" : keyName(key)]).filter(([bytes]) => bytes).sort((a, b) => b[0] - a[0]);
    this.said.textContent = `${this.words(i)}: ${parts.map(([bytes, name]) => `${hostSize(bytes)} ${name}`).join(", ")}`;
  }

  walkTo(i) {
    this.at = Math.max(0, Math.min(i, this.times.length - 1));
    this.tell(this.at);
    this.say(this.at);
  }

  key(event) {
    const step = (by) => () => this.walkTo(this.at + by);
    act(event, {
      ArrowLeft: step(-1),
      ArrowRight: step(1),
      PageUp: step(-10),
      PageDown: step(10),
      Home: () => this.walkTo(0),
      End: () => this.walkTo(Infinity),
      p: () => this.walkTo(this.peak),
    });
  }

  hover(event) {
    this.tell(this.momentAt(event));
  }

  /** Return the moment at the pointer, the nearest one. */
  momentAt(event) {
    const ns = (this.position(event)[0] - this.left) / this.scale;
    let next = this.times.findIndex((one) => one >= ns);
    if (next < 0) next = this.times.length - 1;
    return next > 0 && ns - this.times[next - 1] < this.times[next] - ns ? next - 1 : next;
  }

  draw() {
    const { scroller, times, live } = this;
    if (!times || !scroller.offsetParent) return;
    const paint = this.begin(11);
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    const [ink, dim, rule] = ["ink", "dim", "line-rule"].map(colour);
    const [top, bottom] = [22, height - 22];
    this.left = 62;
    this.scale = (width - this.left - 12) / (times.at(-1) || 1);
    const most = maximum(live);
    const x = (ns) => this.left + ns * this.scale;
    const y = (bytes) => bottom - (bytes / most) * (bottom - top);
    const write = (text, left, base, align, style = dim) => {
      paint.textAlign = align;
      paint.fillStyle = style;
      paint.fillText(text, left, base);
    };
    paint.lineWidth = 1;
    paint.strokeStyle = rule;
    for (let bytes = 0, step = roundStep(most, 5); bytes <= most; bytes += step) {
      paint.strokeRect(this.left, Math.round(y(bytes)) + 0.5, width, 0);
      write(size(bytes), this.left - 6, y(bytes), "right");
    }
    for (let ns = 0, step = roundStep(times.at(-1), Math.min(8, width / 110)); ns <= times.at(-1); ns += step) {
      write(moment(ns), Math.min(x(ns), width - 24), height - 9, ns ? "center" : "left");
    }
    let below = live.map(() => 0);
    for (const { colour: kind, of } of this.areas) {
      const above = below.map((bytes, i) => bytes + of[i]);
      const path = new Path2D();
      above.forEach((bytes, i) => path.lineTo(x(times[i]), y(bytes)));
      for (let i = times.length - 1; i >= 0; i--) path.lineTo(x(times[i]), y(below[i]));
      path.closePath();
      paint.fillStyle = colour(kind);
      paint.fill(path);
      below = above;
    }
    const mark = (i, style, dash) => {
      paint.strokeStyle = style;
      paint.lineWidth = 1;
      paint.setLineDash(dash);
      paint.beginPath();
      paint.moveTo(Math.round(x(times[i])) + 0.5, top - 6);
      paint.lineTo(Math.round(x(times[i])) + 0.5, bottom);
      paint.stroke();
      paint.setLineDash([]);
    };
    mark(this.peak, ink, [3, 3]);
    const at = x(times[this.peak]);
    write(`peak ${hostSize(live[this.peak])}`, at, 9, at > width - 60 ? "right" : at < this.left + 60 ? "left" : "center", ink);
    if (this.shown !== this.peak) mark(this.shown, colour("accent"), []);
    paint.textAlign = "left";
  }
}

/** Return the place of a line, by its key. */
function keyName(key) {
  const place = placeOf(...ofLineKey(key));
  return place ? placeName(...place) : functionName(ofLineKey(key)[0]);
}

/** Return a round step (1, 2 or 5 and zeros) that divides a whole into at most `parts` parts. */
function roundStep(whole, parts) {
  const least = Math.max(1, whole / parts);
  const ten = 10 ** Math.floor(Math.log10(least));
  return ten * [1, 2, 5, 10].find((one) => one * ten >= least);
}

const MEMORY_METRICS = [
  ["hostPeak", "Peak", "bytes that were live at the peak"],
  ["hostLive", "Live at the end", "bytes that were live at the end"],
  ["hostAlloc", "Allocated", "bytes that were allocated in all, also those that were freed"],
];

/** The call paths of memory as a flame graph: frames are as wide as their bytes. */
class MemoryFlame extends FlameView {
  showSandwich = undefined;
  metric = MEMORY_METRICS.find(([name]) => memoryPaths().some((paths) => paths[name].some((one) => one > 0)))?.[0] ?? "hostPeak";
  hasLines = true;

  /** Show the call paths of a process. */
  set(one) {
    this.one = one;
    this.update({});
  }

  make(panel) {
    const metrics = choiceButtons(this.metric, MEMORY_METRICS, (metric) => this.update({ metric }));
    this.makeFlame(panel, [metrics, this.linesButton()]);
  }

  canvases() {
    return [this.main];
  }

  build() {
    const { parent, function: fn, line, hostAllocs: blocks, [this.metric]: bytes } = this.one.paths;
    const ofLine = bytes.map((number, i) => (fn[i] === OWN_BLOCKS ? number : 0));
    const self = new Float64Array(bytes.length);
    this.ownOf = new Map(); // bytes by function, and by its line
    bytes.forEach((number, i) => {
      const above = fn[i] === OWN_BLOCKS ? parent[i] : i;
      self[above] += number;
      for (const key of above === i ? [] : [lineKey(fn[above], 0), lineKey(fn[above], line[i])]) {
        this.ownOf.set(key, (this.ownOf.get(key) ?? 0) + number);
      }
    });
    const sums = { total: sumsOfPaths(parent, bytes), blocks: sumsOfPaths(parent, blocks), ofLine };
    const frames = new Frames(new CallPaths(this.one.paths, sums, { self }), { hasLines: this.hasLines, heavy: true });
    this.whole = frames.whole;
    this.chart.replaceChildren(this.main.scroller);
    this.chart.style.height = `${Math.max(5, frames.depth + 1) * BOX + 14}px`;
    this.main.set(frames);
    const [, , words] = MEMORY_METRICS.find(([name]) => name === this.metric);
    this.fillKey([this.heatKey("Own bytes, % of all")], words.replace("bytes that ", ""), "A click zooms, a double click shows the source");
  }

  amount(bytes) {
    return hostSize(bytes);
  }

  nameOf(fn) {
    return fn === OUTSIDE ? "outside of profiled lines" : fn === NONE ? "another function" : functionName(fn);
  }

  kind({ fn, line }, node) {
    if (fn[node] < 0) return "cold";
    const own = this.ownOf.get(lineKey(fn[node], line[node])) ?? 0;
    return line[node] && !own ? "line-frame" : `heat-${heatStep(own / this.whole)}`;
  }

  share(bytes) {
    return `${hostSize(bytes)}, ${percent(bytes, this.whole) || "0%"} of all`;
  }

  numbers({ total, self, ofLine, blocks, fn, line }, node) {
    const own = (line[node] ? ofLine : self)[node];
    const every = this.ownOf.get(lineKey(fn[node], line[node])) ?? own;
    return [
      ["Bytes", this.share(total[node])],
      ["Own", own ? this.share(own) : "0"],
      every !== own && ["Own, all paths", this.share(every)],
      ["Blocks allocated", estimate(blocks[node], count)],
    ].filter(Boolean);
  }
}

/** The tab Memory. */
class MemoryView extends TablesView {
  keys = {
    title: "Memory",
    list: [
      ["ArrowLeft ArrowRight", "the moment before and after"],
      ["PageUp PageDown", "ten moments before and after"],
      ["Home End", "the first and the last moment"],
      ["p", "the peak"],
    ],
  };

  suffix = "Own";

  make(panel) {
    this.curve = new MemoryCurve();
    this.flame = new MemoryFlame();
    this.sentence = h("h2", { class: "sentence", "aria-live": "polite" });
    this.facts = h("ul", { class: "facts" });
    const all = memoryProcesses();
    const options = all.map((one, i) => [i, `${processName(one)} \u00b7 peak ${hostSize(peakOf(one))}`]);
    const picker = all.length > 1 && select("Process", options, (event) => this.choose(all[event.target.value]));
    append(panel, [
      picker && h("div", { class: "tools" }, picker, h("span", { class: "dim" }, all[0].isShared ? "The curve is that of this process, the call paths and the lines are those of all." : "The curve and the call paths are those of this process, the lines those of all.")),
      this.sentence, this.facts, this.curve.element, h("h2", {}, "Call paths"),
    ]);
    this.flame.make(panel);
    this.lines(panel);
    this.choose(all[0]);
  }

  /** Show a process. */
  choose(one) {
    const { run, paths, curve } = one;
    const facts = [
      `${hostSize(sum(paths.hostAlloc))} in ${estimate(sum(paths.hostAllocs), (blocks) => counted(blocks, "block"))} were allocated, ${hostSize(sum(paths.hostTemp))} of it freed before its line ended, ${hostSize(sum(paths.hostLive))} were live at the end`,
      run?.sample_bytes && `Blocks below ${size(run.sample_bytes)} are a sample: their numbers are estimates`,
      run && !run.is_native && "Blocks of extension modules are not counted",
      run?.lost && `${counted(run.lost, "block")} could not be counted`,
      run?.side_bytes && `Measuring took ${size(run.side_bytes)} of memory itself, which is in no line`,
    ];
    this.sentence.replaceChildren();
    append(this.sentence, [peakSentence(one)]);
    this.facts.replaceChildren(...facts.filter(Boolean).map((text) => h("li", {}, text)));
    this.curve.element.hidden = !(curve?.live.some(Boolean) && run?.peak_bytes);
    if (!this.curve.element.hidden) this.curve.set(one);
    this.flame.set(one);
  }

  /** Add the table of lines. */
  lines(panel) {
    const { functions, lines } = data;
    const rows = [...lines.line.keys()].filter((i) => lines.hostAllocs?.[i]);
    const number = (name) => (i) => lines[name + this.suffix]?.[i] ?? 0;
    const bytes = HOST_NUMBERS.map(({ name, title, tip, show }) => ({ width: 86, title, tip, value: number(name), show: unlessZero(show) }));
    bytes[0].phone = 2;
    const whole = sum(memoryPaths().map((paths) => sum(paths.hostPeak)));
    const most = { Own: maximum(column(lines, "hostPeakOwn")), "": maximum(column(lines, "hostPeak")) };
    bytes.splice(1, 0, { title: "% peak", tip: "share in what was live at the peak", width: 120, value: number("hostPeak"), show: unlessZero((one) => barCell(one / most[this.suffix], percent(one, whole), "memory")) });
    const columns = [
      { title: "Line", left: true, wide: 1, width: 120, phone: 1, value: (i) => lineOrder(lineFile(i), lines.line[i]), text: (i) => lineLink(lineFile(i), lines.line[i]) },
      ...bytes,
      { title: "Function", isName: true, left: true, wide: 1, width: 110, value: (i) => functions.name[lines.function[i]], text: (i) => functionName(lines.function[i]) },
      { title: "Source", left: true, wide: 3, width: 160, phone: 3, value: (i) => sourceLine(lineFile(i), lines.line[i]), show: code },
    ];
    this.add(panel, columns, rows, {
      heading: "Lines",
      placeholder: "Search lines",
      label: "Memory by line, own bytes",
      sort: 1,
      search: (i) => `${placeName(lineFile(i), lines.line[i])} ${functions.name[lines.function[i]]} ${sourceLine(lineFile(i), lines.line[i])}`,
      address: (i) => lineFile(i) >= 0 && measuredAddress(i),
    });
    addBytesForms(this);
  }

  chosen() {
    return super.chosen() ?? this.flame.chosen();
  }

  show() {
    super.show();
    this.curve.draw();
    this.flame.show();
  }
}

/** Return the call paths to a line of some functions, by their bytes: the lines `above` it, and the `bytes` of a column. */
function pathsToLine(functions, line, name) {
  const found = new Map(); // of all processes, by the lines above
  for (const paths of memoryPaths()) {
    const { parent, function: fn, line: lines } = paths;
    paths.totals ??= {};
    const totals = (paths.totals[name] ??= sumsOfPaths(parent, paths[name]));
    const byPath = new Map();
    for (let i = 0; i < parent.length; i++) {
      const up = parent[i];
      if (up >= 0 && lines[i] === line && functions.includes(fn[up])) byPath.set(up, (byPath.get(up) ?? 0) + totals[i]);
    }
    for (const [path, bytes] of byPath) {
      const above = [];
      for (let at = path; parent[at] >= 0; at = parent[at]) above.unshift(lineKey(fn[parent[at]], lines[at]));
      const one = found.get(String(above)) ?? { bytes: 0, above };
      one.bytes += bytes;
      found.set(String(above), one);
    }
  }
  return [...found.values()].filter((one) => one.bytes).sort((a, b) => b.bytes - a.bytes);
}

/** Return the memory of a line for its panel: the numbers, and the call paths to it. */
function memoryOfLine(line, numbers) {
  if (!HOST_NUMBERS.some(({ name }) => numbers[name])) return [];
  const rows = HOST_NUMBERS.filter(({ name }) => numbers[name]).map(({ name, title, tip, show }) =>
    h("tr", { title: tip }, h("th", { scope: "row" }, title), h("td", {}, show(numbers[`${name}Own`])), h("td", {}, show(numbers[name]))));
  const isPeak = numbers.hostPeak > 0;
  const paths = pathsToLine(numbers.functions, line, isPeak ? "hostPeak" : "hostAlloc");
  const item = ({ bytes, above }) => [h("b", {}, hostSize(bytes)), " ", above.length ? above.map((key, i) => [i ? " \u2192 " : "", keyLink(key)]) : "from outside"];
  const more = paths.length - MOST_PATHS;
  return [
    h("h3", {}, "Memory"),
    h("table", { class: "bytes-of-line" },
      h("thead", {}, h("tr", {}, ["", "Own", "With callees"].map((title) => (title ? h("th", { scope: "col" }, title) : h("td", {}))))),
      h("tbody", {}, rows)),
    ...listed(`Call paths, bytes ${isPeak ? "at the peak" : "allocated"}`, paths.slice(0, MOST_PATHS), item),
    more > 0 ? h("p", { class: "dim" }, `${more} more`) : "",
  ].filter(Boolean);
}
