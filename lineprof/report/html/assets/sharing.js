// What leaves the page: links to lines, tables in Markdown, a line that is opened in an editor. All of
// it is done for a click or a key alone.

// Copies.

/** Tell in a line at the foot of the page what was done, for some seconds. */
function announce(text) {
  const said = document.querySelector(".said");
  said.textContent = text;
  clearTimeout(announce.end);
  announce.end = setTimeout(() => (said.textContent = ""), 6000);
}

/** Copy a text, `what` says of what; where a browser refuses that, show the text to be copied by hand. */
async function copyText(text, what) {
  try {
    // Frames have no other clipboard, nor have pages without HTTPS.
    if (!copiedByCommand(text)) await navigator.clipboard.writeText(text);
    announce(`Copied ${what}.`);
  } catch {
    showText(`Copy ${what}`, text, "This browser lets the page copy nothing: copy the text yourself.");
  }
}

/** Copy a text as the browser does for a selected one; return whether it did. */
function copiedByCommand(text) {
  const focused = document.activeElement;
  const field = h("textarea", { class: "copied", readonly: true }, text);
  document.body.append(field);
  field.focus({ preventScroll: true });
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  return isDone;
}

/** Show a text that can be selected. */
function showText(title, text, why) {
  const field = h("textarea", { readonly: true, rows: 12, "aria-label": title }, text);
  openDialog(title, "by-hand", [h("h2", {}, title), h("p", {}, why), field]);
  field.select();
}

/** Return a button that copies the Markdown that `make()` returns. */
function markdownButton(make) {
  return h("button", { title: "Copy the table for an issue or a comment (m)", click: () => copyText(make(), "the table as Markdown") }, "Copy as Markdown");
}

/** Return a heading beside the button that copies the Markdown of `make()`, of what is below. */
function copyHead(heading, make) {
  return h("div", { class: "tools titled" }, heading && h("h2", {}, heading), markdownButton(make));
}

/** Copy the shown tables, or the function in the source, as Markdown. */
function copyMarkdown() {
  const text = current.view.markdown?.();
  if (text) copyText(text, `${sourceTab() === current ? "the function" : "the table"} as Markdown`);
  else announce("This tab has no table.");
}

// Places.

/** Return whether this is the report inside the page of lineprof serve. */
function isServed() {
  return parent !== window && self.origin === "null" && location.pathname.endsWith("/report");
}

/** Return the address of the row, the line or the frame that is chosen; undefined if none is. */
function chosenAddress() {
  return current.view.chosen?.();
}

/** Return the file of an address of this page, by its path, and the line; {} if it names none. */
function placeAt(hash = "") {
  const [tab, name, line, after] = hash.slice(1).split("/").map(decodeURIComponent);
  if (tab === "source") return { path: data.files.path[data.files.name.indexOf(name)], line: Number(line) || 1 };
  const source = tab === "sides" && data.sources[Number(name ?? 0)];
  if (!source) return {};
  const side = source.paths[1] && (Number(after) || !Number(line)) ? 1 : 0;
  const first = source[side ? "after" : "before"].find(Boolean);
  return { path: source.paths[side], line: Number(side ? after : line) || first || 1 };
}

/** Copy a link to what is shown: the chosen line, else the tab. */
function copyLink() {
  const hash = chosenAddress() ?? current.last ?? address(current.name);
  const [whole] = location.href.split("#");
  // The report has no address of its own there, but the page around it.
  if (isServed()) copyText(new URL(".", whole).href + hash, "a link");
  else if (/^(https?|file):/.test(whole)) copyText(whole + hash, "a link");
  else copyPlace(": a page in a notebook has no address");
}

/** Copy the path and the number of the chosen line, as compilers name a line. */
function copyPlace(why = "") {
  const { path, line } = placeAt(chosenAddress());
  if (path) copyText(visible(`${path}:${line}`), `the path and the line${why}`);
  else announce(`Choose a line first${why}.`);
}

// Editors.

/** Return the address of lines in the editor of the reader, or of who made the page; "" if there is none. */
function chosenEditor() {
  let kept = "";
  try {
    kept = localStorage.getItem("lineprof-editor");
  } catch {
    // A frame without an origin has no storage.
  }
  return [choices().editor, kept, data.editor].find((one) => !templateProblem(one)) ?? "";
}

/** Return the name of the chosen editor. */
function editorName() {
  const editor = chosenEditor();
  return Object.keys(EDITORS).find((name) => EDITORS[name] === editor) ?? "an editor";
}

/** Open the chosen line in an editor; ask for one first if none is known, or if `asks`. */
function openChosen(asks = false) {
  const hash = chosenAddress();
  const { path, line } = placeAt(hash);
  const problem = hash ? pathProblem(path) : "Choose a line first.";
  const editor = chosenEditor();
  if (asks || (!editor && !problem)) return openEditors(() => problem || openChosen());
  if (problem) return announce(problem);
  const href = editorAddress(editor, path, line);
  // The page around the report has the right to open it, and checks it again.
  if (isServed()) parent.postMessage({ open: { editor, path, line } }, location.origin);
  else if (parent !== window && self.origin === "null") showText("Open in an editor", href, "A page in a notebook may open no other program. This is the address of the line:");
  else {
    followAddress(href);
    announce(`Opening ${href}`);
  }
}

/** Let the reader choose an editor, then call `done`. */
function openEditors(done) {
  const names = Object.keys(EDITORS);
  const update = () => {
    picker.value = names.find((name) => EDITORS[name] === field.value) ?? "";
    said.textContent = "";
  };
  const use = () => {
    const problem = templateProblem(field.value.trim());
    said.textContent = problem;
    if (problem) return field.focus();
    choose("editor", field.value.trim());
    try {
      localStorage.setItem("lineprof-editor", field.value.trim());
    } catch {
      // It is known as long as the window has this page.
    }
    dialog.close();
    for (const one of onEditor) one();
    done();
  };
  const field = h("input", { "aria-label": "Address", spellcheck: "false", autocomplete: "off", input: update, keydown: (event) => act(event, { Enter: use }) });
  const picker = select("Editor", [...names.map((one) => [one, one]), ["", "another one"]], () => {
    field.value = EDITORS[picker.value] ?? "";
    if (!picker.value) field.focus();
  });
  const said = h("p", { role: "alert" });
  field.value = chosenEditor() || EDITORS[names[0]];
  const dialog = openDialog("Editor", "editor", [
    h("h2", {}, "Open lines in an editor"),
    h("div", { class: "tools" }, picker, field, h("button", { click: use }, "Use")),
    h("p", { class: "dim" }, "{path} is the path of the file, {line} the number of the line. Nothing opens if this computer has no such file, or no program for the address."),
    said,
  ]);
  update();
  said.textContent = data.editor && templateProblem(data.editor) && `LINEPROF_EDITOR had "${visible(data.editor)}". ${templateProblem(data.editor)}`;
  picker.focus();
}

/** Callbacks for another choice of the editor. */
const onEditor = [];
