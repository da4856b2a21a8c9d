// The palette: one field that finds tabs, files, functions and lines.

const MOST_FOUND = 50;
// How well a word fits a text: the whole name, its start, the start of a word, the inside of one, or
// as letters in this order.
const FIT = { whole: 5, start: 4, word: 3, inside: 2, letters: 1 };

/**
 * Kinds of what is found. `all` returns the indexes; `text(i)` is searched, and shown before
 * `place(i)`; `heat(i)` is a time (ns) by which equals are ordered; `hash(i)` is the address. Of
 * text of source, words are found, no scattered letters.
 */
const OF_REPORT = [
  {
    name: "file",
    all: () => data.files.name.keys(),
    text: fileName,
    place: (i) => visible(data.files.path[i]),
    heat: (i) => sum([...data.linesOfFile[i].values()].flat().map((line) => data.lines.self[line])),
    hash: (i) => address("source", data.files.name[i]),
  },
  {
    name: "function",
    all: () => data.functions.name.keys(),
    text: functionName,
    place: functionPlace,
    heat: (i) => data.functions.self[i],
    hash: functionAddress,
  },
  {
    name: "line",
    isSource: true,
    all: () => hotLines().filter((i) => lineFile(i) >= 0),
    text: (i) => sourceLine(lineFile(i), data.lines.line[i]),
    place: (i) => placeName(lineFile(i), data.lines.line[i]),
    heat: (i) => data.lines.self[i],
    hash: measuredAddress,
  },
];

const OF_COMPARISON = ["functions", "lines"].map((name) => ({
  name: name.slice(0, -1),
  isSource: name === "lines",
  all: () => data[name].name.keys(),
  text: (i) => visible(name === "lines" ? data.lines.text[i].trim() : data.functions.name[i]),
  place: (i) => visible(data[name].place[i]),
  heat: (i) => Math.abs(data[name].self1[i] - data[name].self0[i]),
  hash: (i) => sidesAddress(data[name], i),
}));

const OF_TABS = {
  name: "tab",
  all: () => tabs.keys(),
  text: (i) => tabs[i].button.textContent,
  place: () => "",
  heat: () => Infinity,
  hash: (i) => tabs[i].last ?? address(tabs[i].name),
};

/** Return all that can be found, the hottest first: {kind, i, heat, low}, `low` is the text in lower case. */
function findable() {
  data.findable ??= [OF_TABS, ...(data.sources ? OF_COMPARISON : OF_REPORT)]
    .flatMap((kind) => Array.from(kind.all(), (i) => ({ kind, i, heat: kind.heat(i), low: kind.text(i).toLowerCase() })))
    .sort((a, b) => b.heat - a.heat);
  return data.findable;
}

/** Return how well a word fits a text, both in lower case; 0 if it does not. */
function fits(text, word, isSource) {
  let best = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const before = at ? text[at - 1] : ".";
    if (!isSource && (before === "." || before === "/")) {
      if (at + word.length === text.length) return FIT.whole;
      best = FIT.start;
    } else if (/[a-z0-9]/.test(before)) best ||= FIT.inside;
    else if (isSource) return FIT.word;
    else best = Math.max(best, FIT.word);
  }
  if (best || isSource) return best;
  let from = 0;
  for (const one of word) {
    from = text.indexOf(one, from) + 1;
    if (!from) return 0;
  }
  return FIT.letters;
}

/** Return what fits a query, the best first, of equals the hottest: MOST_FOUND at most. */
function findAll(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = namedLines(words);
  const bySum = new Map();
  for (const one of findable()) {
    let total = 0;
    for (const word of words) {
      const fit = fits(one.low, word, one.kind.isSource);
      if (!fit) {
        total = -1;
        break;
      }
      total += fit;
    }
    if (total >= 0 && (bySum.get(total)?.length ?? 0) < MOST_FOUND) addTo(bySum, total, one);
  }
  for (const total of [...bySum.keys()].sort((a, b) => b - a)) found.push(...bySum.get(total));
  return found.slice(0, MOST_FOUND);
}

/** Return the lines that a query such as "shop.py:12" names. */
function namedLines(words) {
  const [, name, line] = /^(.+):(\d+)$/.exec(words[0] ?? "") ?? [];
  if (!line || words.length > 1 || data.sources) return [];
  const kind = {
    name: "line",
    text: (file) => placeName(file, line),
    place: (file) => sourceLine(file, Number(line)),
    hash: (file) => lineAddress(file, line),
  };
  const files = [...data.files.name.keys()].filter((file) => fileName(file).toLowerCase().includes(name) && line <= lastLine(file));
  return files.map((i) => ({ kind, i })).slice(0, MOST_FOUND);
}

/** Return the number of the last line of a file that is known. */
function lastLine(file) {
  return Math.max(textLines(file).length, maximum(data.linesOfFile[file].keys()));
}

/** Return whether an event is Ctrl+K, or Cmd+K. */
function isFindKey(event) {
  return event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
}

/** Show the field, and below it what it finds. */
function openPalette() {
  let found = [];
  let at = 0;
  const results = h("ul", { id: "found", role: "listbox", "aria-label": "Found" });
  const said = h("p", { class: "dim", "aria-live": "polite" });
  const choose = (index) => {
    results.children[at]?.setAttribute("aria-selected", "false");
    at = Math.max(0, Math.min(index, found.length - 1));
    const option = results.children[at];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option?.id ?? "");
  };
  const open = (index) => {
    const one = found[index];
    if (!one) return;
    dialog.close();
    go(one.kind.hash(one.i));
    mainElement().focus({ preventScroll: true });
  };
  const update = () => {
    found = findAll(input.value);
    results.replaceChildren(...found.map(({ kind, i }, index) =>
      h("li", { id: `found-${index}`, role: "option", "aria-selected": "false", click: () => open(index) },
        h("span", { class: "kind" }, kind.name), code(kind.text(i)), h("span", { class: "place" }, h("bdi", {}, kind.place(i))))));
    said.textContent = found.length ? "" : "Nothing has this name.";
    choose(0);
  };
  const input = searchInput("Function, file:12, hot line or tab", {
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "found",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    input: update,
    keydown: (event) => act(event, {
      ArrowDown: () => choose(at + 1),
      ArrowUp: () => choose(at - 1),
      PageDown: () => choose(at + 10),
      PageUp: () => choose(at - 10),
      Enter: () => open(at),
      // The field would be emptied first.
      Escape: () => dialog.close(),
    }),
  });
  const dialog = openDialog("Find", "palette", [input, said, results]);
  input.focus();
  update();
}
