// Times of lines over the run, from the slices of a trace: a small drawing for each line.

const PARTS = 64; // of the run, at most

const DRAWING = document.createElement("template");
DRAWING.innerHTML = '<svg class="over" role="img" preserveAspectRatio="none"><path></path></svg>';

/** The times of lines in equal parts of the run, over all threads and processes. */
class OverTime {
  constructor() {
    this.width = 1000; // of a part (ns)
    this.end = 0;
    this.lines = new Map(); // by function and line
  }

  /** Read all slices once, some at a time: other work can go on in between. */
  async read() {
    for (const trace of data.timeline.traces) {
      for (const batch of trace.batches) {
        this.add(trace, await timelineColumns({ ...trace, count: batch.count, batches: [batch] }, ["function", "line", "start", "ns"]));
        await new Promise((done) => setTimeout(done));
      }
    }
  }

  add(trace, { function: fn, line, start, ns }) {
    for (let i = 0; i < line.length; i++) {
      if (line[i]) this.addSlice(this.parts(trace.functions[fn[i]], line[i]), Math.max(0, start[i]), ns[i]);
    }
  }

  addSlice(parts, start, ns) {
    const end = start + ns;
    if (end > this.end) this.end = end;
    while (end >= PARTS * this.width) this.halve();
    const { width } = this;
    const last = Math.floor(end / width);
    for (let part = Math.floor(start / width); part <= last; part++) {
      parts[part] += Math.min(end, (part + 1) * width) - Math.max(start, part * width);
    }
  }

  /** Make the parts twice as long. */
  halve() {
    this.width *= 2;
    for (const parts of this.lines.values()) {
      for (let i = 0; i < PARTS; i++) parts[i] = i < PARTS / 2 ? parts[2 * i] + parts[2 * i + 1] : 0;
    }
  }

  parts(f, line) {
    const key = lineKey(f, line);
    if (!this.lines.has(key)) this.lines.set(key, new Float64Array(PARTS));
    return this.lines.get(key);
  }

  /** Return the drawing of a line, whose numbers these are; "" if it has no slices. */
  drawing({ outer }) {
    const { function: fn, line } = data.lines;
    const found = outer.map((i) => this.lines.get(lineKey(fn[i], line[i]))).filter(Boolean);
    if (!found.length) return "";
    const parts = found.reduce((a, b) => a.map((ns, i) => ns + b[i]));
    const most = maximum(parts);
    const used = Math.max(1, Math.ceil(this.end / this.width));
    const bars = [...parts.subarray(0, used)].map((ns, i) => (ns ? `M${i} 16v-${Math.max(1, (16 * ns) / most).toFixed(1)}h1V16z` : ""));
    const drawing = DRAWING.content.firstChild.cloneNode(true);
    drawing.setAttribute("viewBox", `0 0 ${used} 16`);
    const { traces } = data.timeline;
    const lost = sum(traces.map((one) => one.leftOut));
    const shortest = maximum(traces.map((one) => one.minLine));
    const without = [shortest > 1 && `executions below ${time(shortest)}`, lost && `${counted(lost, "slice")} that had no room`].filter(Boolean).join(" and ");
    drawing.setAttribute("aria-label", `Over ${time(this.end)} with measuring; peak: ${time(most)} in ${time(this.width)}${without && `; without ${without}`}`);
    drawing.firstChild.setAttribute("d", bars.join(""));
    return drawing;
  }
}
