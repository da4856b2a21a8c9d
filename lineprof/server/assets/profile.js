"use strict";
// The page around a report: asks the server whether the profile has changed, shows the
// new report then, and keeps the place behind the # of both addresses the same.

const PERIOD = 1000; // ms between two questions

const frame = document.getElementById("report");
const line = document.getElementById("state");
const follow = document.getElementById("follow");

let shown = ""; // the revision in the frame
let place = location.hash; // of the report
let asking = false;

function tell(text, isProblem) {
  if (line.textContent !== text) line.textContent = text;
  line.title = text;
  line.classList.toggle("problem", Boolean(isProblem));
}

/** Return the local time of a profile, and its date if that is not today's. */
function moment(ms) {
  const [at, now] = [new Date(ms), new Date()];
  const time = at.toLocaleTimeString();
  return at.toDateString() === now.toDateString() ? time : `${at.toLocaleDateString()}, ${time}`;
}

/** Show a revision of the report in the frame, without an entry in the history. */
function show(revision) {
  shown = revision;
  frame.hidden = false;
  go();
}

/** Lead the frame to the place; the report is loaded only if its revision is new. */
function go() {
  const address = new URL(`report?revision=${encodeURIComponent(shown)}`, location.href);
  address.hash = place;
  frame.contentWindow.location.replace(address);
}

function take(state) {
  const { revision, problem, written } = state;
  const isNew = revision && revision !== shown;
  if (isNew && (follow.checked || !shown)) show(revision);
  if (problem) tell(shown ? `${problem} (this is the report of an earlier state)` : problem, true);
  else if (revision && revision !== shown) tell(`changed at ${moment(written)}; not shown yet`);
  else if (state.busy) tell("Reading the profile ...");
  else tell(`as of ${moment(written)}`);
}

async function ask() {
  if (asking) return;
  asking = true;
  try {
    const response = await fetch("state", { cache: "no-store" });
    if (response.ok) take(await response.json());
    else tell("This address is of an earlier run of lineprof serve: open the one that it printed.", true);
  } catch {
    tell("lineprof serve has ended, or cannot be reached.", true);
  }
  asking = false;
}

// The report tells its place. It has no origin of its own, and no other access to here.
addEventListener("message", (event) => {
  const address = event.data?.address;
  if (event.source !== frame.contentWindow || typeof address !== "string") return;
  if (address === place || (address && !address.startsWith("#"))) return;
  place = address;
  history.replaceState(null, "", place || location.pathname);
});

addEventListener("hashchange", () => {
  if (location.hash === place) return;
  place = location.hash;
  if (shown) go();
});

follow.addEventListener("change", ask);
document.addEventListener("visibilitychange", () => document.hidden || ask());
frame.addEventListener("load", () => document.activeElement === document.body && frame.focus());
setInterval(() => document.hidden || ask(), PERIOD);
ask();
