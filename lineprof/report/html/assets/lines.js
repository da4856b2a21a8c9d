// Numbers of lines: which columns there are, what functions share a line, which is hot.

/**
 * Numbers of the memory that a line allocated, with its callees; those with Own behind the
 * name are of the line itself.
 */
const HOST_NUMBERS = [
  { name: "hostPeak", title: "Peak", tip: "bytes that were live at the peak of the process" },
  { name: "hostLive", title: "Live", tip: "bytes that were live at the end" },
  { name: "hostAlloc", title: "Alloc", tip: "bytes that were allocated" },
  { name: "hostAllocs", title: "Blocks", tip: "blocks that were allocated", show: count },
  { name: "hostFreed", title: "Freed", tip: "bytes that were freed, by whatever line" },
  { name: "hostTemp", title: "Temp", tip: "bytes that were freed before the line ended" },
].map(({ show = size, ...one }) => ({ ...one, isMemory: true, show: (number) => estimate(number, show) }));

/** The columns of memory with bars: the first one that is known is shown at first. */
const LANES = ["hostPeakOwn", "hostAllocOwn"];

/** Return the name of the bytes that are shown at first; undefined if none are known. */
function firstLane() {
  return LANES.find((name) => data.functions[name]);
}

/**
 * Columns of numbers, some of which are as `narrow` on phones. A column that `needs` a field of the data is in a page where the field
 * is true; one that is `always` there needs none. Any other is in a page where a line has a
 * number for it. Columns that are `off` are not shown at first, those that are `large` only
 * where they matter. `text` is by default `show` of the number, a time; `cell` is shown in
 * place of it. Calls below a line have the columns `ofCalls`, too.
 */
const LINE_COLUMNS = [
  { name: "run", title: "% run", tip: "share of the line's own time in the run; below a line: share of the calls' time", text: (l) => ofRun(l.run), width: 112, narrow: 54, always: true, ofCalls: true },
  { name: "share", title: "% func", tip: "share of the line's time in that of all lines of its function", text: (l) => percent(l.time, l.whole), off: true, always: true },
  { name: "cost", title: "Time × Hits", tip: "time of the line with all that it called, and how often it was executed", width: 152, always: true, ofCalls: true, isBoth: true },
  { name: "hits", title: "Hits", tip: "times that the line was executed", show: count, off: true, always: true, ofCalls: true },
  { name: "time", title: "Time", tip: "time of the line with all that it called", text: (l) => time(l.time), width: 70, off: true, always: true, ofCalls: true },
  { name: "each", title: "Per hit", tip: "time of one execution", text: (l) => (l.hits ? time(l.time / l.hits) : ""), width: 70, off: true, always: true, ofCalls: true },
  { name: "self", title: "Own", tip: "time of the line itself, without profiled functions that it called", width: 70, off: true, needs: "hasCalls", ofCalls: true },
  { name: "ownWait", title: "Wait", tip: "own time off the processor: I/O, locks, sleep, the GIL; an upper bound where callees waited too", width: 70, large: true },
  { name: "await", title: "Await", tip: "time suspended in an await, not in Time", width: 70, large: true },
  { name: "mpi", title: "MPI", tip: "time in collectives and messages", width: 70, large: true },
  { name: "gpu", title: "GPU", tip: "time of kernels, memsets and graphs that the line launched, with its callees", width: 70, ofCalls: true },
  { name: "kernels", title: "Kernels", tip: "kernels that were launched", show: count, width: 64, off: true },
  { name: "copy", title: "Copies", tip: "time of copies between host and device", width: 70, large: true },
  { name: "copyBytes", title: "Copied", tip: "bytes that were copied", show: size, width: 70, off: true },
  { name: "gpuPeak", title: "GPU peak", tip: "memory of devices that the line allocated, with its callees, and that was live when the device had most", show: size, width: 76 },
  { name: "gpuLive", title: "GPU live", tip: "the part that was live at the end", show: size, width: 76, off: true },
  { name: "allocBytes", title: "GPU alloc", tip: "memory of devices that was allocated", show: size, width: 76, off: true },
  { name: "freeBytes", title: "GPU freed", tip: "memory of devices that the line freed, whoever had allocated it", show: size, width: 76, off: true },
  { name: "sync", title: "GPU wait", tip: "time in which the device blocked the line", width: 76, large: true },
  { name: "load", title: "GPU load", tip: "time of calls that loaded the code of kernels or created a context, mostly the first ones of a process", width: 76, large: true },
  { name: "min", title: "Min", tip: "shortest execution", text: (l) => (l.min >= 0 ? time(l.min) : ""), width: 70, off: true },
  { name: "max", title: "Max", tip: "longest execution", text: (l) => (l.max >= 0 ? time(l.max) : ""), width: 70, off: true },
  { name: "python", title: "Python", tip: "own time in the interpreter", width: 70, off: true },
  { name: "native", title: "Native", tip: "own time in compiled code", width: 70, off: true },
  { name: "system", title: "System", tip: "own time in the kernel of the operating system", width: 70, off: true },
  ...HOST_NUMBERS.flatMap((one) => [
    { ...one, name: `${one.name}Own`, title: `Own ${one.title.toLowerCase()}`, tip: `${one.tip}, of the line itself`, ...(LANES.includes(`${one.name}Own`) ? { width: 124, narrow: 70 } : { width: 84 }), off: true },
    { ...one, tip: `${one.tip}, of the line and all that it called`, width: 84, off: true },
  ]),
  { name: "over", title: "Over the run", tip: "when the line ran: its time, callees included, from the start of the run to its end", width: 116, needs: "hasSlices", isBoth: true },
].map((one) => ({ text: (l) => unlessZero(one.show ?? time)(l[one.name]), width: 66, ...one }));

/** Numbers of a line itself, those that need others, and those with all that it called. */
const OWN = ["self", "ownWait", "gpuOwn", "python", "native", "system", ...HOST_NUMBERS.map(({ name }) => `${name}Own`)];
const COMPUTED = ["run", "share", "cost", "each", "min", "max", "over"];
const INCLUSIVE = LINE_COLUMNS.map(({ name }) => name).filter((name) => !OWN.includes(name) && !COMPUTED.includes(name));

/** Columns that narrow windows leave out, the first one first. */
const LESS_NEEDED = ["over", "load", "gpuPeak", "sync", "copy", "await", "mpi", "ownWait"];

/**
 * Return the numbers of one line of a file. If functions share it, such as one and a
 * lambda in it, the outer one's time has that of the inner one, unless this was called from
 * elsewhere: it counts once.
 */
function lineNumbers(indexes) {
  const { lines } = data;
  const functions = indexes.map((index) => lines.function[index]);
  const isInner = (f) => functions.some((other) => encloses(other, f)) && !isCalledElsewhere(f, lines.line[indexes[0]], functions);
  const outer = indexes.length < 2 ? indexes : indexes.filter((_, i) => !isInner(functions[i]));
  const found = { indexes, outer, functions, whole: 0, min: NONE, max: NONE };
  for (const name of OWN) found[name] = sum(indexes.map((index) => lines[name]?.[index] ?? 0));
  for (const name of INCLUSIVE) found[name] = sum(outer.map((index) => lines[name]?.[index] ?? 0));
  for (const index of outer) {
    found.whole += linesTotal(lines.function[index]);
    const [low, high] = [lines.min?.[index] ?? NONE, lines.max?.[index] ?? NONE];
    if (low >= 0) found.min = found.min < 0 ? low : Math.min(found.min, low);
    found.max = Math.max(found.max, high);
  }
  found.run = found.self;
  return found;
}

/** The numbers of each measured line of a file, which are computed when they are asked for. */
class FileNumbers {
  constructor(file) {
    this.indexes = data.linesOfFile[file];
    this.known = new Map();
  }

  get size() {
    return this.indexes.size;
  }

  keys() {
    return this.indexes.keys();
  }

  get(line) {
    const indexes = this.indexes.get(line);
    if (indexes && !this.known.has(line)) this.known.set(line, lineNumbers(indexes));
    return this.known.get(line);
  }

  *[Symbol.iterator]() {
    for (const line of this.keys()) yield [line, this.get(line)];
  }

  *values() {
    for (const line of this.keys()) yield this.get(line);
  }
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
  return heatOf(numbers.indexes);
}

/** Return the cost of measured lines that are one line of a file. */
function heatOf(indexes) {
  const { self, gpuOwn } = data.lines;
  const most = maxima();
  let [ns, gpu] = [0, 0];
  for (const index of indexes) {
    ns += self[index];
    gpu += gpuOwn?.[index] ?? 0;
  }
  return Math.min(1, Math.max(ns / most.self, gpu / most.gpu));
}

/** Return the most own time and GPU time of a line (ns), and of a function, and the most bytes of a line. */
function maxima() {
  data.maxima ??= {
    self: maximum(data.lines.self),
    gpu: maximum(column(data.lines, "gpuOwn")),
    ofFunctions: maximum(data.functions.self),
    ...Object.fromEntries(LANES.map((name) => [name, maximum(column(data.lines, name))])),
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

/** Return [the number of calls of a function in words]; [] if the profile counts no calls. */
function callsOf(f) {
  const { calls } = data.functions;
  return calls[f] || data.hasCalls ? [counted(calls[f], "call")] : [];
}

/** Return calls in the order of their time, as indexes of `edges`. */
function byTime(calls) {
  return descending(calls, data.edges.inclusive);
}

/** Return the address of the line from which a call was made. */
function callAddress(edge) {
  return lineAddress(data.functions.file[data.edges.caller[edge]], data.edges.line[edge]);
}
