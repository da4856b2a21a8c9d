// The address that opens a line in an editor. The page of lineprof serve has this file as well: what
// a report in its frame sends is checked there again.

/**
 * Addresses by the name of the editor that opens them. VS Code's, which its relatives share:
 * https://code.visualstudio.com/docs/configure/command-line#_opening-vs-code-with-urls
 */
const EDITORS = {
  "VS Code": "vscode://file/{path}:{line}",
  "VS Code Insiders": "vscode-insiders://file/{path}:{line}",
  VSCodium: "vscodium://file/{path}:{line}",
  Cursor: "cursor://file/{path}:{line}",
  Windsurf: "windsurf://file/{path}:{line}",
  Zed: "zed://file/{path}:{line}",
  PyCharm: "pycharm://open?file={path}&line={line}",
  "IntelliJ IDEA": "idea://open?file={path}&line={line}",
};

/** Schemes that browsers show or run themselves, and those of tools of Windows. */
const NO_EDITOR = /^(https?|wss?|ftps?|file.*|data|blob|javascript|vbscript|about|view-source|chrome.*|moz-.*|intent|jar|mailto|mhtml|res|resource|ms-.*|search.*|shell)$/i;

const PLACEHOLDERS = /\{(path|line|column)\}/g;

/** Return why `template` is no address of an editor; "" if it is one. */
function templateProblem(template) {
  const [, scheme, rest] = (typeof template === "string" && /^([a-z][a-z0-9+.-]*):([!-~]{1,1000})$/i.exec(template)) || [];
  if (!scheme) return "The address has to begin with the scheme of an editor, such as vscode:, and to have no blanks.";
  if (NO_EDITOR.test(scheme)) return `${scheme}: is not the scheme of an editor.`;
  if (/[{}]/.test(rest.replace(PLACEHOLDERS, ""))) return "The address may have {path}, {line} and {column}.";
  return rest.includes("{path}") ? "" : "The address needs {path}.";
}

/** Return why no editor can open the file with this path; "" if one may. */
function pathProblem(path) {
  if (typeof path !== "string" || !path || path.length > 4096) return "The file is not known.";
  // A share of a network: Windows would send the name and password of its user there.
  if (/^[\\/]{2}/.test(path) || /^\/(\\|\?\?\/)/.test(resolvedPath(path))) return "Files of a network are not opened.";
  if (/^<|[\\/]ipykernel_\d+[\\/]\d+\.py$/.test(path)) return "This source is in no file.";
  if (!/^(\/|[a-z]:[\\/])/i.test(path)) return "The folder of the file is not known.";
  // U+FFFD stands for bytes that are no text.
  return /[\p{Cc}\p{Cs}\ufffd]/u.test(path) ? "The name of the file has characters that no address can have." : "";
}

/** Return a path without names such as "..", which a browser resolves beyond the path as well: to another host. */
function resolvedPath(path) {
  // Paths of Windows begin with a drive, such as C:.
  const [drive, rest] = path.startsWith("/") ? ["", path] : [path.slice(0, 2), path.slice(2).replaceAll("\\", "/")];
  const names = [];
  for (const one of rest.split("/")) {
    if (one === "..") names.pop();
    else if (one && one !== ".") names.push(one);
  }
  return `${drive}/${names.join("/")}`;
}

/** Return a path with all but its slashes and the colon of its drive percent-encoded. */
function encodedPath(path) {
  const escape = (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`;
  const encode = (one) => encodeURIComponent(one).replace(/[!'()*]/g, escape);
  const [drive, ...names] = resolvedPath(path).split("/");
  return [drive, ...names.map(encode)].join("/");
}

/** Return the address that opens a line; "" if one of the arguments, of any type, is not right. */
function editorAddress(template, path, line) {
  if (templateProblem(template) || pathProblem(path) || !Number.isSafeInteger(line) || line < 1) return "";
  const values = { path: encodedPath(path), line, column: 1 };
  // The slash before a path is also its first one; a drive needs one behind a host.
  const joined = values.path.startsWith("/") ? template.replaceAll("/{path}", "{path}") : template.replace(/(\w)\{path\}/g, "$1/{path}");
  return joined.replace(PLACEHOLDERS, (_, name) => values[name]);
}

/** Follow an address that a program outside of the browser opens. */
function followAddress(href) {
  const anchor = document.createElement("a");
  anchor.href = href;
  anchor.click();
}
