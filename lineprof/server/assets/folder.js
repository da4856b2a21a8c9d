// The list of the profiles in a folder, kept up to date.

const table = document.querySelector("table");
const rows = document.getElementById("profiles");

const chosen = document.getElementById("chosen"); // Enter in one of its boxes compares
const compare = document.getElementById("compare");

let before = ""; // the last answer
let listed = []; // the profiles in it
let remark = ""; // why they may not be all
const ticked = new Set(); // their ids

function size(bytes) {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(bytes / 1000)} kB`;
}

function seconds(ns) {
  if (!ns) return "";
  return ns >= 1e9 ? `${(ns / 1e9).toFixed(1)} s` : `${(ns / 1e6).toFixed(1)} ms`;
}

function cell(content, kind) {
  const element = document.createElement("td");
  if (kind) element.className = kind;
  element.append(content);
  return element;
}

/** Return the box of a profile that may be compared with another one. */
function box(one) {
  const element = document.createElement("input");
  element.type = "checkbox";
  element.setAttribute("form", chosen.id);
  element.setAttribute("aria-label", `Compare ${one.name}`);
  element.checked = ticked.has(one.id);
  element.addEventListener("change", () => {
    if (element.checked) ticked.add(one.id);
    else ticked.delete(one.id);
    describe();
  });
  return element;
}

function row(one) {
  const link = document.createElement("a");
  link.href = `${encodeURIComponent(one.id)}/`;
  link.textContent = one.name;
  const element = document.createElement("tr");
  element.dataset.id = one.id;
  element.append(
    cell(box(one)),
    cell(link),
    cell(one.program),
    cell(new Date(one.written).toLocaleString(), "number"),
    cell(seconds(one.wall), "number"),
    cell(size(one.size), "number"));
  return element;
}

/** Tell how many profiles there are, why they may not be all, and whether two are ticked. */
function describe() {
  compare.disabled = ticked.size !== 2;
  const count = listed.length === 1 ? "1 profile" : `${listed.length} profiles`;
  const left = ["", "; tick another one to compare the two", ""][ticked.size] ?? "; tick two, and no more, to compare";
  if (remark || listed.length) tell((remark || count) + left, remark);
  else tell("There are no profiles (*.lprof) yet: new ones appear here.");
}

function take(text) {
  if (text === before) return;
  before = text;
  ({ profiles: listed, remark } = JSON.parse(text));
  for (const id of ticked) if (!listed.some((one) => one.id === id)) ticked.delete(id);
  const focused = document.activeElement;
  const held = focused?.closest?.("tr[data-id]");
  const place = held?.rowIndex - 1; // below the heads
  rows.replaceChildren(...listed.map(row));
  table.hidden = listed.length === 0;
  if (held) {
    const next = [...rows.children].find((one) => one.dataset.id === held.dataset.id) ?? rows.children[place] ?? rows.lastElementChild;
    next?.querySelector(focused.localName).focus({ preventScroll: true });
  }
  describe();
}

// The one that was written earlier is the one before; in the list it comes later.
chosen.addEventListener("submit", (event) => {
  event.preventDefault();
  const [after, earlier] = listed.filter((one) => ticked.has(one.id));
  if (earlier && !compare.disabled) location.href = `${encodeURIComponent(earlier.id)}/${encodeURIComponent(after.id)}/`;
});

function lose(why) {
  before = "";
  tell(why, true);
}

askEvery(2000, "list", take, lose);
