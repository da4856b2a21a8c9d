// Flame graphs of the call paths: by order of the calls, the longest first, or as a
// sandwich of all callers and callees of one function.

const BOX = 18; // height of a box in pixels
const MIN_WIDTH = 0.4; // pixels; what is narrower is not drawn
const MAX_MERGED = 200_000; // nodes of a sandwich

/** A tree of call paths: `self` and sums `total` for each node, `below` sorted children. */
class CallPaths {
  constructor({ parent, function: fn, self, calls, line }) {
    Object.assign(this, { parent, fn, self, calls, line });
    this.total = Float64Array.from(self);
    for (let i = parent.length - 1; i >= 0; i--) if (parent[i] >= 0) this.total[parent[i]] += this.total[i];
    this.roots = [];
    this.below = new Array(parent.length);
    for (let i = 0; i < parent.length; i++) {
      if (parent[i] < 0) this.roots.push(i);
      else (this.below[parent[i]] ??= []).push(i);
    }
    this.whole = sum(this.roots.map((i) => this.total[i]));
  }

  /** Return the same paths with children in the order of their time. */
  leftHeavy() {
    const other = Object.create(this);
    const byTime = (nodes) => nodes && descending(nodes, this.total);
    other.roots = byTime(this.roots);
    other.below = this.below.map(byTime);
    return other;
  }
}

/** Return the paths for "wall", "cpu" or "gpu" time. */
function callPaths(metric) {
  const { tree, gpu } = data;
  if (metric === "gpu") return new CallPaths(gpu.tree);
  if (metric === "wall") return new CallPaths(tree);
  const busy = busyShares();
  return new CallPaths({ ...tree, self: tree.self.map((ns, i) => ns * (busy[tree.function[i]] ?? 1)) });
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
 * Return the name of a box; names of GPU work have numbers from -2 down, and calls whose
 * own paths were not kept have NONE.
 */
function boxName(fn) {
  if (fn === NONE) return "deeper calls";
  return fn < NONE ? visible(data.gpu.tree.names[-2 - fn]) : functionName(fn);
}

/** Return the callees of function `f`, or its callers, over all paths to it. */
function merged(paths, f, callers) {
  const found = { parent: [], function: [], self: [], calls: [], line: [] };
  const { self, calls } = found;
  const index = new Map();
  const node = (parent, fn, line) => {
    const key = `${parent} ${fn} ${line}`;
    if (!index.has(key)) {
      if (self.length >= MAX_MERGED) return parent;
      index.set(key, self.length);
      found.parent.push(parent);
      found.function.push(fn);
      found.line.push(line);
      self.push(0);
      calls.push(0);
    }
    return index.get(key);
  };
  node(NONE, f, 0);
  for (let i = 0; i < paths.fn.length; i++) {
    if (paths.fn[i] !== f) continue;
    if (callers) {
      let at = 0;
      for (let up = i; paths.parent[up] >= 0; up = paths.parent[up]) {
        at = node(at, paths.fn[paths.parent[up]], paths.line[up]);
      }
      self[at] += paths.total[i];
      calls[at] += paths.calls[i];
      continue;
    }
    const todo = [[i, 0]];
    while (todo.length) {
      const [from, to] = todo.pop();
      self[to] += paths.self[from];
      calls[to] += paths.calls[from];
      for (const child of paths.below[from] ?? []) {
        todo.push([child, node(to, paths.fn[child], paths.line[child])]);
      }
    }
  }
  return new CallPaths(found);
}

/** One drawing of paths on a canvas; `upward` has the callers above one another. */
class FlameCanvas extends Drawing {
  constructor(view, upward) {
    super();
    this.view = view;
    this.upward = upward;
    const label = "Flame graph; arrow keys walk through it, Enter zooms, s shows the source";
    const listeners = {
      pointerleave: () => this.point(NONE),
      click: (event) => this.toggle(this.nodeAt(event)),
      dblclick: () => this.openSource(),
    };
    this.makeCanvas(label, listeners, "flame-scroll");
    this.zoomed = NONE;
    this.at = NONE;
  }

  set(paths) {
    this.paths = paths;
    this.zoomed = this.at = NONE;
    this.depth = this.measureDepth();
    this.setHeight((this.depth + 1) * BOX);
    this.scroller.scrollTop = this.upward ? this.depth * BOX : 0;
    this.draw();
  }

  measureDepth() {
    const { parent } = this.paths;
    const levels = new Int32Array(parent.length);
    let deepest = 0;
    for (let i = 0; i < parent.length; i++) {
      levels[i] = parent[i] < 0 ? 0 : levels[parent[i]] + 1;
      deepest = Math.max(deepest, levels[i]);
    }
    this.levels = levels;
    return deepest + 1;
  }

  draw() {
    const { scroller, paths } = this;
    if (!paths || !scroller.offsetParent) return;
    const paint = this.begin(12);
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    this.boxes = [];
    this.colours = { ink: colour("box-ink"), edge: colour("paper"), found: colour("found") };
    const { zoomed } = this;
    const whole = zoomed >= 0 ? paths.total[zoomed] : paths.whole;
    this.scale = whole ? width / whole : 0;
    const top = scroller.scrollTop;
    if (zoomed >= 0) {
      for (let up = paths.parent[zoomed]; up >= 0; up = paths.parent[up]) this.box(paint, up, 0, width, top, height, true);
      this.walk(paint, [zoomed], 0, top, height);
    } else this.walk(paint, paths.roots, 0, top, height);
  }

  walk(paint, nodes, x, top, height) {
    const { paths } = this;
    const todo = [[nodes, x]];
    while (todo.length) {
      const [list, start] = todo.pop();
      let left = start;
      for (const node of list) {
        const width = paths.total[node] * this.scale;
        if (width >= MIN_WIDTH) {
          this.box(paint, node, left, width, top, height, false);
          const below = paths.below[node];
          if (below) todo.push([below, left]);
        }
        left += width;
      }
    }
  }

  box(paint, node, x, width, top, height, above) {
    const { paths } = this;
    const y = this.place(node) - top;
    if (y < -BOX || y > height) return;
    const name = boxName(paths.fn[node]);
    const found = this.view.wanted && name.toLowerCase().includes(this.view.wanted);
    paint.fillStyle = found ? this.colours.found : boxColour(paths.fn[node], this.view.metric);
    paint.globalAlpha = above ? 0.55 : this.view.wanted && !found ? 0.45 : 1;
    paint.fillRect(x, y, Math.max(width - 0.6, 0.4), BOX - 1);
    paint.globalAlpha = 1;
    if (node === this.at) {
      paint.strokeStyle = this.colours.ink;
      paint.lineWidth = 2;
      paint.strokeRect(x + 1, y + 1, Math.max(width - 2.6, 1), BOX - 3);
    }
    this.boxes.push([x, y, width, node]);
    if (width > 28) {
      paint.fillStyle = this.colours.ink;
      paint.fillText(fitted(name, Math.floor((width - 6) / 7.3)), x + 3, y + BOX / 2);
    }
  }

  /** Return the upper edge of a box; callers stand on the lower edge of their canvas. */
  place(node) {
    if (!this.upward) return this.levels[node] * BOX;
    const room = Math.max(this.depth * BOX, this.scroller.clientHeight);
    return room - (this.levels[node] + 1) * BOX;
  }

  nodeAt(event) {
    const [x, y] = this.position(event);
    const hit = this.boxes?.findLast(([left, top, width]) => x >= left && x < left + Math.max(width, 1) && y >= top && y < top + BOX);
    return hit ? hit[3] : NONE;
  }

  hover(event) {
    this.point(this.nodeAt(event));
  }

  point(node) {
    if (node === this.at) return;
    if (node >= 0 || this.zoomed < 0) this.at = node;
    this.view.tell(this.paths, node);
    this.draw();
  }

  /** Zoom to a box, or out of it. */
  toggle(node) {
    this.zoom(node === this.zoomed ? NONE : node);
  }

  zoom(node) {
    this.zoomed = this.at = node;
    this.view.tell(this.paths, node);
    this.draw();
  }

  openSource() {
    if (this.at >= 0) this.view.openSource(this.paths, this.at);
  }

  key(event) {
    const { at, paths } = this;
    const up = at < 0 ? NONE : paths.parent[at];
    const down = at < 0 ? paths.roots[0] : paths.below[at]?.[0];
    const list = up < 0 ? paths.roots : paths.below[up];
    const beside = (by) => (at < 0 ? list[0] : list[list.indexOf(at) + by]);
    act(event, {
      ArrowDown: () => this.walkTo(this.upward ? up : down),
      ArrowUp: () => this.walkTo(this.upward ? down : up),
      ArrowLeft: () => this.walkTo(beside(-1)),
      ArrowRight: () => this.walkTo(beside(1)),
      Enter: () => this.toggle(at),
      Escape: () => this.zoom(NONE),
      s: () => this.openSource(),
      w: () => at >= 0 && this.view.sandwichOf(paths.fn[at]),
    });
  }

  walkTo(node) {
    if (!(node >= 0)) return; // there is none on that side
    const { scroller } = this;
    this.at = node;
    this.view.tell(this.paths, node);
    const y = this.place(node);
    if (y < scroller.scrollTop || y + BOX > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = y - scroller.clientHeight / 2;
    }
    this.draw();
  }
}

/** Return the colour of a function's boxes: one hue for its file. */
function boxColour(fn, metric) {
  if (fn < NONE) return colour("gpu-box");
  const file = fn < 0 ? NONE : data.functions.file[fn];
  const names = (boxColour.names ??= new Map());
  const key = `${document.documentElement.dataset.theme}${metric} ${file} ${fn % 3}`;
  if (!names.has(key)) {
    const dark = isDark();
    const hue = file < 0 ? 0 : (28 + ((file * 47) % 150)) % 360;
    const light = (dark ? 34 : 76) + (fn % 3) * 3;
    names.set(key, file < 0 ? `hsl(0 0% ${light}%)` : `hsl(${hue} ${dark ? 38 : 62}% ${light}%)`);
  }
  return names.get(key);
}

class FlameView {
  keys = {
    title: "Flame graph",
    list: [
      ["ArrowDown ArrowUp ArrowLeft ArrowRight", "go to a frame beside this one"],
      ["Enter", "zoom to the frame, or out of it"],
      ["Escape", "zoom out"],
      ["s", "go to the source"],
      ["w", "sandwich of the function"],
    ],
  };

  make(panel) {
    this.metric = data.selfTotal || !data.gpu ? "wall" : "gpu";
    this.form = "heavy";
    this.wanted = "";
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
    const choice = (name, options) =>
      h("span", { class: "choice", role: "group" }, options.map(([value, text, title]) =>
        h("button", {
          "aria-pressed": String(this[name] === value),
          title,
          click: (event) => {
            this[name] = value;
            for (const one of event.target.parentElement.children) one.setAttribute("aria-pressed", one === event.target);
            this.update();
          },
        }, text)));
    this.search = searchInput("Highlight functions", { input: () => {
      this.wanted = this.search.value.toLowerCase();
      this.draw();
    } });
    this.forms = choice("form", forms);
    const order = descending(data.functions.name.keys(), data.functions.total);
    this.middle = order[0] ?? NONE;
    const names = order.slice(0, 2000).map((f) => [f, `${functionName(f)} (${functionPlace(f)})`]);
    this.picker = select("Function of the sandwich", names, () => {
      this.middle = Number(this.picker.value);
      this.update();
    });
    this.info = h("div", { class: "info", "aria-live": "polite" });
    this.main = new FlameCanvas(this, false);
    this.top = new FlameCanvas(this, true);
    this.chart = h("div", { class: "flame" });
    append(panel, [
      h("div", { class: "tools" }, choice("metric", metrics), this.forms, this.picker, this.search,
        h("button", { click: () => { this.main.zoom(NONE); this.top.zoom(NONE); } }, "Reset zoom")),
      this.info, data.deeper && h("p", { class: "dim" }, data.deeper), this.chart,
    ]);
    this.update();
  }

  update() {
    const paths = callPaths(this.metric);
    const isSandwich = this.form === "sandwich";
    this.picker.hidden = !isSandwich;
    this.chart.classList.toggle("two", isSandwich);
    if (isSandwich) {
      this.picker.value = this.middle;
      this.chart.replaceChildren(this.top.scroller, this.main.scroller);
      this.top.set(merged(paths, this.middle, true));
      this.main.set(merged(paths, this.middle, false));
    } else {
      this.chart.replaceChildren(this.main.scroller);
      this.main.set(this.form === "heavy" ? paths.leftHeavy() : paths);
    }
    this.tell(this.main.paths, NONE);
  }

  draw() {
    this.main.draw();
    this.top.draw();
  }

  show([name]) {
    this.draw();
    if (name !== undefined) this.sandwichOf(Number(name));
  }

  sandwichOf(f) {
    if (!(f >= 0 && f < data.functions.count)) return;
    this.middle = f;
    this.form = "sandwich";
    [...this.forms.children].forEach((one, index) => one.setAttribute("aria-pressed", index === 2));
    this.update();
  }

  tell(paths, node) {
    if (node < 0) {
      const what = this.metric === "gpu" ? "on GPUs" : this.metric === "cpu" ? "on processors" : "in profiled functions";
      const hint = data.hasCalls ? "" : " The profile has no calls: each function is a box of its own.";
      this.info.replaceChildren(`${time(paths.whole)} ${what}. A click zooms, a double click shows the source.${hint}`);
      return;
    }
    const fn = paths.fn[node];
    const parts = [
      h("b", {}, boxName(fn)), fn >= 0 ? ` ${functionPlace(fn)}` : "",
      `: ${time(paths.total[node])} (${percent(paths.total[node], paths.whole)}), own ${time(paths.self[node])},`,
      ` ${counted(paths.calls[node], "call")}`,
    ];
    const up = paths.parent[node];
    const from = up >= 0 && !this.top.paths && placeOf(paths.fn[up], paths.line[node]);
    if (from && from[1]) parts.push(` from ${fileName(from[0])}:${from[1]}`);
    this.info.replaceChildren(...parts.filter(Boolean));
  }

  openSource(paths, node) {
    let at = node;
    while (at >= 0 && paths.fn[at] < 0) {
      const up = paths.parent[at];
      const from = up >= 0 && placeOf(paths.fn[up], paths.line[at]);
      if (from) return go(lineAddress(...from));
      at = up;
    }
    if (at >= 0) go(functionAddress(paths.fn[at]));
  }
}
