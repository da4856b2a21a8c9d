// Lists of rows of which only those in sight are in the page, and sortable tables.

const ROW = 20; // pixels of a line of code; the style sheet has the same
const REST_MS = 150; // after which a scroll is over
const MOST_ON_PAPER = 1000; // rows of a table: some twenty pages
const LINK_ROW = 24; // pixels of a row with links, which fingers have to meet

/** Whether there is room for little, as on a phone. */
const NARROW = matchMedia("(max-width: 600px)");

const TABLE_KEYS = {
  title: "Tables",
  list: [
    ["ArrowDown ArrowUp", "next and previous row"],
    ["PageDown PageUp Home End", "scroll"],
    ["Enter", "go to the line of the row"],
  ],
};

/** Return the element of a table, which scrolls and takes keys. */
function tableElement(kind, label, keydown) {
  return h("div", { class: kind, role: "table", tabindex: 0, "aria-label": label, keydown });
}

/** Return a cell's content: a bar for a share (0 to 1), which begins where those above it do, and a text. */
function barCell(share, text, kind) {
  return [bar(share, kind), text];
}

/** Put a text, an element or an array of these into a cell, instead of what is there. */
function fillCell(cell, content) {
  const text = cell.firstChild;
  if (typeof content === "string" && text?.nodeType === Node.TEXT_NODE && !text.nextSibling) text.data = content;
  else {
    cell.replaceChildren();
    append(cell, [content]);
  }
}

/**
 * A list of many rows in a scrolling element; only those in sight are in the page.
 *
 * To scroll reads no size and moves no element: sizes are read when they change, and rows
 * that leave the sight are filled with those that come into it.
 */
class Rows {
  /**
   * `make(index)` returns the element of a row; `update(row, index)`, if any, turns a row
   * into another one. `click(index, event)` is called for a click on a row. All rows are
   * `height` pixels high.
   */
  constructor(scroller, make, { update, click, height = ROW } = {}) {
    this.scroller = scroller;
    this.make = make;
    this.change = update;
    this.height = height;
    this.count = 0;
    this.shown = new Map(); // the row of each index in sight
    this.body = h("div", { class: "rows", role: "rowgroup" });
    if (click) {
      this.body.addEventListener("click", (event) => {
        const row = event.target.closest(".rows > .row");
        if (row) click(Number(row.getAttribute("aria-rowindex")) - 2, event);
      });
    }
    // No style depends on :hover: rows pass below the pointer in a scroll, and reading the
    // place would then have their styles computed.
    this.body.addEventListener("mousemove", ({ target }) => this.point(target.closest(".rows > .row")));
    this.body.addEventListener("mouseleave", () => this.point(null));
    const head = scroller.querySelector(".head");
    scroller.append(this.body);
    this.update = inNextFrame(() => this.render());
    scroller.addEventListener("scroll", this.update, { passive: true });
    this.room = 0; // pixels of the scroller's height; 0 if it is hidden
    this.head = 0; // pixels above the first row
    const sizes = new ResizeObserver(() => this.measure());
    for (const one of [scroller, head]) if (one) sizes.observe(one);
    addEventListener("beforeprint", () => this.renderForPrint());
    addEventListener("afterprint", () => this.again());
  }

  /** Read the sizes, which costs a layout unless there was one; show what has room. */
  measure() {
    this.room = this.scroller.clientHeight;
    this.head = this.body.offsetTop;
    this.render();
  }

  /** Mark the row at the pointer; none if `row` is null. */
  point(row) {
    if (row === this.pointed) return;
    this.pointed?.classList.remove("pointed");
    row?.classList.add("pointed");
    this.pointed = row;
  }

  /** Show `count` new rows. */
  reset(count) {
    this.count = count;
    this.body.style.height = `${count * this.height}px`;
    this.again();
  }

  /** Drop all rows. */
  clear() {
    this.shown.clear();
    this.body.replaceChildren();
  }

  /** Make all rows in sight again. */
  again() {
    this.clear();
    this.render();
  }

  render() {
    if (!this.room) {
      // It was hidden, or has not been in the page for a frame.
      if (!this.scroller.clientHeight) return;
      this.measure();
      return;
    }
    const old = this.top;
    this.top = this.scroller.scrollTop;
    if (this.top !== old) this.point(null);
    const top = this.top - this.head;
    const first = Math.max(0, Math.floor(top / this.height) - 4);
    const last = Math.min(this.count, Math.ceil((top + this.room) / this.height) + 4);
    const { activeElement } = document;
    const spare = [];
    for (const [index, row] of this.shown) {
      if (index >= first && index < last) continue;
      this.shown.delete(index);
      // What has the focus is not to become something else.
      if (this.change && !row.contains(activeElement)) spare.push(row);
      else row.remove();
    }
    this.fill(first, last, spare);
    this.rendered?.();
    clearTimeout(this.waits);
    if (this.rests) this.sortRows();
    else this.waits = setTimeout(() => this.rest(), REST_MS);
  }

  /** Sort the rows after a scroll: in the next frame, which ends with a layout. */
  rest() {
    // An element that is moved loses the focus, and what is chosen of its text.
    const { isCollapsed, anchorNode } = getSelection();
    this.rests = !this.body.contains(isCollapsed ? document.activeElement : anchorNode);
    if (this.rests) this.update();
  }

  /** Bring the rows into their order, in which they are read aloud, chosen and copied. */
  sortRows() {
    this.rests = false;
    const rows = [...this.shown].sort(([one], [other]) => one - other).map(([, row]) => row);
    if (rows.some((row, at) => row !== this.body.children[at])) this.body.append(...rows);
  }

  /** Make those rows up to `last` that are not there yet, of `spare` ones if there are any. */
  fill(first, last, spare = []) {
    const made = [];
    for (let index = first; index < last; index++) {
      if (this.shown.has(index)) continue;
      const row = spare.pop();
      if (row) this.change(row, index);
      else made.push(this.make(index));
      this.put(row ?? made.at(-1), index);
    }
    for (const row of spare) row.remove();
    if (made.length) this.body.append(...made);
  }

  /** Let a row be that of an index. */
  put(row, index) {
    // The list is one stop of the Tab key: its own keys lead from row to row.
    for (const one of row.querySelectorAll("a:not([tabindex]), button:not([tabindex])")) one.tabIndex = -1;
    row.style.transform = `translateY(${index * this.height}px)`;
    row.setAttribute("aria-rowindex", index + 2);
    this.shown.set(index, row);
  }

  /** Put many rows into the page, which a printer needs. */
  renderForPrint() {
    if (!this.scroller.offsetParent) return;
    this.clear();
    this.fill(0, Math.min(this.count, MOST_ON_PAPER));
    const more = this.count - MOST_ON_PAPER;
    if (more > 0) this.body.append(h("p", { class: "dim" }, `\u22ef ${counted(more, "more row")}`));
  }

  /** Make a row again, if it is in sight. */
  refresh(index) {
    const old = this.shown.get(index);
    if (!old) return;
    if (this.change) {
      this.change(old, index);
      return;
    }
    const row = this.make(index);
    this.put(row, index);
    old.replaceWith(row);
  }

  /** Scroll so that a row is in sight, in the middle if it was not. */
  reveal(index) {
    const { scroller, height } = this;
    if (!this.room) this.measure();
    const top = index * height;
    const seen = scroller.scrollTop;
    const room = this.room - this.head;
    if (top < seen || top + height > seen + room) {
      scroller.scrollTop = Math.max(0, top - room / 2);
    }
    this.render();
  }
}

/**
 * A table that is sorted by a click on a title, searched and walked by keys.
 *
 * Each column has a `title`, a `value(row)` to sort by, and may have `show(value)` or
 * `text(row)`, the text or the element to show; `wide` columns share the room that is left.
 * On phones there are those with a number `phone` alone, in its order, if any has one;
 * those that are `onPhone` are nowhere else, those that are an `isDrawing` in no copy, and an `isName` is code there.
 * What is not an object in `columns` is passed over.
 */
class Table {
  constructor(columns, rows, options) {
    this.columns = columns.filter(Boolean);
    this.all = rows;
    this.options = options;
    this.order = options.sort ?? 0;
    this.up = false;
    this.filter = "";
    this.selected = NONE;
    this.element = tableElement("table", options.label, (event) => this.key(event));
    this.cells = this.columns.map((one, index) =>
      h("span", { role: "columnheader" },
        h("button", { class: one.left ? "left" : "", title: one.tip ?? "", click: () => this.sortBy(index) }, one.title)));
    this.titles = h("div", { class: "row", role: "row" });
    this.element.append(h("div", { class: "head", role: "rowgroup" }, this.titles));
    this.rows = new Rows(this.element, (index) => this.row(index), {
      update: (row, index) => this.update(row, index),
      click: (index, event) => {
        this.select(index);
        if (!event.target.closest("a")) this.open(this.list[index]);
      },
      height: LINK_ROW,
    });
    // A text that may be cut can be read at the pointer, if that moves: while rows are scrolled
    // below it, a new title would force the styles to be computed in each frame.
    this.element.addEventListener("mousemove", ({ target }) => {
      const cell = target.closest("[role=cell]");
      const title = cell?.textContent.length > 12 ? cell.textContent : "";
      if (cell && cell.title !== title) cell.title = title;
    });
    NARROW.addEventListener("change", () => this.choose());
    this.choose();
    this.sort();
  }

  /** Choose the columns that are shown. */
  choose() {
    const chosen = NARROW.matches ? this.columns.filter((one) => one.phone) : [];
    this.shown = chosen.length ? chosen.sort((one, other) => one.phone - other.phone) : this.columns.filter((one) => !one.onPhone);
    const width = ({ wide, width }) => (wide ? `minmax(${width ?? 160}px, ${wide}fr)` : `${width ?? 92}px`);
    const onPhone = ({ wide }) => (wide ? "minmax(0, 1fr)" : "96px");
    const widths = this.shown.map(chosen.length ? onPhone : width);
    this.element.style.setProperty("--columns", widths.join(" "));
    this.element.style.setProperty("--least", chosen.length ? 0 : `${sum(this.shown.map((one) => one.width ?? (one.wide ? 160 : 92)))}px`);
    this.titles.replaceChildren(...this.shown.map((one) => this.cells[this.columns.indexOf(one)]));
    this.rows.again();
  }

  /** Show the rows whose text has all words of `filter`. */
  search(filter) {
    this.filter = filter.toLowerCase();
    this.sort();
  }

  sortBy(index) {
    this.up = this.order === index ? !this.up : Boolean(this.columns[index].left);
    this.order = index;
    this.sort();
  }

  sort() {
    const { value } = this.columns[this.order];
    const words = this.filter.split(/\s+/).filter(Boolean);
    if (words.length) this.texts ??= this.all.map((row) => this.options.search(row).toLowerCase());
    const fits = (_, at) => words.every((word) => this.texts[at].includes(word));
    const found = words.length ? this.all.filter(fits) : [...this.all];
    const keys = new Map(found.map((row) => [row, value(row)]));
    const sign = this.up ? 1 : -1;
    found.sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      return a === b ? 0 : sign * (a < b ? -1 : 1);
    });
    this.list = found;
    this.cells.forEach((cell, index) => {
      const sorted = index === this.order;
      cell.setAttribute("aria-sort", sorted ? (this.up ? "ascending" : "descending") : "none");
    });
    this.element.setAttribute("aria-rowcount", found.length + 1);
    this.selected = NONE;
    this.element.scrollTop = 0;
    this.rows.reset(found.length);
    this.options.changed?.(this);
  }

  row(index) {
    const row = h("div", { class: "row", role: "row" }, this.shown.map((one) => h("span", { role: "cell", class: one.left ? "left" : "" })));
    this.update(row, index);
    return row;
  }

  /** Put the numbers of a row into an element. */
  update(row, index) {
    const item = this.list[index];
    row.classList.toggle("selected", index === this.selected);
    this.shown.forEach((one, at) => {
      fillCell(row.children[at], this.content(one, item));
    });
  }

  select(index) {
    const old = this.selected;
    this.selected = Math.max(0, Math.min(index, this.list.length - 1));
    this.rows.refresh(old);
    this.rows.refresh(this.selected);
    this.rows.reveal(this.selected);
    this.options.chosen?.();
  }

  /** Select no row. */
  deselect() {
    const old = this.selected;
    this.selected = NONE;
    this.rows.refresh(old);
  }

  key(event) {
    const page = Math.floor(this.rows.room / LINK_ROW) - 2;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) this.select(this.selected + steps[event.key]);
    else if (event.key === "Home") this.select(0);
    else if (event.key === "End") this.select(this.list.length - 1);
    else if (event.key === "Enter" && this.selected >= 0 && event.target === this.element) {
      this.open(this.list[this.selected]);
    } else return;
    event.preventDefault();
  }

  /** Go to the place of a row. */
  open(row) {
    const hash = this.options.address?.(row);
    if (hash) go(hash);
  }

  /** Return the place of the selected row; undefined if none is selected. */
  chosen() {
    const row = this.list[this.selected];
    return (row !== undefined && this.options.address?.(row)) || undefined;
  }

  /** Return the content of the cell of a column. */
  content(one, item) {
    return one.text ? one.text(item) : (one.show ?? String)(one.value(item));
  }

  /** Return the table as it is shown, in Markdown of `room` letters. */
  markdown(room) {
    const columns = this.shown.filter((one) => !one.isDrawing);
    const title = titleMarkdown(this.options.label, this.filter.trim() && `: rows with ${codeSpan(this.filter)}`);
    const cell = (one, content) => (one.isName ? codeSpan(content) : cellMarkdown(content));
    return tableMarkdown(title, columns, this.list.length, (at) => columns.map((one) => cell(one, this.content(one, this.list[at]))), room);
  }
}

/** Return a search field for a table, the number of rows that it leaves, and a button that copies these. */
function searchField(table, label) {
  const found = h("span", { class: "dim", "aria-live": "polite" });
  const tell = () => {
    found.textContent = `${count(table.list.length)} of ${count(table.all.length)}`;
  };
  table.options.changed = tell;
  tell();
  const input = searchInput(label, { input: () => table.search(input.value) });
  return h("div", { class: "tools" }, input, found, markdownButton(() => table.markdown()));
}

/** A tab of tables. */
class TablesView {
  keys = TABLE_KEYS;
  tables = [];

  /** Add a table to a panel, below a `heading` and a search field of a `placeholder`, if any. */
  add(panel, columns, rows, { heading, placeholder, ...options }) {
    const chosen = () => this.tables.filter((one) => one !== table).forEach((one) => one.deselect?.());
    const table = new Table(columns, rows, { ...options, chosen });
    this.tables.push(table);
    table.element.classList.toggle("part", Boolean(heading));
    const head = placeholder ? [heading && h("h2", {}, heading), searchField(table, placeholder)] : copyHead(heading, () => table.markdown());
    append(panel, [head, table.element]);
  }

  /** Return the place of the selected row of the table that has one. */
  chosen() {
    return this.tables.map((one) => one.chosen?.()).find(Boolean);
  }

  /** Return the tables in Markdown, or the one that has the focus. */
  markdown() {
    const focused = this.tables.filter((one) => one.element?.contains(document.activeElement));
    return tablesMarkdown((focused.length ? focused : this.tables).map((one) => (room) => one.markdown(room)));
  }

  /** Search the first table as if somebody typed the words. */
  searchFor(words) {
    const input = this.tables[0].element.parentElement.querySelector(".search");
    input.value = words;
    input.dispatchEvent(new Event("input"));
  }

  show() {
    for (const table of this.tables) table.rows?.render();
  }
}
