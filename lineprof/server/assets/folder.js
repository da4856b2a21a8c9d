// The list of the profiles in a folder, kept up to date.

const table = document.querySelector("table");
const rows = document.getElementById("profiles");

let before = ""; // the last answer

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

function row(one) {
  const link = document.createElement("a");
  link.href = `${encodeURIComponent(one.id)}/`;
  link.textContent = one.name;
  const element = document.createElement("tr");
  element.append(
    cell(link),
    cell(one.program),
    cell(new Date(one.written).toLocaleString(), "number"),
    cell(seconds(one.wall), "number"),
    cell(size(one.size), "number"));
  return element;
}

function take(text) {
  if (text === before) return;
  before = text;
  const { profiles, remark } = JSON.parse(text);
  const focused = document.activeElement?.getAttribute?.("href");
  rows.replaceChildren(...profiles.map(row));
  table.hidden = profiles.length === 0;
  if (focused) [...rows.querySelectorAll("a")].find((one) => one.getAttribute("href") === focused)?.focus();
  if (remark) tell(remark, true);
  else if (profiles.length) tell(profiles.length === 1 ? "1 profile" : `${profiles.length} profiles`);
  else tell("There are no profiles (*.lprof) yet: new ones appear here.");
}

function lose(why) {
  before = "";
  tell(why, true);
}

askEvery(2000, "list", take, lose);
