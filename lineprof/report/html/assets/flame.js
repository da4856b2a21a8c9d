// Flame graphs of the call paths: by order of the calls, the longest first, or as a
// sandwich of all callers and callees of one function.

const BOX = 18; // height of a box in pixels
const MIN_WIDTH = 0.4; // pixels; what is narrower is not drawn
const MAX_MERGED = 200_000; // nodes of a sandwich

/** A tree of call paths: `self` and sums `total` for each node, `below` sorted children. */
class CallPaths {
  constructor(parent, fn, self, calls, line) {
    this.parent = parent;
    this.fn = fn;
    this.self = self;
    this.calls = calls;
    this.line = line;
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
    const byTime = (list) => list && [...list].sort((a, b) => this.total[b] - this.total[a]);
    other.roots = byTime(this.roots);
    other.below = this.below.map(byTime);
    return other;
  }
}

/** Return the paths for "wall", "cpu" or "gpu" time. */
function callPaths(metric) {
  const { tree, gpu } = data;
  if (metric === "gpu") {
    const t = gpu.tree;
    return new CallPaths(t.parent, t.function, t.self, t.calls, t.line);
  }
  if (metric === "wall") return new CallPaths(tree.parent, tree.function, tree.self, tree.calls, tree.line);
  const busy = busyShares();
  const self = tree.self.map((ns, i) => ns * (busy[tree.function[i]] ?? 1));
  return new CallPaths(tree.parent, tree.function, self, tree.calls, tree.line);
}

/** Return the share of each function's own time in which it did not wait. */
function busyShares() {
  const { functions, lines } = data;
  const waits = column(lines, "ownWait");
  return functions.name.map((_, f) => {
    let [own, wait] = [0, 0];
    for (let i = functions.first[f]; i < functions.first[f + 1]; i++) {
      own += lines.self[i];
      wait += waits[i];
    }
    return own ? Math.max(0, 1 - wait / own) : 1;
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
  const parent = [NONE];
  const fn = [f];
  const self = [0];
  const calls = [0];
  const line = [0];
  const index = new Map();
  const node = (above, one, at) => {
    const key = `${above} ${one} ${at}`;
    if (!index.has(key)) {
      if (parent.length >= MAX_MERGED) return above;
      index.set(key, parent.length);
      parent.push(above);
      fn.push(one);
      self.push(0);
      calls.push(0);
      line.push(at);
    }
    return index.get(key);
  };
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
  return new CallPaths(parent, fn, self, calls, line);
}

/** One drawing of paths on a canvas; `upward` has the callers above one another. */
class FlameCanvas {
  constructor(view, upward) {
    this.view = view;
    this.upward = upward;
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label": "Flame graph; arrow keys walk through it, Enter zooms, s shows the source",
      pointermove: (event) => this.hover(event),
      pointerleave: () => this.point(NONE),
      click: (event) => this.click(event),
      dblclick: () => this.openSource(),
      keydown: (event) => this.key(event),
    });
    this.scroller = h("div", { class: "flame-scroll", scroll: inNextFrame(() => this.draw()) }, h("div", { class: "flame-room" }, this.canvas));
    new ResizeObserver(inNextFrame(() => this.draw())).observe(this.scroller);
    onTheme.push(() => this.draw());
    this.zoomed = NONE;
    this.at = NONE;
  }

  set(paths) {
    this.paths = paths;
    this.zoomed = this.at = NONE;
    this.depth = this.measureDepth();
    this.canvas.parentElement.style.height = `${(this.depth + 1) * BOX}px`;
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
    const { canvas, scroller, paths } = this;
    if (!paths || !scroller.offsetParent) return;
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    const scale = devicePixelRatio;
    if (canvas.width !== width * scale) canvas.width = width * scale;
    if (canvas.height !== height * scale) canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.style.top = "0";
    const paint = canvas.getContext("2d");
    paint.setTransform(scale, 0, 0, scale, 0, 0);
    paint.clearRect(0, 0, width, height);
    paint.font = `12px ${colour("mono")}`;
    paint.textBaseline = "middle";
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
      const room = Math.floor((width - 6) / 7.3);
      paint.fillText(name.length > room ? `${name.slice(0, Math.max(1, room - 1))}\u2026` : name, x + 3, y + BOX / 2);
    }
  }

  /** Return the upper edge of a box; callers stand on the lower edge of their canvas. */
  place(node) {
    if (!this.upward) return this.levels[node] * BOX;
    const room = Math.max(this.depth * BOX, this.scroller.clientHeight);
    return room - (this.levels[node] + 1) * BOX;
  }

  nodeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
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

  click(event) {
    const node = this.nodeAt(event);
    this.zoom(node === this.zoomed ? NONE : node);
  }

  zoom(node) {
    this.zoomed = node;
    this.at = node;
    this.view.tell(this.paths, node);
    this.draw();
  }

  openSource() {
    if (this.at >= 0) this.view.openSource(this.paths, this.at);
  }

  key(event) {
    const { paths } = this;
    const { at } = this;
    const list = at < 0 ? paths.roots : paths.parent[at] < 0 ? paths.roots : paths.below[paths.parent[at]];
    const down = at < 0 ? paths.roots[0] : paths.below[at]?.[0];
    const up = at < 0 ? undefined : paths.parent[at];
    const beside = (by) => (at < 0 ? list[0] : list[list.indexOf(at) + by]);
    const moves = {
      ArrowDown: this.upward ? up : down,
      ArrowUp: this.upward ? down : up,
      ArrowLeft: beside(-1),
      ArrowRight: beside(1),
    };
    if (event.key in moves) {
      const node = moves[event.key];
      if (node !== undefined && node >= 0) {
        this.at = node;
        this.view.tell(paths, node);
        this.reveal(node);
      }
    } else if (event.key === "Enter") this.zoom(this.at === this.zoomed ? NONE : this.at);
    else if (event.key === "Escape") this.zoom(NONE);
    else if (event.key === "s") this.openSource();
    else if (event.key === "w" && at >= 0) this.view.sandwichOf(paths.fn[at]);
    else return;
    event.preventDefault();
  }

  reveal(node) {
    const { scroller } = this;
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
  make(panel) {
    this.metric = data.selfTotal || !data.gpu ? "wall" : "gpu";
    this.form = "heavy";
    this.wanted = "";
    const metrics = [["wall", "Time"]];
    if (data.lines.ownWait) metrics.push(["cpu", "CPU"]);
    if (data.gpu?.tree.self.length) metrics.push(["gpu", "GPU"]);
    const forms = [["heavy", "Left heavy"], ["order", "Time order"], ["sandwich", "Sandwich"]];
    const tips = {
      wall: "own time of each call path",
      cpu: "time without waits, which are shared out over the call paths of a function in proportion to its time",
      gpu: "work on GPUs by the call path that launched it",
      heavy: "the callees with the most time first",
      order: "callees in the order in which each was first called",
      sandwich: "all callers and all callees of one function",
    };
    const choice = (name, options) =>
      h("span", { class: "choice", role: "group" }, options.map(([value, text]) =>
        h("button", {
          "aria-pressed": String(this[name] === value),
          title: tips[value],
          click: (event) => {
            this[name] = value;
            for (const one of event.target.parentElement.children) one.setAttribute("aria-pressed", one === event.target);
            this.update();
          },
        }, text)));
    this.search = h("input", { type: "search", class: "search", placeholder: "Highlight functions", "aria-label": "Highlight functions", input: () => {
      this.wanted = this.search.value.toLowerCase();
      this.draw();
    } });
    this.forms = choice("form", forms);
    this.picker = h("select", { "aria-label": "Function of the sandwich", change: () => {
      this.middle = Number(this.picker.value);
      this.update();
    } });
    this.info = h("div", { class: "info", "aria-live": "polite" });
    this.main = new FlameCanvas(this, false);
    this.top = new FlameCanvas(this, true);
    this.chart = h("div", { class: "flame" });
    panel.append(
      h("div", { class: "tools" }, choice("metric", metrics), this.forms, this.picker, this.search,
        h("button", { click: () => { this.main.zoom(NONE); this.top.zoom(NONE); } }, "Reset zoom")),
      this.info, data.deeper ? h("p", { class: "dim" }, data.deeper) : null, this.chart);
    const order = [...data.functions.name.keys()].sort((a, b) => data.functions.total[b] - data.functions.total[a]);
    this.middle = order[0] ?? NONE;
    this.picker.append(...order.slice(0, 2000).map((f) => h("option", { value: f }, `${functionName(f)} (${functionPlace(f)})`)));
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
    if (up >= 0 && paths.fn[up] >= 0 && !this.top.paths) {
      const file = data.functions.file[paths.fn[up]];
      if (file >= 0 && paths.line[node]) parts.push(` from ${fileName(file)}:${paths.line[node]}`);
    }
    this.info.replaceChildren(...parts.filter(Boolean));
  }

  openSource(paths, node) {
    let at = node;
    while (at >= 0 && paths.fn[at] < 0) {
      const up = paths.parent[at];
      if (up >= 0 && paths.fn[up] >= 0 && data.functions.file[paths.fn[up]] >= 0) {
        go(lineAddress(data.functions.file[paths.fn[up]], paths.line[at]));
        return;
      }
      at = up;
    }
    if (at >= 0) go(functionAddress(paths.fn[at]));
  }
}
