// The calls below a line of the source: its callees, below these what they call in turn.
// Numbers are those of this chain of calls alone, summed over all call paths to the line.

const MOST_CALLEES = 30; // rows below one line or one call

/**
 * Return the call paths of the profile, with the time of each, `inclusive`, that without calls
 * while another one of the function was open, `once`, and those `into` each function.
 */
function pathsOfFunctions() {
  if (!data.callPaths) {
    const { tree } = data;
    const [recursive, repeated] = ["recursive", "repeated"].map((name) => column(tree, name));
    const inclusive = sumsOfPaths(tree.parent, tree.self).map((ns, i) => ns + recursive[i]);
    data.callPaths = Object.assign(new CallPaths(tree, {}, {}), {
      calls: tree.calls,
      self: tree.self,
      inclusive,
      once: inclusive.map((ns, i) => ns - repeated[i]),
      into: groups(tree.function, data.functions.count),
    });
  }
  return data.callPaths;
}

/** Return whether a call path is that of a call from line `at` of one of `callers`, or below one. */
function isFromLine(path, at, callers) {
  const { parent, line, fn } = pathsOfFunctions();
  for (let one = path; parent[one] >= 0; one = parent[one]) {
    if (line[one] === at && callers.includes(fn[parent[one]])) return true;
  }
  return false;
}

/** Return whether no known call of `f` is from line `at` of other `functions`, nor below such a call. */
function isCalledElsewhere(f, at, functions) {
  const { into } = pathsOfFunctions();
  const others = functions.filter((other) => other !== f);
  return data.hasCalls && into[f].length > 0 && !into[f].some((path) => isFromLine(path, at, others));
}

/** All calls of one function from one line, by one chain of calls; one row of the source. */
class Callee {
  /**
   * `above` is the call further out, or undefined; `at` the number of the line in the
   * source where the chain begins. `paths` are the call paths that end with these calls;
   * `hits`, `time` and `run`, in which recursion counts once, have those whose paths were
   * not kept as well: above the limit of call paths, only sums are known.
   */
  constructor({ above, at, line, f, paths, gpu, hits, time, run }) {
    Object.assign(this, { above, at, line, f, paths, gpu });
    this.depth = above ? above.depth + 1 : 1;
    this.open = false;
    const { calls, inclusive, once, self } = pathsOfFunctions();
    const total = (numbers) => sum(paths.map((path) => numbers[path]));
    this.hits = hits ?? total(calls);
    this.time = time ?? total(inclusive);
    this.run = run ?? total(once);
    this.self = total(self);
    this.lost = { time: this.time - total(inclusive), run: this.run - total(once) };
    this.recurses = this.run < this.time;
  }

  /** Return the calls by this one, the longest first; they are made once. */
  get below() {
    this.made ??= shortened(this.callees(), this);
    return this.made;
  }

  callees() {
    const tree = pathsOfFunctions();
    const { fn, line } = tree;
    const found = new Map();
    for (const path of this.paths) for (const child of tree.callees(path)) addTo(found, lineKey(fn[child], line[child]), child);
    return [...found.values()].map((paths) => new Callee({
      above: this,
      at: this.at,
      line: line[paths[0]],
      f: fn[paths[0]],
      paths,
    }));
  }
}

/** Return the longest of some calls, then the sums of the others and of lost ones. */
function shortened(callees, above) {
  const found = callees.sort((a, b) => b.run - a.run || b.time - a.time || b.hits - a.hits);
  const rest = found.splice(MOST_CALLEES);
  const { at } = above;
  const note = (words, { time, run }) => found.push({ note: words, time, run, at, above, depth: above.depth + 1, below: [] });
  const total = (name) => sum(rest.map((one) => one[name]));
  if (rest.length) note(`${count(rest.length)} more callees`, { time: total("time"), run: total("run") });
  if (above.lost?.time) note("own time and callees by call paths that were not kept", above.lost);
  return found;
}

/**
 * Return the calls from a line, the longest first; `calls` are indexes of `edges`. Calls from
 * the line that are part of others from it, such as those by a lambda in it, count once.
 */
function calleesOf(at, calls) {
  const { caller, callee, inclusive, total, gpu } = data.edges;
  const tree = pathsOfFunctions();
  const callers = [...new Set(calls.map((one) => caller[one]))];
  const isPart = (path) => callers.length > 1 && isFromLine(tree.parent[path], at, callers);
  const byCallee = new Map();
  for (const one of calls) {
    const paths = tree.into[callee[one]].filter((path) => tree.line[path] === at && tree.fn[tree.parent[path]] === caller[one]);
    const outer = paths.filter((path) => !isPart(path));
    const part = { paths: outer, hits: data.edges.calls[one], time: inclusive[one], run: total[one], gpu: gpu?.[one] ?? 0 };
    if (outer.length < paths.length) {
      for (const [name, column] of [["hits", "calls"], ["time", "inclusive"], ["run", "once"]]) part[name] = sum(outer.map((path) => tree[column][path]));
    }
    if (outer.length || !paths.length) addTo(byCallee, callee[one], part);
  }
  const callees = [...byCallee].map(([f, parts]) => {
    const total = (name) => sum(parts.map((one) => one[name]));
    const paths = parts.flatMap((one) => one.paths);
    return new Callee({ at, line: at, f, paths, hits: total("hits"), time: total("time"), run: total("run"), gpu: total("gpu") });
  });
  return shortened(callees, { at, depth: 0 });
}

/** Return these calls, each followed by those below it if it is open. */
function openRows(callees) {
  return callees.flatMap((one) => [one, ...(one.open ? openRows(one.below) : [])]);
}
