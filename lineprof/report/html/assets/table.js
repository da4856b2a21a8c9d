// Lists of rows of which only those in sight are in the page, and sortable tables.

const ROW = 20; // pixels; the style sheet has the same

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

/** A list of many rows in a scrolling element; rows are made when they come into sight. */
class Rows {
  /** `make(index)` returns the element of a row. */
  constructor(scroller, make) {
    this.scroller = scroller;
    this.make = make;
    this.count = 0;
    this.shown = new Map();
    this.body = h("div", { class: "rows", role: "rowgroup" });
    scroller.append(this.body);
    this.update = inNextFrame(() => this.render());
    scroller.addEventListener("scroll", this.update, { passive: true });
    new ResizeObserver(this.update).observe(scroller);
    addEventListener("beforeprint", () => this.renderForPrint());
    addEventListener("afterprint", () => this.reset(this.count));
  }

  /** Show `count` new rows. */
  reset(count) {
    this.count = count;
    this.body.style.height = `${count * ROW}px`;
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

  /** The height of what stays above the rows; read once, for it costs a layout. */
  get head() {
    this.headHeight ||= this.body.offsetTop;
    return this.headHeight;
  }

  render() {
    if (!this.scroller.offsetParent) return; // hidden
    const height = this.scroller.clientHeight;
    const top = this.scroller.scrollTop - this.head;
    const first = Math.max(0, Math.floor(top / ROW) - 4);
    const last = Math.min(this.count, Math.ceil((top + height) / ROW) + 4);
    for (const [index, row] of this.shown) {
      if (index < first || index >= last) {
        row.remove();
        this.shown.delete(index);
      }
    }
    this.fill(first, last);
    this.rendered?.();
  }

  /** Make those rows up to `last` that are not there yet. */
  fill(first, last) {
    const made = [];
    for (let index = first; index < last; index++) {
      if (!this.shown.has(index)) made.push(this.add(index));
    }
    this.body.append(...made);
  }

  add(index) {
    const row = this.make(index);
    // The list is one stop of the Tab key: its own keys lead from row to row.
    for (const one of row.querySelectorAll("a:not([tabindex]), button:not([tabindex])")) one.tabIndex = -1;
    row.style.top = `${index * ROW}px`;
    row.setAttribute("aria-rowindex", index + 2);
    this.shown.set(index, row);
    return row;
  }

  /** Put many rows into the page, which a printer needs. */
  renderForPrint() {
    if (!this.scroller.offsetParent) return;
    this.clear();
    this.fill(0, Math.min(this.count, 5000));
  }

  /** Make a row again, if it is in sight. */
  refresh(index) {
    const old = this.shown.get(index);
    if (old) old.replaceWith(this.add(index));
  }

  /** Scroll so that a row is in sight, in the middle if it was not. */
  reveal(index) {
    const { scroller } = this;
    const top = index * ROW;
    const seen = scroller.scrollTop - this.head;
    const room = scroller.clientHeight - this.head;
    if (top < seen + this.head || top + ROW > seen + room) {
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
    this.selected = -1;
    this.element = tableElement("table", options.label, (event) => this.key(event));
    const widths = this.columns.map((one) => (one.wide ? `minmax(${one.width ?? 160}px, ${one.wide}fr)` : `${one.width ?? 92}px`));
    this.element.style.setProperty("--columns", widths.join(" "));
    this.cells = this.columns.map((one, index) =>
      h("span", { role: "columnheader" },
        h("button", { class: one.left ? "left" : "", title: one.tip ?? "", click: () => this.sortBy(index) }, one.title)));
    this.element.append(
      h("div", { class: "head", role: "rowgroup" }, h("div", { class: "row", role: "row" }, this.cells)),
    );
    this.rows = new Rows(this.element, (index) => this.row(index));
    this.sort();
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
    const fits = (row) => {
      const text = this.options.search(row).toLowerCase();
      return words.every((word) => text.includes(word));
    };
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
    this.selected = -1;
    this.element.scrollTop = 0;
    this.rows.reset(found.length);
    this.options.changed?.(this);
  }

  row(index) {
    const row = this.list[index];
    const cells = this.columns.map((one) => {
      const content = one.text ? one.text(row) : (one.show ?? String)(one.value(row));
      const cell = h("span", { role: "cell", class: one.left ? "left" : "" }, content);
      if (typeof content === "string" && content.length > 12) cell.title = content;
      return cell;
    });
    return h(
      "div",
      {
        class: index === this.selected ? "row selected" : "row",
        role: "row",
        click: (event) => {
          this.select(index);
          if (!event.target.closest("a")) this.options.open?.(row);
        },
      },
      cells,
    );
  }

  select(index) {
    const old = this.selected;
    this.selected = Math.max(0, Math.min(index, this.list.length - 1));
    this.rows.refresh(old);
    this.rows.refresh(this.selected);
    this.rows.reveal(this.selected);
  }

  key(event) {
    const page = Math.floor(this.element.clientHeight / ROW) - 2;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) this.select(this.selected + steps[event.key]);
    else if (event.key === "Home") this.select(0);
    else if (event.key === "End") this.select(this.list.length - 1);
    else if (event.key === "Enter" && this.selected >= 0 && event.target === this.element) {
      this.options.open?.(this.list[this.selected]);
    } else return;
    event.preventDefault();
  }
}

/** Return a search field for a table, and the number of rows that it leaves. */
function searchField(table, label) {
  const found = h("span", { class: "dim", "aria-live": "polite" });
  const tell = () => {
    found.textContent = `${count(table.list.length)} of ${count(table.all.length)}`;
  };
  table.options.changed = tell;
  tell();
  const input = searchInput(label, { input: () => table.search(input.value) });
  return h("div", { class: "tools" }, input, found);
}

/** A tab of tables. */
class TablesView {
  keys = TABLE_KEYS;
  tables = [];

  /** Add a table to a panel, below a `heading` and a search field of a `placeholder`, if any. */
  add(panel, columns, rows, { heading, placeholder, ...options }) {
    const table = new Table(columns, rows, options);
    this.tables.push(table);
    table.element.classList.toggle("part", Boolean(heading));
    append(panel, [heading && h("h2", {}, heading), placeholder && searchField(table, placeholder), table.element]);
  }

  /** Search the first table as if somebody typed the words. */
  searchFor(words) {
    const input = this.tables[0].element.parentElement.querySelector(".search");
    input.value = words;
    input.dispatchEvent(new Event("input"));
  }

  show() {
    for (const table of this.tables) table.rows.render();
  }
}
