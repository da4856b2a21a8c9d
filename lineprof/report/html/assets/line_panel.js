// The panel of the selected line: all its numbers, its callees and callers, what it waited
// for and what it launched.

const MOST_LISTED = 30; // items of a list beside the source

const WAIT_CAUSES = {
  gil: "for the interpreter's lock",
  lock: "for locks",
  sleep: "asleep",
  io: "for input and output",
  ready: "for a free processor",
  other: "for something else",
};

/** Return a list below its title, `item(one)` of each of `all`; [] if there is none. */
function listed(title, all, item) {
  return all.length ? [h("h3", {}, title), list(all.map(item))] : [];
}

/** Return the beginning of an item: the time of all calls, and their number. */
function times(ns, calls) {
  return [h("b", {}, time(ns)), ` ${count(calls)} \u00d7 `];
}

/** The element of the panel, and what it shows. */
class LinePanel {
  title = h("h2", { "aria-live": "polite" });
  body = h("div", { class: "numbers-of-line", "aria-live": "polite" });
  opens = h("button", { title: "Open the line in an editor (e)", click: () => openChosen() });
  // Beside what is read aloud for each line.
  actions = h("div", { class: "actions", role: "group", "aria-label": "Copy and open" },
    h("button", { title: "Copy a link to this line (y)", click: copyLink }, "Copy link"),
    h("button", { title: "Copy the path of the file and the number of the line", click: () => copyPlace() }, "Copy place"),
    h("button", { title: "Copy the function with its numbers for an issue or a comment (m)", click: copyMarkdown }, "Copy function"),
    h("button", { title: "Copy the callees and callers of this line as tables of Markdown", click: () => this.copyCalls() }, "Copy calls"),
    this.opens,
    h("button", { title: "Choose an editor", click: () => openChosen(true) }, "Editor \u2026"));
  element = h("aside", { class: "detail", tabindex: 0, "aria-label": "Selected line" }, h("div", { class: "line-head" }, this.title, this.actions), this.body);

  constructor() {
    onEditor.push(() => this.nameEditor());
    this.nameEditor();
  }

  nameEditor() {
    this.opens.textContent = `Open in ${editorName()}`;
  }

  /** Show a line of a file, of which `view` knows the calls. */
  show(view, line) {
    const { file } = view;
    const numbers = view.numbers.get(line);
    this.opens.hidden = pathProblem(data.files.path[file]) !== "";
    this.place = placeName(file, line);
    this.calls = view.callsFrom.get(line) ?? [];
    this.functions = [...new Set([...(numbers?.functions ?? []), ...(view.starts.get(line) ?? [])])];
    this.title.textContent = this.place;
    const parts = [[h("p", { class: "text" }, sourceLine(file, line))]];
    if (numbers) {
      const rows = view.known
        .filter((one) => !one.isBoth && !one.isMemory && one.text(numbers))
        .map((one) => h("div", { title: one.tip }, h("dt", {}, one.title), h("dd", {}, one.text(numbers))));
      parts[0].push(h("dl", { class: "numbers" }, rows));
      parts.push(this.whenRun(view, numbers), this.inner(numbers), this.waits(numbers), this.work(line, numbers), data.memory ? memoryOfLine(line, numbers) : []);
    } else parts[0].push(h("p", { class: "dim" }, "This line was not executed under the profiler, or is part of another statement."));
    parts.push(this.callees(this.calls), ...this.functions.map((f) => this.callers(f)));
    this.body.replaceChildren(...parts.filter((one) => one.length).map((one) => h("section", {}, one)));
  }

  /** The drawing of when a line ran, and what it says. */
  whenRun(view, numbers) {
    const drawing = view.overTime(numbers);
    return drawing ? [h("h3", {}, "Over the run"), drawing, h("p", { class: "dim" }, drawing.getAttribute("aria-label"))] : [];
  }

  /** The functions inside this line, whose time is part of its own numbers. */
  inner({ indexes, outer }) {
    const { lines } = data;
    const inside = indexes.filter((index) => !outer.includes(index));
    return listed("Functions inside this line", inside.slice(0, MOST_LISTED), (i) =>
      [h("b", {}, time(lines.time[i])), ` ${counted(lines.hits[i], "hit")} in ${functionName(lines.function[i])}`]);
  }

  waits(numbers) {
    const rows = Object.entries(WAIT_CAUSES).map(([cause, words]) => {
      const times = data.lines[`wait:${cause}`];
      return [words, times ? sum(numbers.outer.map((i) => times[i])) : 0];
    });
    const found = rows.filter(([, ns]) => ns).sort((a, b) => b[1] - a[1]);
    return listed("Waiting, callees included", found, ([words, ns]) => `${time(ns)} ${words}`);
  }

  /** The work on GPUs that the line itself launched, by name. */
  work(line, numbers) {
    if (!data.gpu) return [];
    const { sums } = data.gpu;
    const own = [...sums.ns.keys()].filter((i) => sums.line[i] === line && numbers.functions.includes(sums.function[i]));
    const found = descending(own, sums.ns);
    const more = found.length - 12;
    return [
      ...listed("On GPUs and in CUDA, from this line itself", found.slice(0, 12), (i) => [...times(sums.ns[i], sums.count[i]), code(visible(sums.name[i]))]),
      more > 0 ? h("p", { class: "dim" }, `${more} more`) : "",
    ].filter(Boolean);
  }

  /** Copy all callees of the line, and all callers of its functions. */
  copyCalls() {
    const { edges, functions } = data;
    const columns = ["Time", "Calls", "Line", "Function"].map((title, at) => ({ title, left: at > 1 }));
    const placeOfCall = (edge) => (placeOf(edges.caller[edge]) ? placeName(...placeOf(edges.caller[edge], edges.line[edge])) : "");
    const table = (title, calls, ends) => (room) => calls.length && tableMarkdown(title, columns, calls.length, (at) => {
      const edge = calls[at];
      return [time(edges.inclusive[edge]), count(edges.calls[edge]), codeSpan(placeOfCall(edge)), codeSpan(functionName(ends[edge]))];
    }, room);
    const text = tablesMarkdown([
      table(titleMarkdown("Calls", `, from ${codeSpan(this.place)}`), byTime(this.calls), edges.callee),
      ...this.functions.map((f) => table(titleMarkdown("Callers", `, function ${codeSpan(functionName(f))}`), byTime(functions.calledFrom[f]), edges.caller)),
    ]);
    if (text) copyText(text, "the calls as Markdown");
    else announce("No call of this line is known.");
  }

  callees(calls) {
    const { edges } = data;
    return listed("Calls", byTime(calls).slice(0, MOST_LISTED), (edge) => [...times(edges.inclusive[edge], edges.calls[edge]), functionLink(edges.callee[edge])]);
  }

  callers(f) {
    const { edges, functions } = data;
    const items = byTime(functions.calledFrom[f]).slice(0, MOST_LISTED).map((edge) => {
      const caller = edges.caller[edge];
      const place = caller >= 0 ? lineLink(functions.file[caller], edges.line[edge]) : "";
      return [...times(edges.inclusive[edge], edges.calls[edge]), place, " ", caller < 0 ? functionName(caller) : h("span", { class: "dim" }, functionName(caller))];
    });
    return [
      h("h3", {}, ending(functionName(f)), `: ${[time(functions.total[f]), ...callsOf(f)].join(" in ")}`),
      items.length ? list(items, { "aria-label": "Callers" }) : h("p", { class: "dim" }, data.hasCalls ? "The callers of this function are not known." : "The profile does not say who called whom."),
    ];
  }
}
