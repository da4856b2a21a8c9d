// The flame graph of a comparison: the call paths of both sides, coloured by the change of
// own time.

const CHANGE_STEPS = [0.01, 0.05]; // shares of the program's time where a stronger colour begins
const FASTER = ["faster-1", "faster-2", "faster-3"]; // names of colours, by step
const SLOWER = ["heat-1", "heat-2", "heat-4"];

/**
 * Return the call paths as wide as their time "after", "before", or as that of those which
 * are "gone".
 */
function changedPaths(width) {
  const { paths } = data.flame;
  const { parent, calls0, calls1, self0, self1 } = paths;
  const gone = self0.map((ns, i) => (calls1[i] || self1[i] ? 0 : ns));
  const own = { after: self1, before: self0, gone }[width];
  const [before, after] = [sumsOfPaths(parent, self0), sumsOfPaths(parent, self1)];
  return new CallPaths(paths, { total: sumsOfPaths(parent, own), before, after, calls0, calls1 }, { self0, self1 });
}

/** The tab Flame graph of a comparison. */
class ChangedPathsView extends FlameTab {
  width = "after";
  hasLines = true;

  make(panel) {
    const widths = [
      ["after", "After", "frames are as wide as their time after the change"],
      ["before", "Before", "frames are as wide as their time before the change"],
      ["gone", "Gone", "call paths that no run after the change has, and their time before"],
    ];
    this.makeFlame(panel, [choiceButtons(this.width, widths, (width) => this.update({ width })), this.linesButton()]);
    this.whole = Math.max(data.own.before, data.own.after);
    this.build();
  }

  build() {
    this.chart.replaceChildren(this.main.scroller);
    this.main.set(new Frames(changedPaths(this.width), { hasLines: this.hasLines, heavy: true }));
    const [few, many] = CHANGE_STEPS.map((share) => 100 * share);
    const words = { after: "after", before: "before", gone: "before, in call paths that are gone" };
    const texts = [`\u2265${many}`, `\u2265${few}`];
    const steps = [...[...FASTER].reverse().map((kind, i) => [kind, texts[i] ?? "faster"]), ["cold", "within noise"], ...SLOWER.map((kind, i) => [kind, texts[2 - i] ?? "slower"])];
    const keys = [colourKey("Change of own time, % of the program", steps), this.keyOfLines()];
    this.fillKey(keys, words[this.width], "A click zooms, a double click shows both sources");
  }

  // Frames.

  label({ fn, line }, node) {
    if (line[node]) return this.lineText(line[node] - 1);
    return visible(data.flame.functions.name[fn[node]] ?? "deeper calls");
  }

  /** Return the number and the text of a line on the side that is shown, if it is there. */
  lineText(at) {
    const { before, after, text0, text1 } = data.flame.lines;
    const isAfter = after[at] && (this.width === "after" || !before[at]);
    return `${isAfter ? after[at] : before[at]}: ${visible((isAfter ? text1[at] : text0[at] || text1[at]) || "?")}`;
  }

  kind({ fn, line }, node) {
    if (line[node]) return "line-frame";
    const { before, after, changed } = data.flame.functions;
    if (!changed[fn[node]]) return "cold";
    const change = after[fn[node]] - before[fn[node]];
    const step = CHANGE_STEPS.filter((one) => Math.abs(change) >= one * this.whole).length;
    return (change > 0 ? SLOWER : FASTER)[step];
  }

  /** Return a time before and after. */
  both(before, after) {
    return `${time(before)} \u2192 ${time(after)} (${signed(after - before)})`;
  }

  numbers(frames, node) {
    const { before, after, calls0, calls1, self0, self1, line, fn } = frames;
    const { functions, lines } = data.flame;
    const isLine = line[node] > 0;
    const f = isLine ? NONE : fn[node];
    const at = line[node] - 1;
    const fate = !calls1[node] && !after[node] ? "gone" : !calls0[node] && !before[node] ? "new" : "";
    return [
      fate && ["Call path", fate],
      isLine && lines.before[at] !== lines.after[at] && ["Line", `${lines.before[at] || "added"} \u2192 ${lines.after[at] || "removed"}`],
      ["Time", this.both(before[node], after[node])],
      !isLine && ["Own", this.both(self0[node], self1[node])],
      f >= 0 && ["Own, all paths", this.both(functions.before[f], functions.after[f])],
      f >= 0 && ["Verdict", visible([functions.verdict[f], functions.note[f]].filter(Boolean).join(", ")) || "within noise"],
      ["Calls", calls0[node] === calls1[node] ? count(calls0[node]) : `${count(calls0[node])} \u2192 ${count(calls1[node])}`],
    ].filter(Boolean);
  }

  place({ fn, line }, node) {
    const { functions } = data.flame;
    const f = fn[node];
    return f < 0 ? "" : visible(line[node] ? `in ${functions.name[f]}` : functions.place[f]);
  }

  siteRow(frames, node) {
    const at = frames.callSite(node)?.[1] - 1;
    return at >= 0 && ["Called at", code(this.lineText(at))];
  }

  /** Return the address of the source of a frame, before and after; undefined if it did not change. */
  addressOf({ fn, line }, node) {
    const { functions, lines } = data.flame;
    const source = functions.source[fn[node]] ?? NONE;
    const at = line[node] - 1;
    return source >= 0 ? address("sides", source, ...(at >= 0 ? [lines.before[at], lines.after[at]] : [])) : undefined;
  }
}
