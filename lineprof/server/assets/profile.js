// The page around a report: asks the server whether the profile has changed, shows the
// new report then, and keeps the place behind the # of both addresses the same.

const frame = document.getElementById("report");
const follow = document.getElementById("follow");
const opening = document.getElementById("opening");

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

// The report may ask to open a line in an editor, which a frame like its own cannot. Its wish may be that
// of a hostile profile: it counts only for a click or a key, and only EDITORS and that of LINEPROF_EDITOR are
// opened at once; about any other address the reader is asked here.

const trusted = new Set([...Object.values(EDITORS), document.body.dataset.editor]); // and what the reader agreed to
let openedAt = -Infinity; // ms; also when the question came
let isAsking = false;
let hiding = 0; // the timer that takes the last message away

function openLine({ editor, path, line: number }) {
  const href = editorAddress(editor, path, number);
  const now = performance.now();
  const isWished = navigator.userActivation?.isActive; // undefined in older browsers, which always ask
  if (!href || isAsking || isWished === false || now - openedAt < 500) return;
  openedAt = now;
  if (isWished && trusted.has(editor)) launch(href);
  else ask(href, editor);
}

function launch(href) {
  followAddress(href);
  isAsking = false;
  opening.replaceChildren(`Opening ${href}`);
  opening.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => (opening.hidden = !isAsking), 4000);
}

/** Show an address, and let the reader open it. */
function ask(href, editor) {
  isAsking = true;
  const button = (text, act) => {
    const one = document.createElement("button");
    one.textContent = text;
    // A click that was meant for the report, which lay here, is no answer.
    one.addEventListener("click", () => performance.now() - openedAt > 500 && act());
    return one;
  };
  const open = () => {
    trusted.add(editor);
    launch(href);
    frame.focus();
  };
  const refusal = button("Cancel", cancel);
  opening.replaceChildren(`The report asks to open another program: ${href} `, button("Open", open), " ", refusal);
  opening.hidden = false;
  refusal.focus();
}

function cancel() {
  isAsking = false;
  opening.hidden = true;
  frame.focus();
}

opening.addEventListener("keydown", ({ key }) => key === "Escape" && cancel());

// The report tells its place. It has no origin of its own, and no other access to here.
addEventListener("message", (event) => {
  if (event.source !== frame.contentWindow) return;
  const { address, open } = Object(event.data);
  if (open) openLine(Object(open));
  if (typeof address !== "string") return;
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
