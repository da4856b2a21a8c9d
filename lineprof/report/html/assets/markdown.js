// Texts in Markdown, for issues and comments: https://github.github.com/gfm/. What could be markup, a
// link or a mention of somebody becomes code, in which nothing has a meaning but the pipes of a table.

const MOST_LETTERS = 60000; // of a copied text: a comment on GitHub has 65,536 at most
const MOST_OF_CELL = 300; // letters

/** Words without markup, but for what becomes a link or a picture. */
const WORDS = /^([\p{L}\p{N} .,;:%()+=?/'"\u00b1\u00b7\u00d7\u2013\u2026\u2190-\u2193\u2212-]|<(?=\d))*$/u;
const NO_WORDS = /www\.|:\/\/|:[\w+-]+:/i;

/** Return a run of backticks that is longer than those in `text`. */
function fenceOf(text, least) {
  const runs = text.match(/`+/g) ?? [];
  return "`".repeat(Math.max(least, ...runs.map((one) => one.length + 1)));
}

/** Return a text as code in a line. */
function codeSpan(text) {
  const whole = visible(text.trim().replaceAll("\n", "\\n").replaceAll("\t", " "));
  const short = whole.length > MOST_OF_CELL ? `${whole.slice(0, MOST_OF_CELL).replace(/[\ud800-\udbff]$/, "")}\u2026` : whole;
  const fence = fenceOf(short, 1);
  const blank = /^`|`$/.test(short) ? " " : "";
  return short && fence + blank + short + blank + fence;
}

/** Return a text as it is, or as code if it could have a meaning. */
function inline(text) {
  return WORDS.test(text) && !NO_WORDS.test(text) && text.length <= MOST_OF_CELL ? text.trim() : codeSpan(text);
}

/** Return lines of code as a block. */
function codeBlock(lines) {
  const text = lines.join("\n");
  const fence = fenceOf(text, 3);
  return `${fence}text\n${text}\n${fence}`;
}

/** Return what a cell shows: a text, an element, or an array of these. Drawings and buttons are nothing. */
function cellMarkdown(content) {
  if (content == null || content === false) return "";
  if (Array.isArray(content)) return content.map(cellMarkdown).filter(Boolean).join(" ");
  if (!(content instanceof Element)) return inline(content.data ?? String(content));
  if (content.matches("[aria-hidden], .fold")) return "";
  return content.matches("code, bdi, .text") ? codeSpan(content.textContent) : cellMarkdown([...content.childNodes]);
}

/** Return as many of `count` lines as fit, and how many are missing; `make(at)` returns one. */
function fitting(count, make) {
  const lines = [];
  for (let letters = 0; lines.length < count; ) {
    const one = make(lines.length);
    letters += one.length + 1;
    if (letters > MOST_LETTERS) break;
    lines.push(one);
  }
  return [lines, count - lines.length];
}

/** Return how many rows a text lacks, as a paragraph. */
function leftOut(rows, noun = "more row") {
  return rows ? `\n\n${counted(rows, noun)} left out.` : "";
}

/** Return a table below its title; columns have a `title` and may be `left`, `cells(at)` are Markdown. */
function tableMarkdown(title, columns, count, cells) {
  const row = (texts) => `| ${texts.map((one) => one.replaceAll("|", "\\|")).join(" | ")} |`;
  const [lines, rest] = fitting(count, (at) => row(cells(at)));
  const head = [row(columns.map((one) => inline(one.title))), row(columns.map((one) => (one.left ? ":--" : "--:")))];
  return `${title}\n\n${[...head, ...lines].join("\n")}${leftOut(rest)}`;
}

/** Return an HTML table as one of Markdown. */
function htmlTableMarkdown(title, table) {
  const isDrawing = (cell) => cell.firstElementChild?.matches(".bar") && !cell.textContent;
  const cells = (row) => [...row.cells].filter((one) => !isDrawing(one));
  const indent = (cell) => "&emsp;".repeat(parseFloat(cell.style.paddingLeft || 0) / 14);
  const rows = [...table.tBodies[0].rows];
  const first = rows.length ? cells(rows[0]) : [];
  const titles = table.tHead ? cells(table.tHead.rows[0]).map((one) => one.textContent) : first.map(() => "");
  const columns = titles.map((one, at) => ({ title: one, left: first[at]?.matches("th, .left, .text, .process td") }));
  return tableMarkdown(title, columns, rows.length, (at) => cells(rows[at]).map((one) => indent(one) + cellMarkdown([...one.childNodes])));
}

/** Return the title of a text: what it shows, and of which program. */
function titleMarkdown(what, more = "") {
  return `**${inline(what)}** of ${codeSpan(data.title)}${more}`;
}
