// The functions of the program beside the source.

/** The functions, those with the most own time first: one tab stop, arrow keys move in it. */
class Outline {
  constructor(view) {
    this.view = view;
    this.at = 0; // index of the row that takes the focus
    const { functions } = data;
    const gpu = column(functions, "gpu");
    this.all = [...functions.name.keys()]
      .filter((f) => functions.file[f] >= 0)
      .sort((a, b) => functions.self[b] - functions.self[a] || gpu[b] - gpu[a]);
    this.list = this.all;
    this.scroller = h("div", { class: "list", role: "table", "aria-label": "Functions by own time", keydown: (event) => this.key(event) });
    this.rows = new Rows(this.scroller, (index) => this.row(index), { height: LINK_ROW });
    this.input = searchInput("Search functions and files", {
      placeholder: "Functions and files (f)",
      input: () => {
        const wanted = this.input.value.toLowerCase();
        this.list = this.all.filter((f) => `${functionName(f)} ${functionPlace(f)}`.toLowerCase().includes(wanted));
        this.at = 0;
        this.scroller.scrollTop = 0;
        this.rows.reset(this.list.length);
      },
      keydown: (event) => {
        if (event.key === "Enter" && this.list.length) go(this.address(this.list[0]));
        else if (event.key === "ArrowDown" && this.list.length) this.move(0);
        else if (event.key === "Escape") view.scroller.focus();
      },
    });
    const bytes = firstLane();
    this.element = h("aside", { class: bytes ? "outline with-memory" : "outline", "aria-label": "Functions" },
      this.input,
      h("div", { class: "titles dim" }, h("span", {}, "Function"), bytes && h("span", {}, bytes === LANES[0] ? "Own peak" : "Own alloc"), h("span", {}, ownTitle())),
      this.scroller);
    requestAnimationFrame(() => this.rows.reset(this.list.length));
  }

  row(index) {
    const f = this.list[index];
    const { functions } = data;
    const bytes = firstLane();
    const link = h("a", {
      class: f in data.modules ? "module" : "",
      href: this.address(f),
      tabindex: index === this.at ? 0 : -1,
      title: `${functionName(f)}, ${functionPlace(f)}: own time ${time(functions.self[f])}`,
      focus: () => this.focused(index),
    }, h("bdi", { class: "name" }, h("bdi", { dir: "ltr" }, functionName(f))), bytes && h("span", { class: "dim" }, unlessZero(hostSize)(functions[bytes][f])), h("span", {}, time(functions.self[f])));
    link.style.setProperty("--share", (functions.self[f] / maxima().ofFunctions).toFixed(3));
    return h("div", { class: f === this.here ? "row selected" : "row", role: "row" }, h("span", { role: "cell" }, link));
  }

  key(event) {
    const page = 15;
    const last = this.list.length - 1;
    const step = (by) => () => this.move(Math.max(0, Math.min(last, this.at + by)));
    if (isModified(event)) return;
    act(event, {
      ArrowDown: step(1),
      ArrowUp: step(-1),
      PageDown: step(page),
      PageUp: step(-page),
      Home: () => this.move(0),
      End: () => this.move(last),
      Escape: () => this.view.scroller.focus(),
    });
  }

  /** Give a row the focus. */
  move(index) {
    this.focused(index);
    this.rows.reveal(index);
    this.link(index)?.focus({ preventScroll: true });
  }

  /** Make a row the one to which the Tab key leads. */
  focused(index) {
    const old = this.link(this.at);
    if (old) old.tabIndex = -1;
    this.at = index;
    const link = this.link(index);
    if (link) link.tabIndex = 0;
  }

  link(index) {
    return this.rows.shown.get(index)?.querySelector("a");
  }

  /** Return the address of the hottest line of a function. */
  address(f) {
    const { functions, lines } = data;
    let best = functions.first[f];
    for (let i = best; i < functions.first[f + 1]; i++) if (lines.self[i] > lines.self[best]) best = i;
    return best < functions.first[f + 1] ? lineAddress(functions.file[f], lines.line[best]) : functionAddress(f);
  }

  /** Mark the function of a line; undefined if there is none. */
  mark(f) {
    if (f === this.here) return;
    const old = this.here;
    this.here = f;
    for (const one of [old, f]) this.rows.refresh(this.list.indexOf(one));
  }
}
