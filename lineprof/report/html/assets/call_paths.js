// The flame graph of a report: call paths by order of the calls, the longest first, or as
// a sandwich of all callers and callees of one function.

const HEAT_STEPS = [0.001, 0.01, 0.05, 0.2]; // shares of the whole where a hotter colour begins

/** Return the call paths for "wall", "cpu" or "gpu" time. */
function callPaths(metric) {
  const { tree, gpu } = data;
  const table = metric === "gpu" ? gpu.tree : tree;
  let { self } = table;
  if (metric === "cpu") {
    const busy = busyShares();
    self = self.map((ns, i) => ns * (busy[tree.function[i]] ?? 1));
  }
  const paths = new CallPaths(table, { total: sumsOfPaths(table.parent, self), calls: table.calls }, { self });
  if (metric !== "gpu" && gpu?.tree.self.length && data.hasCalls) paths.addGpu(gpuLaunches(paths));
  return paths;
}

/**
 * Return the work that was launched on GPUs: the path, the `line` of its function, and
 * `ns`. A launch whose lines are not on a path is one of the path above.
 */
function gpuLaunches(paths) {
  const { parent, function: fn, line, self } = data.gpu.tree;
  const found = [];
  const at = []; // the path of each function
  const isLost = [];
  for (let i = 0; i < parent.length; i++) {
    const up = parent[i] < 0 ? NONE : at[parent[i]];
    isLost[i] = parent[i] >= 0 && isLost[parent[i]];
    if (fn[i] < NONE) {
      if (up >= 0) found.push({ path: up, line: isLost[i] ? 0 : line[i], ns: self[i] });
      continue;
    }
    const same = isLost[i] ? NONE : calleePath(paths, up, fn[i], line[i]);
    isLost[i] ||= same < 0;
    at[i] = same < 0 ? up : same;
  }
  return found;
}

/**
 * Return the path of a function that was called from a line of path `up`; NONE if there is none.
 * What an inner call of a function called stands on the outer one.
 */
function calleePath(paths, up, fn, line) {
  const isC = (f) => f >= 0 && data.functions.file[f] < 0;
  const direct = pathOf(paths, up, fn, line, isC);
  if (direct >= 0 || up < 0) return direct;
  let outer = paths.parent[up];
  while (outer >= 0 && paths.fn[outer] !== paths.fn[up]) outer = paths.parent[outer];
  const found = outer < 0 ? NONE : pathOf(paths, outer, fn, line, isC);
  // A launch has lines that are open several times where they are innermost: between its
  // lines, others can be missing.
  return found < 0 ? pathOf(paths, outer < 0 ? up : outer, fn, line, () => true) : found;
}

/**
 * Return the path of a call from a line of path `up`, maybe through functions for which `isPassed`
 * is true: the nearest one; NONE if there is none.
 */
function pathOf(paths, up, fn, line, isPassed) {
  const todo = up < 0 ? paths.roots() : paths.callees(up).filter((i) => paths.line[i] === line);
  for (const one of todo) {
    if (paths.fn[one] === fn) return one;
    if (isPassed(paths.fn[one]) && todo.length < 1000) todo.push(...paths.callees(one));
  }
  return NONE;
}

/** Return the share of each function's own time in which it did not wait. */
function busyShares() {
  const { functions, lines } = data;
  const waits = column(lines, "ownWait");
  return functions.name.map((_, f) => {
    const own = sum(ofLines(lines.self, f));
    return own ? Math.max(0, 1 - sum(ofLines(waits, f)) / own) : 1;
  });
}

/**
 * Return a function that returns the own time of a function over all paths; GPU work is also
 * that of the function which launched it.
 */
function ownTimes({ parent, fn, own: { self } }) {
  const shift = 2 + (data.gpu?.tree.names.length ?? 0); // names of GPU work are below 0
  const found = new Float64Array(shift + data.functions.count);
  for (let i = 0; i < fn.length; i++) {
    found[shift + fn[i]] += self[i];
    if (fn[i] < NONE && parent[i] >= 0) found[shift + fn[parent[i]]] += self[i];
  }
  return (f) => found[shift + f];
}

/** Return the step of a share in the colours of heat. */
function heatStep(share) {
  return HEAT_STEPS.filter((one) => share >= one).length;
}

/**
 * Return the name of a function; names of GPU work have numbers from -2 down, and calls
 * whose own paths were not kept have NONE.
 */
function frameName(fn) {
  if (fn === NONE) return "deeper calls";
  return fn < NONE ? visible(data.gpu.tree.names[-2 - fn]) : functionName(fn);
}

/** The tab Flame graph of a report. */
class FlameView extends FlameTab {
  constructor() {
    super();
    this.keys.list.push(["w", "sandwich of the function"]);
  }

  make(panel) {
    this.metric = data.selfTotal || !data.gpu ? "wall" : "gpu";
    this.form = "heavy";
    this.hasLines = true;
    const metrics = [
      ["wall", "Time", "own time of each call path"],
      data.lines.ownWait && ["cpu", "CPU", "time without waits, which are shared out over the call paths of a function in proportion to its time"],
      data.gpu?.tree.self.length && ["gpu", "GPU", "work on GPUs by the call path that launched it"],
    ].filter(Boolean);
    const forms = [
      ["heavy", "Left heavy", "the callees with the most time first"],
      ["order", "Time order", "callees in the order in which each was first called"],
      ["sandwich", "Sandwich", "all callers and all callees of one function"],
    ];
    this.forms = choiceButtons(this.form, forms, (form) => {
      this.update({ form });
      go(address("flame"), true); // no longer that of a function's sandwich
    });
    this.picker = select("Function of the sandwich", [], () => this.update({ middle: Number(this.picker.value) }));
    this.top = new FlameCanvas(this, true);
    const controls = [choiceButtons(this.metric, metrics, (metric) => this.update({ metric })), this.forms, data.hasCalls && this.linesButton(), this.picker];
    this.makeFlame(panel, controls, data.deeper && h("p", { class: "dim" }, data.deeper));
    this.gpuWhole = sum(data.gpu?.tree.self ?? []);
    this.build();
  }

  canvases() {
    return [this.main, this.top];
  }

  /** Show the chosen `metric` and `form`, with `hasLines`, of the function in the `middle`. */
  build() {
    const { metric, hasLines, form } = this;
    const paths = callPaths(metric);
    this.whole = metric === "gpu" ? this.gpuWhole : data.run.ns;
    this.own = ownTimes(paths);
    const isSandwich = form === "sandwich";
    this.picker.hidden = !isSandwich;
    const options = { hasLines, heavy: form !== "order" };
    if (isSandwich) {
      this.fillPicker();
      options.middle = this.middle;
      this.chart.replaceChildren(this.top.scroller, this.main.scroller);
      this.top.set(new Frames(paths, { ...options, upward: true }));
    } else this.chart.replaceChildren(this.main.scroller);
    this.main.set(new Frames(paths, options));
    this.drawKey();
  }

  /** Offer the functions with the most time for the middle of the sandwich. */
  fillPicker() {
    if (!this.picker.length) {
      const order = descending(data.functions.name.keys(), data.functions.total);
      append(this.picker, [order.slice(0, 2000).map((f) => h("option", { value: f }, `${functionName(f)} (${functionPlace(f)})`))]);
      this.middle ??= order[0] ?? NONE;
    }
    this.picker.value = this.middle;
  }

  drawKey() {
    const { metric } = this;
    const what = metric === "gpu" ? "on GPUs, copies included" : metric === "cpu" ? "on processors" : "in functions";
    const own = metric === "gpu" ? "GPU work launched itself, % of all" : `${metric === "cpu" ? "Own CPU" : data.hasCalls ? "Own time" : "Time"}, % run`;
    const keys = [
      this.heatKey(own),
      this.keyOfLines(),
      this.main.frames.gpu && colourKey("", [["gpu", "GPU work launched (full width: all GPU work)"]]),
    ];
    const words = `${what}${data.hasCalls ? "" : "; the profile has no calls, so each function is a box of its own"}`;
    this.fillKey(keys, words, "A click zooms, a double click shows the source");
  }

  /** Return the key of the colours of heat. */
  heatKey(title) {
    const percents = HEAT_STEPS.map((one) => 100 * one);
    return colourKey(title, [`<${percents[0]}`, ...percents.map((one) => `\u2265${one}`)].map((text, step) => [`heat-${step}`, text]));
  }

  show([name] = []) {
    super.show();
    if (name !== undefined) this.showSandwich(Number(name));
  }

  /** Show the sandwich of a function. */
  showSandwich(f) {
    if (!(f >= 0 && f < data.functions.count)) return;
    [...this.forms.children].forEach((one, index) => one.setAttribute("aria-pressed", index === 2));
    this.update({ middle: f, form: "sandwich" });
  }

  // Frames.

  nameOf(fn) {
    return frameName(fn);
  }

  label({ fn, line }, node) {
    if (!line[node]) return this.nameOf(fn[node]);
    const place = placeOf(fn[node], line[node]);
    return `${line[node]}: ${place ? sourceLine(...place) : "?"}`;
  }

  kind({ fn, line }, node) {
    if (line[node]) return "line-frame";
    return fn[node] === NONE ? "cold" : `heat-${heatStep(this.own(fn[node]) / this.whole)}`;
  }

  share(ns) {
    return `${percent(ns, this.whole)} of ${this.metric === "gpu" ? "GPU work" : "the run"}`;
  }

  /** Return the numbers of a frame as pairs of a name and a text. */
  numbers(frames, node) {
    const { total, self, calls, line, fn, gpu } = frames;
    const isWork = fn[node] < NONE;
    const all = line[node] ? 0 : this.own(fn[node]); // over all paths
    const wall = this.metric === "wall" && !line[node] && data.functions.total[fn[node]]; // as the tables have it
    const own = line[node] || frames.upward ? 0 : self[node];
    return [
      ["Time", `${time(total[node])}, ${this.share(total[node])}`],
      !line[node] && !frames.upward && ["Own", own ? `${time(own)}, ${this.share(own)}` : "0"],
      wall && wall !== Math.round(total[node]) && ["Time, all paths", `${time(wall)}, ${this.share(wall)}`],
      all !== own && ["Own, all paths", `${time(all)}, ${this.share(all)}`],
      calls[node] && [isWork ? "Launches" : "Calls", count(calls[node])],
      gpu?.[node] && ["GPU", `${time(gpu[node])}, ${percent(gpu[node], this.gpuWhole)} of GPU work`],
    ].filter(Boolean);
  }

  /** Return the place [file, line] of the call that made a frame; null if it is unknown. */
  site(frames, node) {
    const site = frames.callSite(node);
    return site && placeOf(...site);
  }

  place(frames, node) {
    const fn = frames.fn[node];
    if (!frames.line[node]) return fn >= 0 ? functionPlace(fn) : "";
    const site = this.site(frames, node);
    return `${site ? `${placeName(...site)} ` : ""}in ${this.nameOf(fn)}`;
  }

  siteRow(frames, node) {
    const site = this.site(frames, node);
    return site && [frames.upward ? "Calls at" : "Called at", placeName(...site), code(sourceLine(...site))];
  }

  /** Return the address of the line of a frame, the function, or the line that launched GPU work. */
  addressOf(frames, node) {
    const fn = frames.fn[node];
    if (!frames.line[node] && fn >= 0) return functionAddress(fn);
    const site = this.site(frames, node);
    if (site) return lineAddress(...site);
    return frames.up[node] >= 0 ? this.addressOf(frames, frames.up[node]) : undefined;
  }
}
