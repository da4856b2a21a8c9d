// The frame of a page: its head, its tabs, the keys that work everywhere.

/** Return whether the page is dark, by the reader's choice or by the system's. */
function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// The name of the window has the reader's choices: the next report in the frame of lineprof
// serve can read that name, and nothing else that this one could keep.
const CHOICES = "lineprof ";

/** Return what the reader chose in this report or one before: {theme, editor}. */
function choices() {
  try {
    return Object(window.name.startsWith(CHOICES) && JSON.parse(window.name.slice(CHOICES.length)));
  } catch {
    return {}; // somebody else gave it the name
  }
}

/** Keep a choice of the reader. */
function choose(what, value) {
  window.name = CHOICES + JSON.stringify({ ...choices(), [what]: value });
}

/** Show the page in the theme that the reader chose in a report before, if any. */
function keepTheme() {
  const { theme } = choices();
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
}

/** Change between light and dark. */
function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  choose("theme", theme);
  for (const one of onTheme) one();
}

/** Add a tab, whose `view` is made when it is first shown. */
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

/** Keys that work in every view. Those of a view are in its `keys`, in the same form. */
const PAGE_KEYS = {
  title: "Everywhere",
  list: [
    ["Ctrl+K", "find a function, a file, a line or a tab"],
    ["1 to 9", "the tabs"],
    ["/", "search in the tab that is shown"],
    ["Escape", "leave a search"],
    ["f", "search functions and files"],
    ["y", "copy a link to the line that is chosen, or to the tab"],
    ["m", "copy the table, or the function in the source, as Markdown"],
    ["e", "open the line that is chosen in an editor"],
    ["t", "light or dark"],
    ["?", "this list"],
  ],
};

/** Do what a key does in every view. */
function pageKey(event) {
  const { key, target } = event;
  if (target.closest("dialog")) return;
  if (isFindKey(event)) openPalette();
  else if (event.defaultPrevented || isModified(event)) return;
  else if (key === "Escape" && target.matches(".search")) mainElement().focus({ preventScroll: true });
  else if (target.closest("input, select, textarea")) return;
  else if (Number(key) >= 1 && Number(key) <= tabs.length) openTab(tabs[key - 1]);
  else if (key === "t") toggleTheme();
  else if (key === "?") openKeys();
  else if (key === "y") copyLink();
  else if (key === "m") copyMarkdown();
  else if (key === "e") openChosen();
  else if (key === "/") current.panel.querySelector(".search:not(.outline *)")?.focus();
  else if (key === "f" && sourceTab()) {
    openTab(sourceTab());
    sourceTab().view.focusFunctions();
  } else if (!handedOver(event)) return;
  event.preventDefault();
}

/** Return the tab of the source; undefined if the page has none. */
function sourceTab() {
  return tabs.find((one) => one.name === "source");
}

/**
 * Hand a key to the shown view if nothing else would take it, and the focus as well if the view does
 * something with the key; return whether it does. So the keys of a view work at once, and the page
 * takes the focus from nobody when it opens.
 */
function handedOver(event) {
  const { key, shiftKey, target } = event;
  const main = mainElement();
  // A tab takes the arrows to the left and right itself.
  const isFree = target === document.body || (target.matches("[role=tab]") && /^(Arrow|Page)/.test(key));
  if (main.contains(target) || !(isFree || (key.length === 1 && key !== " "))) return false;
  if (main.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, cancelable: true }))) {
    // A view without keys of its own is scrolled by those of the browser.
    if (isFree && main === current.panel) main.focus({ preventScroll: true });
    return false;
  }
  main.focus({ preventScroll: true });
  return true;
}

/** Go to another tab by a key in the row of tabs. */
function tabKey(event) {
  const at = tabs.indexOf(current);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  openTab(tabs.at(to % tabs.length));
  current.button.focus();
  event.preventDefault();
}

/**
 * Tell the page around this one, that of lineprof serve, which place is shown: it shows
 * that again after a change of the profile. In files and notebooks nobody is told.
 */
function tellAddress(hash) {
  if (parent === window || !location.protocol.startsWith("http")) return;
  parent.postMessage({ address: hash }, location.origin);
}

/** Return facts of the head: a list of [name, text]. */
function factsRow(facts) {
  return h("dl", { class: "facts-row" }, facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
}

const KEY_SIGNS = { ArrowDown: "\u2193", ArrowUp: "\u2191", ArrowLeft: "\u2190", ArrowRight: "\u2192", PageDown: "PgDn", PageUp: "PgUp", Escape: "Esc" };

/** Show the keys of the page and of its views. */
function openKeys() {
  const groups = [PAGE_KEYS, ...new Set(tabs.map((one) => one.view.keys))].filter(Boolean);
  const keys = (names) => names.split(" ").map((one) => [one === "to" ? one : h("kbd", {}, KEY_SIGNS[one] ?? one), " "]);
  openDialog("Keys", "keys", groups.map(({ title, list: rows }) =>
    h("section", {}, h("h3", {}, title),
      h("dl", {}, rows.map(([names, text]) => h("div", {}, h("dt", {}, keys(names)), h("dd", {}, text)))))));
}

/** Open a dialog above the page until the reader closes it; the focus then goes back. Return it. */
function openDialog(title, kind, content) {
  const close = () => dialog.close();
  const dialog = h("dialog", { class: kind, "aria-label": title, close: () => dialog.remove(), click: (event) => event.target === dialog && close() },
    h("div", { class: "dialog" }, h("button", { class: "icon close", "aria-label": "Close", click: close }, "\u00d7"), content));
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Return a sentence on what wrote the page. */
function colophon() {
  return h("p", { class: "dim" }, `Written by lineprof ${data.version}. This file loads nothing and sends nothing.`);
}

/** Show a page: `make` reads the data and adds the tabs, and returns the facts of its head. */
async function showPage(make) {
  const app = document.getElementById("app");
  keepTheme();
  try {
    const facts = await make();
    // A tab with nothing in it is the last one.
    tabs.sort((one, other) => Boolean(one.view.isEmpty) - Boolean(other.view.isEmpty));
    for (const { view, button } of tabs) button.classList.toggle("dim", Boolean(view.isEmpty));
    const headButton = (kind, label, key, click) => h("button", { class: `icon ${kind}`, title: `${label} (${key})`, "aria-label": label, click });
    app.replaceChildren(
      h("header", {},
        h("button", { class: "skip", click: () => mainElement().focus() }, "Skip to the view"),
        h("h1", { title: visible(data.title) }, visible(data.title)),
        factsRow(facts),
        headButton("find", "Find", "Ctrl+K", openPalette),
        headButton("keys", "Keys", "?", openKeys),
        headButton("theme", "Light or dark", "t", toggleTheme)),
      h("nav", { "aria-label": "Views" },
        h("div", { role: "tablist", "aria-label": "Views", keydown: tabKey }, tabs.map((one) => one.button))),
      h("main", {}, tabs.map((one) => one.panel)),
      h("p", { class: "said", role: "status" }));
    addEventListener("hashchange", () => {
      if (location.hash !== current.last) showAddress();
    });
    addEventListener("keydown", pageKey);
    // In a notebook, links would lead to the address of the notebook.
    addEventListener("click", (event) => {
      const anchor = event.target.closest?.("a[href^='#']");
      if (!anchor || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(anchor.getAttribute("href"));
    });
    for (const query of ["(prefers-color-scheme: dark)", "print"]) {
      matchMedia(query).addEventListener("change", () => onTheme.forEach((one) => one()));
    }
    showAddress();
    document.documentElement.dataset.ready = performance.now().toFixed(0); // ms
  } catch (error) {
    showFailure(error);
    throw error;
  }
}
