"use strict";
// This file has what all its views share. Texts of a profile reach
// the page as text nodes alone, so that no source or file name can become markup.

const NONE = -1;

/** Numbers of the profile, as lineprof/report/html/data.py made them. */
let data = null;

// Elements.

/**
 * Return a new element. `properties` are attributes, or listeners if they are functions;
 * `children` are elements and texts.
 */
function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const name in properties) {
    const value = properties[name];
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "class") element.className = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  append(element, children);
  return element;
}

/** Append elements and texts, and those of arrays; what is missing is passed over. */
function append(element, children) {
  const isThere = (one) => one != null && one !== false && one !== "";
  // One at a time: a call takes some 100,000 arguments at most.
  for (const one of children.flat(Infinity)) if (isThere(one)) element.append(one);
}

/** Return a list with bullets; each item is a text, an element, or an array of these. */
function list(items, properties) {
  return h("ul", properties, items.map((one) => h("li", {}, one)));
}

/** Return a choice of one of `options`, pairs of a value and its text. */
function select(label, options, change) {
  return h("select", { "aria-label": label, change }, options.map(([value, text]) => h("option", { value }, text)));
}

/** Return a field for a search, whose label is shown while it is empty. */
function searchInput(label, properties) {
  return h("input", { type: "search", class: "search", placeholder: label, "aria-label": label, ...properties });
}

/** Characters that have no glyph, or that change the order of those around them. */
const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const ALL_HIDDEN = new RegExp(HIDDEN.source, "g");

/** Return `text` with hidden characters as escapes such as \x1b. */
function visible(text) {
  if (!HIDDEN.test(text)) return text;
  return text.replace(ALL_HIDDEN, (one) => {
    const code = one.codePointAt(0);
    const [letter, width] = code < 256 ? ["x", 2] : ["u", 4];
    return `\\${letter}${code.toString(16).padStart(width, "0")}`;
  });
}

// Numbers.

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];

/** Return a number with three significant digits. */
function digits(number) {
  if (number >= 1000) return Math.round(number).toLocaleString("en");
  if (number >= 100) return number.toFixed(0);
  return number.toFixed(number >= 10 ? 1 : 2);
}

/** Return a time (ns) in the unit in which it reads best. */
function time(ns) {
  if (!ns) return "0";
  const size = Math.abs(ns);
  const [scale, unit] = UNITS.find(([one]) => size >= one * 0.9995) ?? UNITS[3];
  if (scale === 1) return `${Number.isInteger(ns) ? ns : ns.toFixed(1)} ns`;
  return `${ns < 0 ? "-" : ""}${digits(size / scale)} ${unit}`;
}

/** Return a size in bytes, in powers of 1,000. */
function size(bytes) {
  if (!bytes) return "0";
  if (bytes < 0) return `-${size(-bytes)}`;
  for (const [scale, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (bytes >= scale) return `${digits(bytes / scale)} ${unit}`;
  }
  return `${bytes} B`;
}

/** Return a count with thousands apart. */
function count(number) {
  return number.toLocaleString("en");
}

/** Return a number of things, such as "1 line" or "2 lines". */
function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Return a share (0 to 1) in percent; "" if the whole is 0. */
function percent(part, whole) {
  if (!whole) return "";
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.05) return "<0.1%";
  return share > 99.95 ? `${share.toFixed(0)}%` : `${share.toFixed(1)}%`;
}

/** Return the share of a time (ns) in the run, which is 100 % in every view but where a title says what else is. */
function ofRun(ns) {
  return percent(ns, data.run.ns);
}

/** Return the title of own times: without calls, they have those of callees as well. */
function ownTitle() {
  return data.hasCalls ? "Own" : "Time";
}

/** Return the sum of numbers. */
function sum(numbers) {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Return the greatest of `numbers`; 1 if none is greater. */
function maximum(numbers) {
  let most = 1;
  for (const one of numbers) if (one > most) most = one;
  return most;
}

/** Return indexes in the order of their values, the greatest first. */
function descending(indexes, values) {
  return [...indexes].sort((a, b) => values[b] - values[a]);
}

/** Return a function that writes a number as `write` does, and nothing for zero. */
function unlessZero(write) {
  return (number) => (number ? write(number) : "");
}

/** Return the column of a table; zeros if the table lacks it. */
function column(table, name) {
  const length = Object.values(table)[0]?.length ?? 0;
  return table[name] ?? new Array(length).fill(0);
}

// Data.

const blobs = new Map();

/** Return the content of the packed column with this number. */
async function blob(number) {
  if (!blobs.has(number)) blobs.set(number, inflated(takeBytes(`blob-${number}`)));
  return blobs.get(number);
}

/** Read the numbers of the page into `data`. */
async function readData() {
  data = JSON.parse(await takeText("data"));
}

/** Read the numbers of a profile, and index them. */
async function loadData() {
  await readData();
  const { functions, lines, edges } = data;
  functions.count = functions.name.length;
  // The lines of each function are neighbours: from first[f] up to first[f + 1].
  functions.first = new Int32Array(functions.count + 1);
  for (const f of lines.function) functions.first[f + 1]++;
  for (let f = 0; f < functions.count; f++) functions.first[f + 1] += functions.first[f];
  functions.end = functions.line.map((line, f) => {
    const last = functions.first[f + 1] - 1; // the lines of a function are in order
    return last >= functions.first[f] ? Math.max(line, lines.line[last]) : line;
  });
  functions.calledFrom = groups(edges.callee, functions.count);
  functions.callsFrom = groups(edges.caller, functions.count);
  data.selfTotal = Math.max(sum(functions.self), sum(lines.self));
  data.gpuTotal = data.gpu ? data.gpu.total : 0;
  data.hasSlices = data.timeline.traces.some((one) => one.count);
  data.linesOfFile = fileLines();
}

/** Return the numbers of a column of lines for those of function `f`. */
function ofLines(numbers, f) {
  const { first } = data.functions;
  return numbers.slice(first[f], first[f + 1]);
}

/** Return, for each number below `size`, the indexes where `keys` has it. */
function groups(keys, size) {
  const found = Array.from({ length: size }, () => []);
  keys.forEach((key, index) => {
    if (key >= 0) found[key].push(index);
  });
  return found;
}

/** Return a key for a line of a function, or for the function if `line` is 0. */
function lineKey(f, line) {
  return f * 2 ** 24 + line;
}

/** Append a value to the list of a key. */
function addTo(map, key, value) {
  if (map.has(key)) map.get(key).push(value);
  else map.set(key, [value]);
}

/** Return, by file, a map from line numbers to indexes of measured lines. */
function fileLines() {
  const found = data.files.name.map(() => new Map());
  data.lines.line.forEach((line, i) => {
    const file = lineFile(i);
    if (file >= 0) addTo(found[file], line, i);
  });
  return found;
}

/** Return the file of a measured line. */
function lineFile(i) {
  return data.functions.file[data.lines.function[i]];
}

/** Return [file, line] of a line of a function; null if the function has no source. */
function placeOf(f, line) {
  const file = f < 0 ? NONE : data.functions.file[f];
  return file < 0 ? null : [file, line];
}

/** Return the name of a line, such as "shop.py:12". */
function placeName(file, line) {
  return `${fileName(file)}:${line}`;
}

/** Return the place of a function. */
function functionPlace(f) {
  const file = data.functions.file[f];
  return file < 0 ? "C function" : placeName(file, data.functions.line[f]);
}

/** Return the name of a function, as every view shows it. */
function functionName(f) {
  if (f < 0) return "outside of all profiled functions";
  return visible((data.modules[f] ?? data.functions.name[f]) + (data.functions.mark?.[f] ?? ""));
}

/** Return the short name of a file. */
function fileName(file) {
  return visible(data.files.name[file]);
}

const LONGEST = 2000; // characters of a line that are shown

/** Return text as code. */
function code(text) {
  return h("code", {}, text);
}

/** Return a number by which lines are sorted: by the name of the file, then by their own number. */
function lineOrder(file, line) {
  data.fileOrder ??= new Map([...data.files.name].sort().map((name, order) => [name, order]));
  return (data.fileOrder.get(data.files.name[file]) ?? NONE) * 1e7 + line;
}

/** Return the text of one line of a file, without blanks at its ends, or its beginning. */
function sourceLine(file, line) {
  if (file < 0) return "";
  const text = (textLines(file)[line - 1] ?? "").trim();
  return visible(text.length > LONGEST ? `${text.slice(0, LONGEST)}\u2026` : text);
}

/** Return the lines of a file's text; [] if the text is unknown. */
function textLines(file) {
  const texts = (data.files.lines ??= []);
  texts[file] ??= data.files.text[file]?.split("\n") ?? [];
  return texts[file];
}

// Navigation: each view has a tab and an address behind the # of the page.

const tabs = []; // of {name, view, panel, button, made, last}: `last` is an address
let current = null; // the tab that is shown

/** Return the address of a place: a tab, and what it shows. */
function address(tab, ...parts) {
  return `#${[tab, ...parts].map((one) => encodeURIComponent(one)).join("/")}`;
}

/** Return the address of a line of the source. */
function lineAddress(file, line) {
  return address("source", data.files.name[file], line);
}

/** Return the address of a function: its first line, or its row if it has no source. */
function functionAddress(f) {
  const file = data.functions.file[f];
  return file < 0
    ? address("functions", data.functions.name[f])
    : lineAddress(file, data.functions.line[f]);
}

/** Return the address of a measured line. */
function measuredAddress(i) {
  return lineAddress(lineFile(i), data.lines.line[i]);
}

/**
 * Go to an address, as a link does. A small step, such as one to the next line, has no entry of its
 * own in the history: the reader's way back leads over jumps.
 */
function go(hash, isStep = false) {
  if (location.hash !== hash) {
    if (isStep) replaceAddress(hash);
    else location.hash = hash;
  }
  showAddress(hash);
}

/** Change the address of the page without an entry in the history. */
function replaceAddress(hash) {
  try {
    // Not relative: in a notebook, that would be an address of the notebook.
    history.replaceState(null, "", location.href.split("#")[0] + hash);
  } catch {
    // Some browsers allow 100 of them in 30 s; the next one is noted.
  }
}

/** Show what an address names: by default what that of the page names. */
function showAddress(hash = location.hash) {
  let parts = [];
  try {
    parts = hash.slice(1).split("/").map(decodeURIComponent);
  } catch {
    // An address that somebody mistyped: the first tab is shown.
  }
  const named = tabs.find((one) => one.name === parts[0]);
  if (named) named.last = hash;
  showTab(named ?? tabs[0]);
  current.view.show?.(parts.slice(1));
  tellAddress(hash);
}

/** Show a tab instead of the one that is shown. */
function showTab(tab) {
  if (tab === current) return;
  current = tab;
  for (const one of tabs) {
    one.panel.hidden = one !== tab;
    one.button.setAttribute("aria-selected", one === tab);
    one.button.tabIndex = one === tab ? 0 : -1;
  }
  // On a narrow screen the tabs have a row that scrolls.
  const row = tab.button.parentElement;
  row.scrollLeft = tab.button.offsetLeft - (row.clientWidth - tab.button.offsetWidth) / 2;
  if (!tab.made) {
    tab.made = true;
    tab.view.make(tab.panel);
    // What has nothing in it to choose is scrolled by keys itself.
    tab.panel.tabIndex = mainElement() === tab.panel ? 0 : -1;
  }
}

/** Return the element of the shown view that takes its keys. */
function mainElement() {
  const { panel } = current;
  return [...panel.querySelectorAll('[tabindex="0"]')].find((one) => one.offsetParent && !one.closest("aside")) ?? panel;
}

/** Return a link with a text or elements. */
function link(href, ...children) {
  return h("a", { href }, children);
}

/** Return a text of a place, whose end is in sight where it has no room: the number of a line. */
function ending(text) {
  return h("bdi", { dir: "ltr" }, text);
}

/** Return a link to a line, or text if the file is unknown. */
function lineLink(file, line, text) {
  const label = text ?? placeName(file, line);
  return file < 0 ? label : link(lineAddress(file, line), ending(label));
}

/** Return a link to a function, or its name if it has no source. */
function functionLink(f) {
  if (f < 0) return functionName(f);
  if (data.functions.file[f] < 0) return h("span", { class: "dim" }, functionName(f));
  return link(functionAddress(f), ending(functionName(f)));
}

/** Return the coloured part of a bar, as wide as a share (0 to 1) of it. */
function fill(kind, share) {
  const element = h("i", { class: kind });
  element.style.width = `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;
  return element;
}

/** Return a bar for a share (0 to 1), which is also told as text. */
function bar(share, kind = "cpu") {
  return h("span", { class: "bar", "aria-hidden": "true" }, fill(kind, share));
}

/** Do what `actions` have for the key of an event, if they have anything. */
function act(event, actions) {
  if (!(event.key in actions)) return;
  actions[event.key]();
  event.preventDefault();
}

/** Return whether a key is pressed together with one that makes it another key. */
function isModified(event) {
  return event.ctrlKey || event.metaKey || event.altKey;
}

/** Return a function that runs `action` once in the next frame, however often called. */
function inNextFrame(action) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      action();
    });
  };
}

/** Return the value of a colour of the style sheet, for a canvas. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Callbacks for a change of the colours, by the reader or by the system. */
const onTheme = [];
