"use strict";
// What both pages share: the line that tells their state, and their questions.

const line = document.getElementById("state");

function tell(text, isProblem) {
  if (line.textContent !== text) line.textContent = text;
  line.classList.toggle("problem", Boolean(isProblem));
}

/**
 * Ask the server for `path` now, and every `period` (ms) while the page is in sight, and
 * return the function that asks. `take` gets each answer, `lost` why there is none.
 */
function askEvery(period, path, take, lost) {
  let asking = false;
  async function ask() {
    if (asking) return;
    asking = true;
    try {
      const response = await fetch(path, { cache: "no-store" });
      if (response.ok) take(await response.text());
      else lost("This address is of an earlier run of lineprof serve: open the one that it printed.");
    } catch {
      lost("lineprof serve has ended, or cannot be reached.");
    }
    asking = false;
  }
  const askInSight = () => document.hidden || ask();
  document.addEventListener("visibilitychange", askInSight);
  setInterval(askInSight, period);
  ask();
  return ask;
}
