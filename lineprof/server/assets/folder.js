"use strict";
// The list of the profiles in a folder, kept up to date.

const PERIOD = 2000; // ms between two questions

const table = document.querySelector("table");
const rows = document.getElementById("profiles");
const line = document.getElementById("state");

let before = ""; // the last answer
let asking = false;

function tell(text, isProblem) {
  if (line.textContent !== text) line.textContent = text;
  line.classList.toggle("problem", Boolean(isProblem));
}

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

function take({ profiles, remark }) {
  const focused = document.activeElement?.getAttribute?.("href");
  rows.replaceChildren(...profiles.map(row));
  table.hidden = profiles.length === 0;
  if (focused) [...rows.querySelectorAll("a")].find((one) => one.getAttribute("href") === focused)?.focus();
  if (remark) tell(remark, true);
  else if (profiles.length) tell(profiles.length === 1 ? "1 profile" : `${profiles.length} profiles`);
  else tell("There are no profiles (*.lprof) yet: new ones appear here.");
}

async function ask() {
  if (asking) return;
  asking = true;
  try {
    const response = await fetch("list", { cache: "no-store" });
    const text = await response.text();
    if (!response.ok) {
      before = "";
      tell("This address is of an earlier run of lineprof serve: open the one that it printed.", true);
    } else if (text !== before) {
      before = text;
      take(JSON.parse(text));
    }
  } catch {
    before = "";
    tell("lineprof serve has ended, or cannot be reached.", true);
  }
  asking = false;
}

document.addEventListener("visibilitychange", () => document.hidden || ask());
setInterval(() => document.hidden || ask(), PERIOD);
ask();
