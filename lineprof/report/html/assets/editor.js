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

/** Schemes of browsers, which would show or run what is behind them, and of the tools of Windows. */
const NO_EDITOR =
  /^(https?|wss?|ftps?|file|filesystem|data|blob|javascript|vbscript|livescript|about|view-source|chrome.*|edge|brave|opera|moz-.*|resource|jar|intent|mailto|tel|sms|ms-.*|search.*|shell|mk|res|hcp|ldap)$/i;

/** Return why `template` is no address of an editor; "" if it is one. */
function templateProblem(template) {
  if (typeof template !== "string" || !template) return "An address is needed, such as vscode://file/{path}:{line}.";
  if (template.length > 1000) return "The address is too long.";
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*):([!-~]+)$/i.exec(template) ?? [];
  if (!scheme) return "The address has to begin with the scheme of an editor, such as vscode:, and to have no blanks.";
  if (NO_EDITOR.test(scheme)) return `${scheme}: is not the scheme of an editor.`;
  const unknown = rest.replace(/\{(path|line|column)\}/g, "").match(/\{.*?\}|[{}]/);
  if (unknown) return `The address has ${unknown[0]}; it may have {path}, {line} and {column}.`;
  return rest.includes("{path}") ? "" : "The address needs {path}.";
}

/** Return why no editor can open the file with this path; "" if one may. */
function pathProblem(path) {
  if (typeof path !== "string" || !path || path.length > 4096) return "The file is not known.";
  // A share of a network: Windows would send the name and password of its user there.
  if (/^[\\/]{2}/.test(path)) return "Files of a network are not opened.";
  if (/^<|[\\/]ipykernel_\d+[\\/]\d+\.py$/.test(path)) return "This source is in no file.";
  if (!/^(\/|[a-z]:[\\/])/i.test(path)) return "The folder of the file is not known.";
  // Bytes that are no text came as U+FFFD: it is not known which they were.
  return /[\p{Cc}\p{Cs}\ufffd]/u.test(path) ? "The name of the file has characters that no address can have." : "";
}

/** Return a path with all but its slashes percent-encoded. */
function encodedPath(path) {
  const [, drive, rest] = /^([a-z]:(?=[\\/]))?(.*)$/i.exec(path);
  const escape = (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`;
  const names = (drive ? rest.replaceAll("\\", "/") : rest).split("/");
  return (drive ?? "") + names.map((one) => encodeURIComponent(one).replace(/[!'()*]/g, escape)).join("/");
}

/** Return the address that opens a line; "" if one of the arguments, of any type, is not right. */
function editorAddress(template, path, line) {
  if (templateProblem(template) || pathProblem(path) || !Number.isSafeInteger(line) || line < 1) return "";
  const values = { path: encodedPath(path), line, column: 1 };
  // The slash before a path is also its first one.
  const joined = values.path.startsWith("/") ? template.replaceAll("/{path}", "{path}") : template;
  return joined.replace(/\{(path|line|column)\}/g, (_, name) => values[name]);
}

/** Follow an address that a program outside of the browser opens. */
function followAddress(href) {
  const anchor = document.createElement("a");
  anchor.href = href;
  anchor.click();
}
