// The summary of a program: where its time went, the line, the function and the call with
// the most of it, its calls with libraries folded, and the first advice.

const FIRST_ROWS = 14; // of the calls that are open at first
const MIN_OPEN = 0.01; // of the run: calls with less are behind a row "more" at first
const MIN_MORE = 0.003; // of the run: the least time of such a row

/** The part of a run, by its name, and where it leads. */
const PART_ADDRESSES = {
  lines_ns: address("lines"),
  imports_ns: address("lines", "", "import"),
  waits_ns: address("lines", "Wait"),
  ready_ns: address("lines", "Wait"),
  gpu_ns: address("gpu"),
  rest_ns: address("run"),
  measuring_ns: address("run"),
};

/** The tab Summary. */
class SummaryView {
  /** Return the calls in Markdown; "" if the profile has none. */
  markdown() {
    return this.body && htmlTableMarkdown(`${titleMarkdown("Calls")}: ${inline(data.summary.sentence)}`, this.body.parentElement);
  }

  make(panel) {
    append(panel, [
      h("h2", { class: "sentence" }, visible(data.summary.sentence)),
      this.runBar(),
      data.memory && h("p", { class: "sentence" }, peakSentence(memoryProcesses()[0])),
      data.gpu?.memory.length > 0 && h("p", { class: "sentence" }, visible(data.gpu.memory[0])),
      h("div", { class: "cards" }, this.hottestLine(), this.hottestFunction(), this.dearestCall()),
      h("div", { class: "cards wide" }, data.hasCalls && this.calls(), this.advice()),
    ]);
  }

  /** The parts of the run as one bar, and its legend. */
  runBar() {
    const { ns, measuring, parts } = data.run;
    const whole = sum(parts.map(([, , part]) => part));
    const segments = parts.map(([name, words, part]) => {
      const segment = h("a", { href: PART_ADDRESSES[name], class: `part ${name}`, tabindex: -1, "aria-hidden": "true", title: `${words}: ${time(part)}` });
      segment.style.flexGrow = (part / whole).toFixed(5);
      return segment;
    });
    const items = parts.map(([name, words, part]) => link(PART_ADDRESSES[name],
      h("i", { class: `part ${name}`, "aria-hidden": "true" }), ` ${words} `, h("b", {}, time(part)),
      part === measuring && name === "measuring_ns" ? ", on top" : ` ${percent(part, ns)}`));
    return [h("div", { class: "run-bar", "aria-hidden": "true" }, segments), list(items, { class: "legend", "aria-label": "Parts of the run" })];
  }

  card(title, href, name, numbers, rest) {
    return h("section", { class: "card" },
      h("h3", {}, title),
      h("p", { class: "name" }, link(href, name)),
      h("p", {}, numbers.filter(Boolean).map(([label, text, target]) => h("span", { class: "fact" }, link(target, h("b", {}, text)), ` ${label}`))),
      rest);
  }

  /** Three lines of source around a line, without the indentation that they share. */
  source(file, line) {
    const near = [line - 1, line, line + 1].filter((one) => textLines(file)[one - 1] !== undefined);
    const texts = near.map((one) => textLines(file)[one - 1].slice(0, LONGEST));
    const indents = texts.filter((text) => text.trim()).map((text) => text.search(/\S/));
    const shared = indents.length ? Math.min(...indents) : 0;
    const rows = near.map((one, index) =>
      h("div", { class: one === line ? "at" : "" }, link(lineAddress(file, one), String(one)), pythonSpans(texts[index].slice(shared), "")));
    return rows.length ? h("div", { class: "excerpt", tabindex: 0, role: "group", "aria-label": `Source of line ${line}` }, rows) : null;
  }

  hottestLine() {
    const [i] = hotLines();
    if (i === undefined) return null;
    const { lines } = data;
    const [file, line, f] = [lineFile(i), lines.line[i], lines.function[i]];
    const here = measuredAddress(i);
    const [gpu, wait] = [column(lines, "gpuOwn")[i], column(lines, "ownWait")[i]];
    return this.card("Hottest line", here, placeName(file, line), [
      [`own time, ${ofRun(lines.self[i])} of the run`, time(lines.self[i]), address("lines")],
      wait > 0.1 * lines.self[i] && ["of its own time waiting", time(wait), address("lines", "Wait")],
      gpu && [`on GPUs, ${percent(gpu, data.gpuTotal)}`, time(gpu), address("lines", "GPU")],
      [lines.hits[i] === 1 ? "hit" : "hits", count(lines.hits[i]), here],
    ], [h("p", {}, "in ", functionLink(f)), this.source(file, line)]);
  }

  hottestFunction() {
    const { functions, lines } = data;
    const [f] = descending(functions.name.keys(), functions.self);
    if (f === undefined || !functions.self[f]) return null;
    const places = [];
    for (let i = functions.first[f]; i < functions.first[f + 1]; i++) places.push(i);
    const hottest = descending(places, lines.self).slice(0, 3).filter((i) => lines.self[i]);
    return this.card("Hottest function", functionAddress(f), functionName(f), [
      [`own time, ${ofRun(functions.self[f])} of the run`, time(functions.self[f]), address("functions", functions.name[f])],
      data.hasCalls && ["with callees", time(functions.total[f]), address("flame", f)],
      [functions.calls[f] === 1 ? "call" : "calls", count(functions.calls[f]), functionAddress(f)],
    ], [h("p", { class: "dim" }, functionPlace(f)), list(hottest.map((i) => [link(measuredAddress(i), time(lines.self[i])), " ", code(`${lines.line[i]}: ${sourceLine(lineFile(i), lines.line[i])}`)]), { class: "plain" })]);
  }

  /**
   * The call of the program's own code with the most time: down from the start, the longest
   * callee of each function, to where none has half of the time.
   */
  dearestCall() {
    const { calls } = data.summary;
    const { parent, line, function: fn, time: ns } = calls;
    const below = groups(parent, ns.length);
    let at = descending(parent.keys(), ns)[0];
    while (at !== undefined && below[at].length && !calls.folded[at]) {
      const isBranch = ns[below[at][0]] < ns[at] / 2;
      [at] = below[at]; // the longest is the first
      if (isBranch) break;
    }
    const place = at === undefined ? null : this.site(at);
    if (!place) return null;
    return this.card("Most expensive call of your code", lineAddress(...place), placeName(...place), [
      [`with callees, ${ofRun(ns[at])} of the run`, time(ns[at]), lineAddress(...place)],
      [calls.calls[at] === 1 ? "call" : "calls", count(calls.calls[at]), functionAddress(fn[at])],
    ], [h("p", {}, "calls ", functionLink(fn[at])), this.source(...place)]);
  }

  advice() {
    const { findings, first } = data.advice;
    const one = findings[first];
    if (!one) return null;
    const [f, line] = one.places[0];
    const place = placeOf(f, line);
    return h("section", { class: "card" },
      h("h3", {}, "First advice"),
      h("p", { class: "name" }, link(address("advice"), one.kind), place && [" at ", lineLink(...place)]),
      h("p", {}, visible(one.measured)),
      h("p", { class: "dim" }, visible(one.advice)));
  }

  // The calls.

  calls() {
    const { calls, levels } = data.summary;
    this.below = groups(calls.parent, calls.time.length);
    this.roots = [...calls.parent.keys()].filter((i) => calls.parent[i] < 0);
    this.opened = new Set();
    this.all = new Set(); // those of which short callees are shown as well
    this.start = levels ? [data.summary.start] : this.roots;
    this.openFirst();
    this.body = h("tbody", {});
    const title = h("h3", {}, "Calls", levels ? `, from where they branch, ${counted(levels, "level")} down` : "");
    const above = levels ? h("button", { click: (event) => { event.target.remove(); title.textContent = "Calls"; this.start = this.roots; this.openFirst(); this.renderCalls(); } }, "From the start") : null;
    this.renderCalls();
    const head = [["Time", 2], ["% run", 1], ["Calls", 1], ["Function", 1]].map(([text, colspan]) => h("th", { scope: "col", colspan }, text));
    return h("section", { class: "card calls" }, h("div", { class: "tools" }, title, above, markdownButton(() => this.markdown())), data.deeper && h("p", { class: "dim" }, data.deeper),
      h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Calls" }, h("table", {}, h("thead", {}, h("tr", {}, head)), this.body)));
  }

  /** Return the place [file, line] from which a call was made; null if it is unknown. */
  site(call) {
    const { parent, line, function: fn } = data.summary.calls;
    return parent[call] >= 0 && line[call] ? placeOf(fn[parent[call]], line[call]) : null;
  }

  /** Open the calls with the most time, as many as fit. */
  openFirst() {
    const { time: ns } = data.summary.calls;
    let closed = [...this.start];
    for (let rows = closed.length; closed.length; ) {
      const [next] = descending(closed, ns);
      const more = this.shownBelow(next).length;
      closed = closed.filter((one) => one !== next);
      if (!more || (rows + more > FIRST_ROWS && rows > this.start.length)) continue;
      this.opened.add(next);
      rows += more;
      closed.push(...this.shownBelow(next));
    }
  }

  shownBelow(call) {
    const { time: ns } = data.summary.calls;
    return this.below[call].filter((one) => this.all.has(call) || ns[one] >= MIN_OPEN * data.run.ns);
  }

  renderCalls() {
    const rows = [];
    const todo = this.start.map((call) => [call, 0]).reverse();
    while (todo.length) {
      const [call, depth] = todo.pop();
      if (call < 0) {
        rows.push(this.moreRow(-1 - call, depth));
        continue;
      }
      rows.push(this.callRow(call, depth));
      if (!this.opened.has(call)) continue;
      const shown = this.shownBelow(call);
      if (!shown.length || this.timeOfMore(call) >= MIN_MORE * data.run.ns) todo.push([-1 - call, depth + 1]);
      todo.push(...shown.map((one) => [one, depth + 1]).reverse());
    }
    this.body.replaceChildren(...rows);
  }

  callRow(call, depth) {
    const { calls } = data.summary;
    const { line, function: fn, time: ns } = calls;
    const isOpen = this.opened.has(call);
    const place = this.site(call);
    const toggle = this.below[call].length
      ? h("button", { class: "fold", "aria-expanded": String(isOpen), "aria-label": `Callees of ${functionName(fn[call])}`, click: () => this.toggle(call) }, isOpen ? "\u25be" : "\u25b8")
      : h("span", { class: "fold" });
    const folded = calls.folded[call];
    const name = h("td", { class: "left" }, toggle,
      place && [lineLink(...place, `:${line[call]}`), " "], functionLink(fn[call]),
      h("span", { class: "dim" }, folded ? ` ${counted(folded, "more function")} of ${visible(calls.library[call])}` : ` ${functionPlace(fn[call])}`));
    const target = place ? lineAddress(...place) : functionAddress(fn[call]);
    return this.tableRow(ns[call], link(target, time(ns[call])), count(calls.calls[call]), name, depth);
  }

  /** Return the time (ns) of the callees that are not shown. */
  timeOfMore(call) {
    const { time: ns, self } = data.summary.calls;
    return ns[call] - self[call] - sum(this.shownBelow(call).map((one) => ns[one]));
  }

  /** The row that stands for short callees; a click shows those that the page has. */
  moreRow(call, depth) {
    const { more } = data.summary.calls;
    const hidden = this.below[call].length - this.shownBelow(call).length;
    const words = counted(hidden + more[call], "more call");
    const ns = this.timeOfMore(call);
    const show = () => {
      this.all.add(call);
      this.renderCalls();
    };
    const cell = h("td", { class: "left dim" }, h("span", { class: "fold" }), hidden ? h("button", { class: "more", click: show }, words) : words);
    return this.tableRow(ns, h("span", {}, time(ns)), "", cell, depth);
  }

  tableRow(ns, timeOf, calls, name, depth) {
    name.style.paddingLeft = `${Math.min(depth, 16) * 14}px`;
    return h("tr", {}, h("td", {}, timeOf), h("td", {}, bar(ns / data.run.ns, "heat")), h("td", {}, ofRun(ns)), h("td", {}, calls), name);
  }

  toggle(call) {
    if (!this.opened.delete(call)) this.opened.add(call);
    const rows = [...this.body.querySelectorAll(".fold")];
    const at = rows.indexOf(document.activeElement);
    this.renderCalls();
    this.body.querySelectorAll(".fold")[at]?.focus();
  }
}
