// The page: its head, its tabs, the keys that work everywhere.

/** Return whether the page is dark, by the reader's choice or by the system's. */
function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  for (const one of onTheme) one();
}

function addTab(name, title, view) {
  const panel = h("section", { id: `panel-${name}`, class: `panel ${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`, hidden: true });
  const tab = {
    name,
    title,
    panel,
    made: false,
    make: (element) => view.make(element),
    show: (parts) => view.show?.(parts),
    view,
  };
  tab.button = h("button", {
    id: `tab-${name}`,
    role: "tab",
    "aria-controls": `panel-${name}`,
    "aria-selected": "false",
    tabindex: -1,
    click: () => go(tab.last ?? address(name)),
  }, title);
  tabs.push(tab);
}

function headFacts() {
  const wall = Math.max(0, ...data.processes.map((one) => one.wall_ns));
  const measured = data.lines.line.length;
  const facts = [
    wall ? ["Wall", time(wall)] : null,
    ["In functions", time(data.selfTotal)],
    data.gpu ? ["GPU", time(data.gpuTotal)] : null,
    ["Lines", count(measured)],
    ["Functions", count(data.functions.count)],
    data.processes.length > 1 ? ["Processes", count(data.processes.length)] : null,
  ].filter(Boolean);
  return h("dl", { class: "facts-row" }, facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
}

function pageKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const digit = Number(event.key);
  if (digit >= 1 && digit <= tabs.length) go(tabs[digit - 1].last ?? address(tabs[digit - 1].name));
  else if (event.key === "t") toggleTheme();
  else if (event.key === "/") current.panel.querySelector(".middle .search, .search")?.focus();
  else if (event.key === "f") {
    if (current.name !== "source") go(tabs[0].last ?? address("source"));
    tabs[0].view.outline?.input.focus();
  } else return;
  event.preventDefault();
}

function tabKey(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const index = (tabs.indexOf(current) + step + tabs.length) % tabs.length;
  go(tabs[index].last ?? address(tabs[index].name));
  tabs[index].button.focus();
  event.preventDefault();
}

/**
 * Tell the page around this one, that of lineprof serve, what is shown, so that it can
 * show that again after a change of the profile. A page of any other server, or of a
 * file, is told nothing.
 */
function tellAddress() {
  if (parent === window || !location.protocol.startsWith("http")) return;
  parent.postMessage({ address: location.hash }, location.origin);
}

async function main() {
  const app = document.getElementById("app");
  try {
    await loadData();
    addTab("source", "Source", new SourceView());
    addTab("functions", "Functions", new FunctionsView());
    addTab("lines", "Hot lines", new HotLinesView());
    addTab("flame", "Flame graph", new FlameView());
    addTab("timeline", "Timeline", new TimelineView());
    if (data.gpu) addTab("gpu", "GPU", new GpuView());
    if (data.ranks) addTab("ranks", "Ranks", new RanksView());
    addTab("files", "Files", new FilesView());
    if (data.advice) addTab("advice", `Advice${data.advice.length ? ` (${data.advice.length})` : ""}`, new AdviceView());
    addTab("run", data.notes.length ? `Run (${counted(data.notes.length, "note")})` : "Run", new RunView());
    app.replaceChildren(
      h("header", {},
        h("h1", { title: visible(data.title) }, visible(data.title)),
        headFacts(),
        h("button", { class: "theme", title: "Light or dark (t)", "aria-label": "Light or dark", click: toggleTheme }, "\u25d0")),
      h("nav", { role: "tablist", "aria-label": "Views", keydown: tabKey }, tabs.map((one) => one.button)),
      h("main", {}, tabs.map((one) => one.panel)));
    addEventListener("hashchange", () => {
      showAddress();
      current.last = location.hash;
      tellAddress();
    });
    addEventListener("keydown", pageKey);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => onTheme.forEach((one) => one()));
    showAddress();
    tellAddress(); // the reader may have gone back to it
    document.documentElement.dataset.ready = performance.now().toFixed(0); // ms
  } catch (error) {
    app.replaceChildren(h("p", { class: "failure" }, `This report cannot be shown: ${error.message}. It needs a browser of 2023 or later.`));
    throw error;
  }
}

main();
