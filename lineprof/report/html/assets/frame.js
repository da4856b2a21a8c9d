// The frame of a page: its head, its tabs, the keys that work everywhere.

/** Return whether the page is dark, by the reader's choice or by the system's. */
function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// The name of the window has the reader's choice: the next report in the frame of lineprof
// serve can read that, and nothing else that this one could keep.
const CHOSEN = "lineprof-theme-";
const chosen = window.name.startsWith(CHOSEN) ? window.name.slice(CHOSEN.length) : "";
if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;

function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  window.name = CHOSEN + theme;
  for (const one of onTheme) one();
}

function addTab(name, title, view) {
  const panel = h("section", { id: `panel-${name}`, class: `panel ${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`, hidden: true });
  const tab = { name, view, panel };
  tab.button = h("button", {
    id: `tab-${name}`,
    role: "tab",
    "aria-controls": `panel-${name}`,
    "aria-selected": "false",
    tabindex: -1,
    click: () => openTab(tab),
  }, title);
  tabs.push(tab);
}

/** Show a tab, and in it what was shown last. */
function openTab(tab) {
  go(tab.last ?? address(tab.name));
}

function pageKey(event) {
  if (isModified(event) || event.target.closest("input, select, textarea")) return;
  const digit = Number(event.key);
  if (digit >= 1 && digit <= tabs.length) openTab(tabs[digit - 1]);
  else if (event.key === "t") toggleTheme();
  else if (event.key === "/") current.panel.querySelector(".middle .search, .search")?.focus();
  else if (event.key === "f" && tabs[0].view.outline) {
    if (current !== tabs[0]) openTab(tabs[0]);
    tabs[0].view.focusFunctions();
  } else return;
  event.preventDefault();
}

function tabKey(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const tab = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length];
  openTab(tab);
  tab.button.focus();
  event.preventDefault();
}

/**
 * Tell the page around this one, that of lineprof serve, which place is shown: it shows
 * that again after a change of the profile. In files and notebooks nobody is told.
 */
function tellAddress() {
  if (parent === window || !location.protocol.startsWith("http")) return;
  parent.postMessage({ address: location.hash }, location.origin);
}

/** Return facts of the head: a list of [name, text]. */
function factsRow(facts) {
  return h("dl", { class: "facts-row" }, facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
}

/** Return a sentence on what wrote the page. */
function colophon() {
  return h("p", { class: "dim" }, `Written by lineprof ${data.version}. This file loads nothing and sends nothing.`);
}

/** Show a page: `make` reads the data and adds the tabs, and returns the facts of its head. */
async function showPage(make) {
  const app = document.getElementById("app");
  try {
    const facts = await make();
    app.replaceChildren(
      h("header", {},
        h("h1", { title: visible(data.title) }, visible(data.title)),
        factsRow(facts),
        h("button", { class: "theme", title: "Light or dark (t)", "aria-label": "Light or dark", click: toggleTheme }, "\u25d0")),
      h("nav", { role: "tablist", "aria-label": "Views", keydown: tabKey }, tabs.map((one) => one.button)),
      h("main", {}, tabs.map((one) => one.panel)));
    addEventListener("hashchange", () => {
      showAddress();
      current.last = location.hash;
      tellAddress();
    });
    addEventListener("keydown", pageKey);
    // In a notebook, links would lead to the address of the notebook.
    addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href^='#']");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(link.getAttribute("href"));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => onTheme.forEach((one) => one()));
    showAddress();
    tellAddress(); // the reader may have gone back to it
    document.documentElement.dataset.ready = performance.now().toFixed(0); // ms
  } catch (error) {
    showFailure(error);
    throw error;
  }
}
