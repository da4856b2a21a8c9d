// The memory of lines before and after a change.

const CHANGED_NUMBERS = [
  ["hostPeak", "Peak", "what was live at the peak"],
  ["hostLive", "Live", "what was live at the end"],
  ["hostAlloc", "Alloc", "what was allocated"],
];

/** The tab Memory of a comparison. */
class ChangedMemoryView extends TablesView {
  suffix = "Own";

  make(panel) {
    const { lines } = data.memory;
    const rows = [...lines.name.keys()];
    const number = (name, side) => (i) => lines[`${name}${this.suffix}${side}`][i];
    const change = (name) => (i) => number(name, 1)(i) - number(name, 0)(i);
    // A line has no greater change of its own than its callers have.
    const most = maximum(rows.map((i) => Math.abs(lines.hostPeak1[i] - lines.hostPeak0[i])));
    const blocks = (i) => {
      const [before, after] = [0, 1].map((side) => number("hostAllocs", side)(i));
      return before || after ? `${count(before)} \u2192 ${count(after)}` : "";
    };
    const showBytes = unlessZero(size);
    const bytes = CHANGED_NUMBERS.flatMap(([name, title, tip]) => [
      { title: `${title} change`, tip: `bytes of ${tip}: after less before`, width: 136, phone: name === "hostPeak" && 2, value: change(name), show: unlessZero((one) => signed(one, size)) },
      name === "hostPeak" && { title: "Bar", isDrawing: true, width: 76, tip: "to the right: more, to the left: less", value: (i) => Math.abs(change(name)(i)), text: (i) => changeBar(change(name)(i), most) },
      { title: "Before", tip: `bytes of ${tip}`, width: 80, value: number(name, 0), show: showBytes },
      { title: "After", tip: `bytes of ${tip}`, width: 80, value: number(name, 1), show: showBytes },
    ]).filter(Boolean);
    const place = (i) => ending(visible(lines.place[i]));
    const columns = [
      { title: "Line", left: true, wide: 1, width: 130, phone: 1, value: (i) => lines.place[i], text: (i) => (lines.source[i] < 0 ? h("span", { class: "place" }, place(i)) : link(sidesAddress(lines, i), place(i))) },
      ...bytes,
      { title: "Blocks", tip: "blocks that were allocated", width: 130, value: change("hostAllocs"), text: (i) => blocks(i) },
      { title: "Function", isName: true, left: true, wide: 1, width: 100, value: (i) => lines.name[i], show: visible },
      { title: "Source", left: true, wide: 2, width: 180, phone: 3, value: (i) => lines.text[i].trim(), show: (text) => code(visible(text)) },
    ];
    this.add(panel, columns, rows, {
      placeholder: "Search lines",
      sort: 2,
      label: "Memory by line, own bytes",
      search: (i) => `${lines.place[i]} ${lines.name[i]} ${lines.text[i]}`,
      address: (i) => lines.source[i] >= 0 && sidesAddress(lines, i),
    });
    addBytesForms(this);
  }
}
