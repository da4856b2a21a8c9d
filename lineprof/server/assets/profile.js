// The page around a report: asks the server whether the profile has changed, shows the
// new report then, and keeps the place behind the # of both addresses the same.

const frame = document.getElementById("report");
const follow = document.getElementById("follow");

let shown = ""; // the revision in the frame
let place = location.hash; // of the report

/** Tell the state, also as a tooltip where it is too long for the line. */
function tellAll(text, isProblem) {
  line.title = text;
  tell(text, isProblem);
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

function take(text) {
  const { revision, problem, written, busy } = JSON.parse(text);
  const isNew = revision && revision !== shown;
  if (isNew && (follow.checked || !shown)) show(revision);
  if (problem) tellAll(shown ? `${problem} (this is the report of an earlier state)` : problem, true);
  else if (revision && revision !== shown) tellAll(`changed at ${moment(written)}; not shown yet`);
  else if (busy) tellAll("Reading the profile ...");
  else tellAll(`as of ${moment(written)}`);
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

frame.addEventListener("load", () => document.activeElement === document.body && frame.focus());
follow.addEventListener("change", askEvery(1000, "state", take, (why) => tellAll(why, true)));
