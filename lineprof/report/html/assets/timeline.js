// The timeline: rows for threads, calls of CUDA and devices, as NVIDIA's profilers have
// them. Slices stay in packed columns; only those as wide as a pixel are drawn.

const BAND = 16; // height of a row in pixels
const TITLES = 220; // width of the rows' titles, at most
const SLICE_HEATS = 4; // steps of the colour of a slice by own time
const TITLE_LETTER = 6.7; // width of a letter in them
const MAX_DEPTH = 48; // of nested slices in one group

/**
 * Return the values of a packed column as numbers; see docs/format.md. If there is an
 * `origin`, the column has differences: the first value is relative to the origin, each
 * other one to the value before it.
 */
async function unpacked(number, length, width, origin) {
  const planes = await blob(number);
  const values = new Float64Array(length);
  const at = (plane, i) => planes[plane * length + i];
  if (width < 8) {
    for (let i = 0; i < length; i++) {
      let value = 0;
      for (let plane = width - 1; plane >= 0; plane--) value = value * 256 + at(plane, i);
      values[i] = value;
    }
    return values;
  }
  // 64 bits: the low and the high half; differences may be below 0.
  for (let i = 0; i < length; i++) {
    const low = (at(0, i) | (at(1, i) << 8) | (at(2, i) << 16) | (at(3, i) << 24)) >>> 0;
    const high = at(4, i) | (at(5, i) << 8) | (at(6, i) << 16) | (at(7, i) << 24);
    values[i] = high * 4294967296 + low;
  }
  if (origin !== null && length) {
    let first = 0n;
    for (let plane = 7; plane >= 0; plane--) first = first * 256n + BigInt(at(plane, 0));
    values[0] = Number(first - origin); // exact: the times of a run are short
    for (let i = 1; i < length; i++) values[i] += values[i - 1];
  }
  return values;
}

// Bytes of a number of each column, where these are not 4.
const WIDTHS = { start: 8, ns: 8, bytes: 8, kind: 1 };

/** Return columns of all slices, or events, of one process; times are on the axis. */
async function timelineColumns(one, names) {
  const found = {};
  const origin = BigInt(one.origin);
  for (const name of names) {
    const values = new Float64Array(one.count);
    let from = 0;
    for (const batch of one.batches) {
      const number = batch.columns[name];
      if (number !== undefined) {
        const width = name === "thread" && one.launches ? 8 : (WIDTHS[name] ?? 4);
        values.set(await unpacked(number, batch.count, width, name === "start" ? origin : null), from);
      } else if (name === "start") values.fill(-Number(origin), from, from + batch.count);
      from += batch.count;
    }
    found[name] = values;
  }
  for (let i = 0; i < one.count; i++) found.start[i] += one.zero;
  return found;
}

/** Names of colours by the kind of an event. */
const KIND_COLOURS = { memcpy: "copy", memset: "memset", runtime: "api", driver: "api", wait: "sync" };

/** Return the order of `starts`; longer slices first where two start together. */
function byStart(starts, lengths) {
  const order = Uint32Array.from(starts.keys());
  let sorted = true;
  for (let i = 1; i < order.length && sorted; i++) {
    sorted = starts[i - 1] < starts[i] || (starts[i - 1] === starts[i] && lengths[i - 1] >= lengths[i]);
  }
  return sorted ? order : order.sort((a, b) => starts[a] - starts[b] || lengths[b] - lengths[a]);
}

// A lane is one row: slices that do not overlap, in the order of their start.

/** Return the lanes of the slices of lines and functions, nested ones below. */
async function traceLanes(trace) {
  const columns = await timelineColumns(trace, ["thread", "function", "line", "start", "ns"]);
  const groups = new Map();
  const { start, ns } = columns;
  for (const i of byStart(start, ns)) {
    const isLine = columns.line[i] > 0;
    const key = columns.thread[i] * 2 + (isLine ? 1 : 0);
    if (!groups.has(key)) groups.set(key, { lanes: [], ends: [] });
    const { lanes, ends } = groups.get(key);
    while (ends.length && ends[ends.length - 1] <= start[i]) ends.pop();
    const depth = Math.min(ends.length, MAX_DEPTH);
    if (ends.length < MAX_DEPTH) ends.push(start[i] + ns[i]);
    if (!lanes[depth]) {
      const thread = data.threads[trace.threads[columns.thread[i]]];
      const group = `${processTitle(trace.process)} \u203a ${thread ? threadTitle(thread) : "All threads"}`;
      const [title, kind] = isLine ? ["Lines", "line"] : ["Functions", "function"];
      lanes[depth] = { title: depth ? "" : title, group, kind, columns, trace, order: [trace.process, 0, group], items: [] };
    }
    if (depth < MAX_DEPTH) lanes[depth].items.push(i);
  }
  return [...groups.entries()].sort((a, b) => a[0] - b[0]).flatMap(([, group]) => group.lanes);
}

/** Return the title of a process in the timeline. */
function processTitle(process) {
  const one = data.processes[process];
  if (!one) return "Process";
  return one.rank === null ? `Process ${one.pid}` : `Rank ${one.rank} (${one.pid})`;
}

/** Return the title of a thread in the timeline. */
function threadTitle(thread) {
  return visible(`${thread.name || "Thread"} (${thread.native_id})`);
}

/** Compare two arrays by the first of their values that differ. */
function compare(a, b) {
  const i = a.findIndex((one, index) => one !== b[index]);
  return i < 0 ? 0 : a[i] < b[i] ? -1 : 1;
}

const COPIES = ["HtoD", "DtoH", "DtoD", "PtoP"];

/** Return the lanes of GPU events: calls by thread, work by device, context and stream. */
async function gpuLanes(timeline) {
  const columns = await timelineColumns(timeline, ["kind", "name", "start", "ns", "path", "device", "context", "stream", "bytes", "launch", "thread"]);
  const kinds = data.gpu.kinds;
  const found = new Map();
  const add = (key, place, title, group, kind, i) => {
    if (!found.has(key)) found.set(key, { place, lanes: [], ends: [], title, group, kind });
    const row = found.get(key);
    const start = columns.start[i];
    let lane = row.ends.findIndex((end) => end <= start);
    if (lane < 0) {
      lane = row.lanes.length;
      if (lane >= MAX_DEPTH) return;
      row.lanes.push({ title: lane ? "" : title, group, kind, columns, timeline, order: [timeline.process, place[0], group], items: [] });
    }
    row.ends[lane] = start + columns.ns[i];
    row.lanes[lane].items.push(i);
  };
  const process = processTitle(timeline.process);
  for (const i of byStart(columns.start, columns.ns)) {
    const kind = kinds[columns.kind[i]] ?? "";
    const name = timeline.names[columns.name[i]];
    if (kind === "runtime" || kind === "driver" || kind === "wait") {
      const path = columns.path[i] ? columns.path[i] - 1 + timeline.firstPath : NONE;
      const native = columns.thread[i];
      const thread =
        (path >= 0 && data.threads[data.gpu.paths.thread[path]]) ||
        data.threads.find((one) => one.process === timeline.process && one.native_id === native);
      const group = `${process} \u203a ${thread ? threadTitle(thread) : "other threads"}`;
      const title = { runtime: "Runtime API", driver: "Driver API", wait: "Waiting for the GPU" }[kind];
      add(`${group} ${kind}`, [0, group, ["runtime", "driver", "wait"].indexOf(kind)], title, group, kind === "wait" ? "sync" : "api", i);
    } else if (!["alloc", "free", "migration"].includes(kind)) {
      const device = data.gpu.devices.find((one) => one.process === timeline.process && one.device === columns.device[i]);
      const group = `${process} \u203a ${visible(device?.name ?? "GPU")} (${columns.device[i]})`;
      const isCopy = kind === "memcpy";
      const title = isCopy ? `MemCpy (${visible(name)})` : kind === "memset" ? "Memset" : "Compute";
      const place = isCopy ? COPIES.indexOf(name) : kind === "memset" ? 8 : 9;
      const colours = KIND_COLOURS[kind] ?? "gpu";
      add(`${group} ${columns.context[i]} ${title}`, [1, group, columns.context[i], 0, place], title, group, colours, i);
      add(`${group} ${columns.context[i]} ${columns.stream[i]} stream`, [1, group, columns.context[i], 1, columns.stream[i]], `Stream ${columns.stream[i]}`, group, "stream", i);
    }
  }
  return [...found.values()].sort((a, b) => compare(a.place, b.place)).flatMap((row) => row.lanes);
}

/** Return the own time of a line of a function (ns). */
function ownOfLine(f, line) {
  const index = ofLines(data.lines.line, f).indexOf(line);
  return index < 0 ? 0 : data.lines.self[data.functions.first[f] + index];
}

/** The tab Timeline. */
class TimelineView extends Drawing {
  keys = {
    title: "Timeline",
    list: [
      ["w s", "zoom in and out"],
      ["a d", "move to the left and right"],
      ["ArrowLeft ArrowRight", "slice beside this one"],
      ["Enter", "go to the line of the slice"],
      ["z", "fold the thread or device of the slice, or unfold it"],
      ["Escape", "show the whole run"],
    ],
  };

  /** Whether the profile has no slices. */
  get isEmpty() {
    return !data.timeline.traces.length && !data.timeline.gpu.length;
  }

  make(panel) {
    this.info = h("div", { class: "info", "aria-live": "polite" }, "Reading the slices\u2026");
    panel.append(this.info);
    if (this.isEmpty) {
      this.info.replaceChildren(
        h("p", {}, "This profile has sums alone. ", h("code", {}, "kernprof -l --trace script.py"), " also records each slice of a function or a line, and on an NVIDIA GPU each kernel, copy and call."));
      return;
    }
    const label = "Timeline; w and s zoom, a and d move, the arrow keys go from slice to slice, Enter shows the line";
    const listeners = { pointerdown: (event) => this.grab(event), dblclick: () => this.open() };
    this.makeCanvas(label, listeners, { wheel: (event) => this.wheel(event) });
    panel.prepend(
      h("div", { class: "tools" },
        h("button", { click: () => this.zoom(0.5), title: "Zoom in (w)" }, "+"),
        h("button", { click: () => this.zoom(2), title: "Zoom out (s)" }, "\u2212"),
        h("button", { click: () => this.reset() }, "Whole run"),
        h("span", { class: "dim" }, "drag: a range \u00b7 click: a slice with its line, or a title to fold \u00b7 Ctrl+wheel: zoom \u00b7 the more own time, the more orange")));
    panel.append(this.scroller);
    this.hit = null;
    this.ready = this.load();
  }

  async load() {
    try {
      const lanes = [];
      for (const trace of data.timeline.traces) lanes.push(...(await traceLanes(trace)));
      for (const timeline of data.timeline.gpu) lanes.push(...(await gpuLanes(timeline)));
      let [first, last] = [Infinity, 0];
      for (const lane of lanes.sort((a, b) => compare(a.order, b.order))) {
        lane.items = Uint32Array.from(lane.items);
        if (!lane.items.length) continue;
        const { start, ns } = lane.columns;
        const end = lane.items[lane.items.length - 1];
        first = Math.min(first, start[lane.items[0]]);
        last = Math.max(last, start[end] + ns[end]);
      }
      this.whole = [Math.min(first, last), Math.max(last, first + 1)];
      this.lanes = lanes;
      this.folded = new Set();
      this.layOut();
      this.reset();
      this.tell(null);
      this.readyMs = performance.now();
    } catch (error) {
      this.info.replaceChildren(`The slices cannot be read: ${error.message}`);
    }
  }

  /** Put the lanes below the titles of their groups; those of folded groups are left out. */
  layOut() {
    this.bands = [];
    let heading = null;
    for (const lane of this.lanes) {
      if (lane.group !== heading) this.bands.push({ heading: lane.group });
      heading = lane.group;
      if (!this.folded.has(lane.group)) this.bands.push(lane);
    }
    this.setHeight((this.bands.length + 2) * BAND);
  }

  /** Hide the lanes of a group, or show them again. */
  fold(group) {
    if (!this.folded.delete(group)) this.folded.add(group);
    this.layOut();
    this.draw();
  }

  show() {
    this.draw();
  }

  reset() {
    [this.from, this.to] = this.whole;
    this.draw();
  }

  /** The width of the rows' titles: a third of the drawing at most. */
  get titles() {
    return Math.min(TITLES, Math.floor(this.scroller.clientWidth / 3));
  }

  get room() {
    return this.scroller.clientWidth - this.titles;
  }

  x(ns) {
    return this.titles + ((ns - this.from) / (this.to - this.from)) * this.room;
  }

  at(x) {
    return this.from + ((x - this.titles) / this.room) * (this.to - this.from);
  }

  draw() {
    const { scroller } = this;
    if (!this.bands || !scroller.offsetParent) return;
    const paint = this.begin(11);
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    const looks = {};
    for (const one of ["ink", "dim", "line-rule", "function-slice", "line-slice", "api", "sync", "gpu-box", "copy", "memset", "box-ink", "heat-row", "paper"]) looks[one] = colour(one);
    const heats = (cold) => Array.from({ length: SLICE_HEATS }, (_, step) => `color-mix(in srgb, ${looks["heat-row"]} ${(100 * step) / (SLICE_HEATS - 1)}%, ${cold})`);
    const colours = { ...looks, function: heats(looks["function-slice"]), line: heats(looks["line-slice"]), gpu: looks["gpu-box"] };
    const top = scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / BAND) - 1);
    const last = Math.min(this.bands.length, Math.ceil((top + height) / BAND) + 1);
    for (let index = first; index < last; index++) {
      const lane = this.bands[index];
      const y = (index + 1) * BAND - top;
      if (lane.heading) {
        paint.fillStyle = looks.ink;
        paint.font = `bold 11px ${colour("mono")}`;
        paint.fillText(fitted(`${this.folded.has(lane.heading) ? "\u25b8" : "\u25be"} ${lane.heading}`, Math.floor((width - 8) / TITLE_LETTER)), 4, y + BAND / 2);
        paint.font = `11px ${colour("mono")}`;
        continue;
      }
      paint.fillStyle = looks.dim;
      paint.fillText(fitted(lane.title, Math.floor((this.titles - 12) / TITLE_LETTER)), 8, y + BAND / 2);
      this.drawLane(paint, lane, y, width, colours);
    }
    this.drawAxis(paint, width, looks);
  }

  /** Draw the slices of a lane; of those that begin in one pixel the first stands for all. */
  drawLane(paint, lane, y, width, colours) {
    const { items } = lane;
    const { start, ns, kind } = lane.columns;
    const ink = colours["box-ink"];
    const perPixel = (this.to - this.from) / this.room;
    let k = this.firstAt(lane, this.from);
    while (k < items.length) {
      const i = items[k];
      if (start[i] > this.to) break;
      const left = Math.max(this.titles, this.x(start[i]));
      const right = Math.min(width, this.x(start[i] + ns[i]));
      const size = Math.max(right - left, 1);
      const isHit = this.hit && this.hit.lane === lane && this.hit.i === i;
      const fill = lane.trace ? colours[lane.kind][this.heat(lane, i)] : colours[lane.kind === "stream" ? (KIND_COLOURS[data.gpu.kinds[kind[i]]] ?? "gpu") : lane.kind];
      paint.fillStyle = isHit ? ink : fill;
      paint.fillRect(left, y + 1, size > 3 ? size - 0.5 : size, BAND - 2);
      if (size > 30) {
        const name = this.sliceName(lane, i);
        paint.fillStyle = isHit ? fill : ink;
        paint.fillText(fitted(name, Math.floor((size - 6) / TITLE_LETTER)), left + 3, y + BAND / 2);
      }
      k++;
      if (size <= 1 && k < items.length) {
        const next = this.from + (Math.floor((start[i] - this.from) / perPixel) + 1) * perPixel;
        if (start[items[k]] + ns[items[k]] < next) k = this.firstAt(lane, next, k);
      }
    }
  }

  /** Return the own time of the function or line of a slice, in steps of its share in the most. */
  heat(lane, i) {
    const { columns, trace } = lane;
    const [number, line] = [columns.function[i], columns.line[i]];
    const key = lineKey(number, line);
    const known = (lane.heats ??= new Map());
    if (!known.has(key)) {
      const f = trace.functions[number];
      const share = f < 0 ? 0 : lane.kind === "function" ? data.functions.self[f] / maxima().ofFunctions : ownOfLine(f, line) / maxima().self;
      known.set(key, Math.round(Math.sqrt(share) * (SLICE_HEATS - 1)));
    }
    return known.get(key);
  }

  /** Return the first slice of a lane, from `low` on, that ends at `ns` or later. */
  firstAt(lane, ns, low = 0) {
    const { items } = lane;
    const { start, ns: length } = lane.columns;
    let high = items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[items[middle]] + length[items[middle]] < ns) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  drawAxis(paint, width, looks) {
    paint.fillStyle = looks.paper;
    paint.fillRect(0, 0, width, BAND);
    const span = this.to - this.from;
    const step = 10 ** Math.floor(Math.log10(span / 4));
    // Labels of ticks, such as "1,234 ms", have room beside one another.
    const most = Math.min(8, this.room / 70);
    const tick = [step, 2 * step, 5 * step, 10 * step].find((one) => span / one <= most) ?? step * 20;
    for (let at = Math.ceil(this.from / tick) * tick; at < this.to; at += tick) {
      const x = this.x(at);
      paint.fillStyle = looks.dim;
      const label = time(Math.round(at));
      if (x + 3 + label.length * TITLE_LETTER <= width) paint.fillText(label, x + 3, BAND / 2);
      paint.fillStyle = looks["line-rule"];
      paint.fillRect(x, 0, 1, this.scroller.clientHeight);
    }
    if (this.range) {
      const [a, b] = this.range;
      paint.fillStyle = looks.dim;
      paint.globalAlpha = 0.25;
      paint.fillRect(Math.min(a, b), 0, Math.abs(b - a), this.scroller.clientHeight);
      paint.globalAlpha = 1;
    }
  }

  sliceName(lane, i) {
    const { columns, trace, timeline } = lane;
    if (timeline) return visible(timeline.names[columns.name[i]] || lane.title);
    const number = columns.function[i];
    const f = trace.functions[number];
    if (lane.kind === "line") {
      const file = f >= 0 ? data.functions.file[f] : NONE;
      return file < 0 ? "" : `${columns.line[i]}: ${sourceLine(file, columns.line[i])}`;
    }
    return f >= 0 ? functionName(f) : visible(trace.names[number]);
  }

  /** Return [file, line] of a slice or of the line that launched it. */
  place(lane, i) {
    const { columns, trace, timeline } = lane;
    let [f, line] = [NONE, 0];
    if (timeline) {
      if (columns.path[i]) {
        const path = columns.path[i] - 1 + timeline.firstPath;
        [f, line] = [data.gpu.paths.function[path], data.gpu.paths.line[path]];
      }
    } else {
      f = trace.functions[columns.function[i]];
      line = columns.line[i] || (f >= 0 ? data.functions.line[f] : 0);
    }
    return placeOf(f, line);
  }

  /** Return the row at the pointer: a lane, or the title of a group. */
  bandAt(event) {
    const [, y] = this.position(event);
    return this.bands?.[Math.floor((y + this.scroller.scrollTop) / BAND) - 1];
  }

  find(event) {
    const [x] = this.position(event);
    const lane = this.bandAt(event);
    if (!lane?.items || x < this.titles) return null;
    const slack = ((this.to - this.from) / this.room) * 1.5;
    const k = this.firstAt(lane, this.at(x) - slack);
    const { start } = lane.columns;
    if (k < lane.items.length && start[lane.items[k]] <= this.at(x) + slack) return { lane, i: lane.items[k], k };
    return null;
  }

  hover(event) {
    this.canvas.style.cursor = this.bandAt(event)?.heading ? "pointer" : "";
    if (this.range || this.kept) return;
    const hit = this.find(event);
    if (hit?.i !== this.hit?.i || hit?.lane !== this.hit?.lane) {
      this.hit = hit;
      this.tell(hit);
      this.draw();
    }
  }

  /** A drag selects the range that is shown next; a click keeps the slice under it. */
  grab(event) {
    const [begin] = this.position(event);
    this.canvas.setPointerCapture(event.pointerId);
    const move = (one) => {
      const [end] = this.position(one);
      if (this.range || Math.abs(end - begin) > 4) {
        this.range = [begin, end];
        this.draw();
      }
    };
    const up = () => {
      this.canvas.removeEventListener("pointermove", move);
      const { range } = this;
      this.range = null;
      if (range) {
        [this.from, this.to] = [this.at(Math.min(...range)), this.at(Math.max(...range))];
        this.clamp();
      } else if (this.bandAt(event)?.heading) {
        this.fold(this.bandAt(event).heading);
      } else {
        this.hit = this.find(event);
        this.kept = Boolean(this.hit);
        this.tell(this.hit);
      }
      this.draw();
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", up, { once: true });
  }

  tell(hit) {
    if (!hit) {
      const slices = sum(data.timeline.traces.map((one) => one.count)) + sum(data.timeline.gpu.map((one) => one.count));
      const lost = sum(data.timeline.traces.map((one) => one.leftOut));
      this.info.replaceChildren(`${counted(slices, "slice")} in ${time(this.whole[1] - this.whole[0])}.`, lost ? ` ${counted(lost, "slice")} had no room.` : "");
      return;
    }
    const { lane, i } = hit;
    const { columns, timeline } = lane;
    const parts = [h("b", {}, this.sliceName(lane, i) || lane.title), `: ${time(columns.ns[i])}, from ${time(columns.start[i])}`];
    if (timeline) {
      const launch = timeline.launches[columns.launch[i]];
      const shape = (name) => ["x", "y", "z"].map((axis) => launch[`${name}_${axis}`]).join("\u00d7");
      if (launch?.grid_x) parts.push(`, grid ${shape("grid")}, block ${shape("block")}, ${counted(launch.registers, "register")}`);
      if (columns.bytes[i]) parts.push(`, ${size(columns.bytes[i])}`);
      if (columns.bytes[i] && columns.ns[i]) parts.push(` at ${digits(columns.bytes[i] / columns.ns[i])} GB/s`);
    }
    const place = this.place(lane, i);
    if (place) parts.push(timeline ? ", launched by " : ", ", lineLink(...place), " ", h("code", { class: "dim" }, sourceLine(...place)));
    this.info.replaceChildren(...parts);
  }

  /** Return the address of the line of the chosen slice; undefined if there is none. */
  chosen() {
    const place = this.hit && this.place(this.hit.lane, this.hit.i);
    return place ? lineAddress(...place) : undefined;
  }

  open() {
    const hash = this.chosen();
    if (hash) go(hash);
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaY) >= Math.abs(event.deltaX)) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) this.zoom(1.002 ** event.deltaY, this.at(this.position(event)[0]));
    else this.move(event.deltaX / this.room);
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    this.from = around - (around - this.from) * factor;
    this.to = around + (this.to - around) * factor;
    this.clamp();
    this.draw();
  }

  move(share) {
    const by = share * (this.to - this.from);
    this.from += by;
    this.to += by;
    this.clamp();
    this.draw();
  }

  /** Keep the range within the run, and not below 10 ns. */
  clamp() {
    const [first, last] = this.whole;
    const span = Math.min(Math.max(this.to - this.from, 10), last - first);
    this.from = Math.min(Math.max(this.from, first), last - span);
    this.to = this.from + span;
  }

  key(event) {
    if (isModified(event)) return;
    act(event, {
      w: () => this.zoom(0.6),
      s: () => this.zoom(1 / 0.6),
      a: () => this.move(-0.2),
      d: () => this.move(0.2),
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      Enter: () => this.open(),
      z: () => this.hit && this.fold(this.hit.lane.group),
      Escape: () => {
        this.kept = false;
        this.hit = null;
        this.tell(null);
        this.reset();
      },
    });
  }

  /** Go to a slice beside the one that is told, in its lane. */
  step(by) {
    if (!this.hit) return;
    const { lane, k } = this.hit;
    const { start, ns } = lane.columns;
    const index = Math.max(0, Math.min(lane.items.length - 1, k + by));
    const i = lane.items[index];
    this.hit = { lane, i, k: index };
    if (start[i] < this.from || start[i] + ns[i] > this.to) {
      const middle = start[i] + ns[i] / 2;
      const half = (this.to - this.from) / 2;
      [this.from, this.to] = [middle - half, middle + half];
      this.clamp();
    }
    this.tell(this.hit);
    this.draw();
  }
}
