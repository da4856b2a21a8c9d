// Frames of flame graphs: functions and, between a function and its callees, the lines
// that call them.

const FEW = 20; // frames on one, which are searched one by one

// In place of the function of a path of memory, as lineprof/report/html/memory.py has them.
const OWN_BLOCKS = -(2 ** 31); // what a line allocated itself: it has no frame of its own
const OUTSIDE = OWN_BLOCKS + 1; // what no line of the profile allocated

/** Return the sums of a column over each path and all paths below it. */
function sumsOfPaths(parent, numbers) {
  const total = new Float64Array(numbers);
  for (let i = parent.length - 1; i >= 0; i--) if (parent[i] >= 0) total[parent[i]] += total[i];
  return total;
}

/** Call paths, callers before callees: a table with the columns `parent`, `line`, `function`. */
class CallPaths {
  /**
   * `sums` are columns by name that frames add up: `total`, which is their width, and
   * others. Those of `own` are of functions alone, and no part of the lines that call them.
   */
  constructor({ parent, line, function: fn }, sums, own) {
    Object.assign(this, { parent, line, fn, sums, own });
    this.first = new Int32Array(parent.length).fill(NONE);
    this.next = new Int32Array(parent.length);
    for (let i = parent.length - 1; i >= 0; i--) {
      if (parent[i] < 0) continue;
      this.next[i] = this.first[parent[i]];
      this.first[parent[i]] = i;
    }
  }

  /** Return the paths of the calls in path `i`, in order. */
  callees(i) {
    const found = [];
    for (let one = this.first[i]; one >= 0; one = this.next[one]) found.push(one);
    return found;
  }

  /** Return the paths of calls from outside. */
  roots() {
    return [...this.parent.keys()].filter((i) => this.parent[i] < 0);
  }

  /** Add GPU work: a list of the `path` that launched it, on which `line`, and its `ns`. */
  addGpu(launches) {
    const self = new Float64Array(this.parent.length);
    this.gpuOfLine = new Float64Array(this.parent.length); // by the first call on the line
    for (const { path, line, ns } of launches) {
      self[path] += ns;
      const call = this.callees(path).find((one) => this.line[one] === line);
      if (call !== undefined) this.gpuOfLine[call] += ns;
    }
    this.sums.gpu = sumsOfPaths(this.parent, self);
  }
}

/**
 * A tree of frames on call paths: callees stand on their callers. A frame is function `fn`
 * or, if `line` is above 0, that line of it. Paths with the same functions and lines share
 * a frame. Frames are numbered, and made when they are asked for: few are wide enough to
 * be seen. `up` is the frame that a frame stands on.
 */
class Frames {
  /**
   * `hasLines`: whether lines stand between functions. `heavy`: whether frames are ordered
   * by time. `middle`: the function whose outermost calls are shown, or NONE for all.
   * `upward`: whether its callers stand on it, instead of its callees.
   */
  constructor(paths, { hasLines, heavy = false, middle = NONE, upward = false }) {
    Object.assign(this, { paths, hasLines, heavy, middle, upward });
    for (const name of ["up", "fn", "line", "site", "level"]) this[name] = [];
    const columns = (table) => Object.entries(table).map(([name, values]) => ({ of: (this[name] = []), values }));
    [this.sums, this.own] = [columns(paths.sums), columns(paths.own)];
    this.sources = []; // the paths of each frame
    this.weights = []; // if `upward`, those whose numbers count
    this.above = new Map();
    this.starts = [];
    this.depth = this.findStarts();
    this.whole = this.starts.reduce((ns, i) => ns + paths.sums.total[i], 0);
  }

  /** Find the paths at which frames begin; return the number of rows. */
  findStarts() {
    const { paths: { parent, fn, line }, middle, hasLines, upward, starts } = this;
    const rows = new Int32Array(parent.length); // up to a path, from a start
    const all = new Int32Array(parent.length); // up to a path, from the outermost call
    let most = 0;
    for (let i = 0; i < parent.length; i++) {
      const up = parent[i];
      const step = (up >= 0 && hasLines && line[i] > 0 ? 2 : 1) - (fn[i] === OWN_BLOCKS);
      all[i] = step + (up >= 0 ? all[up] : 0);
      if (up >= 0 && rows[up]) rows[i] = rows[up] + step;
      else if (middle < 0 ? up < 0 : fn[i] === middle) {
        rows[i] = 1;
        starts.push(i);
        if (upward) most = Math.max(most, all[i]);
      }
      if (!upward) most = Math.max(most, rows[i]);
    }
    return most;
  }

  /** Return the frames on frame `i`; those at the start for NONE. */
  on(i) {
    if (!this.above.has(i)) {
      const found = this.made(i);
      this.above.set(i, this.heavy && found.length > 1 ? descending(found, this.total) : found);
    }
    return this.above.get(i);
  }

  /** Make the frames on frame `i`; return their numbers. */
  made(i) {
    const { paths, upward } = this;
    const found = [];
    if (i < 0) for (const one of this.starts) this.put(found, NONE, one, one, one);
    else if (upward) {
      this.sources[i].forEach((call, index) => {
        const caller = paths.parent[call];
        if (caller >= 0) this.put(found, i, call, caller, this.weights[i][index]);
      });
    } else if (this.line[i]) for (const call of this.sources[i]) this.put(found, i, call, call, call);
    else {
      for (const path of this.sources[i]) {
        for (let call = paths.first[path]; call >= 0; call = paths.next[call]) this.put(found, i, call, call, call);
      }
    }
    return found;
  }

  /**
   * Add a call to the frames that were `found` on frame `up`. The function at the end of
   * the call has path `end`; the numbers that count are those of path `weight`.
   */
  put(found, up, call, end, weight) {
    const { paths } = this;
    const line = this.hasLines && up >= 0 && !this.line[up] ? paths.line[call] : 0;
    const isLine = line > 0;
    const fn = paths.fn[isLine ? paths.parent[call] : end];
    if (fn === OWN_BLOCKS) return;
    const site = up < 0 || isLine ? 0 : paths.line[call];
    let frame = this.among(found, fn, line);
    if (frame === undefined) {
      frame = this.add(up, fn, line, site);
      found.byKey?.set(lineKey(fn, line), frame);
      found.push(frame);
    }
    if (this.site[frame] !== site) this.site[frame] = 0; // several lines call it
    this.sources[frame].push(isLine ? call : end);
    if (this.upward) this.weights[frame].push(weight);
    for (const column of this.sums) column.of[frame] += column.values[weight];
    if (this.upward) return;
    if (!isLine) for (const column of this.own) column.of[frame] += column.values[weight];
    else if (paths.gpuOfLine) this.gpu[frame] += paths.gpuOfLine[call];
  }

  /** Return the frame of a function or line among those that were `found`. */
  among(found, fn, line) {
    if (found.length < FEW) return found.find((one) => this.fn[one] === fn && this.line[one] === line);
    found.byKey ??= new Map(found.map((one) => [lineKey(this.fn[one], this.line[one]), one]));
    return found.byKey.get(lineKey(fn, line));
  }

  add(up, fn, line, site) {
    this.up.push(up);
    this.fn.push(fn);
    this.line.push(line);
    this.site.push(site);
    this.level.push(up < 0 ? 0 : this.level[up] + 1);
    for (const column of this.sums) column.of.push(0);
    for (const column of this.own) column.of.push(0);
    this.sources.push([]);
    if (this.upward) this.weights.push([]);
    return this.up.length - 1;
  }

  /** Return the function and the line of the call that made a frame; null if unknown. */
  callSite(i) {
    const up = this.up[i];
    if (this.line[i]) return [this.fn[i], this.line[i]];
    if (up >= 0 && this.line[up]) return [this.fn[up], this.line[up]];
    if (up < 0 || !this.site[i]) return null;
    return [this.upward ? this.fn[i] : this.fn[up], this.site[i]];
  }
}
