// Texts in Markdown, for issues and comments: https://github.github.com/gfm/. A word that could be markup,
// a link or a mention of somebody becomes code, in which nothing has a meaning but the pipes of a table.

const MOST_LETTERS = 60000; // of a copied text: a comment on GitHub has 65,536 at most
const MOST_OF_CELL = 300; // letters

/** A word without markup, but for what becomes a link or a picture. */
const WORD = /^([\p{L}\p{N}.,;:%()+=?/'"\u00b1\u00b7\u00d7\u2013\u2026\u2190-\u2193\u2212-]|<(?=\d))*$/u;
const NO_WORD = /www\.|:\/\/|:[\w+-]+:/i;

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

/** Return a text whose words are code if they could have a meaning. */
function inline(text) {
  const isPlain = (one) => WORD.test(one) && !NO_WORD.test(one);
  return text.trim().split(/ +/).map((one) => (isPlain(one) ? one : codeSpan(one))).join(" ");
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

/** Return as many of `count` lines as have `room` (letters), and how many have none; `make(at)` returns one. */
function fitting(count, make, room = MOST_LETTERS) {
  const lines = [];
  for (let letters = 0; lines.length < count; ) {
    const one = make(lines.length);
    letters += one.length + 1;
    if (letters > room) break;
    lines.push(one);
  }
  return [lines, count - lines.length];
}

/** Return how many rows a text lacks, as a paragraph. */
function leftOut(rows, noun = "more row") {
  return rows ? `\n\n${counted(rows, noun)} left out.` : "";
}

/** Return a table below its title; columns have a `title` and may be `left`, `cells(at)` are Markdown. */
function tableMarkdown(title, columns, count, cells, room) {
  const row = (texts) => `| ${texts.map((one) => one.replaceAll("|", "\\|")).join(" | ")} |`;
  const [lines, rest] = fitting(count, (at) => row(cells(at)), room);
  const head = [row(columns.map((one) => inline(one.title))), row(columns.map((one) => (one.left ? ":--" : "--:")))];
  return `${title}\n\n${[...head, ...lines].join("\n")}${leftOut(rest)}`;
}

/** Return an HTML table as one of Markdown. */
function htmlTableMarkdown(title, table, room) {
  const isDrawing = (cell) => cell.firstElementChild?.matches(".bar") && !cell.textContent;
  const cells = (row) => [...row.cells].filter((one) => !isDrawing(one));
  const indent = (cell) => "&emsp;".repeat(parseFloat(cell.style.paddingLeft || 0) / 14);
  const rows = [...table.tBodies[0].rows];
  const first = rows.length ? cells(rows[0]) : [];
  const titles = table.tHead ? cells(table.tHead.rows[0]).map((one) => one.textContent) : first.map(() => "");
  const columns = titles.map((one, at) => ({ title: one, left: first[at]?.matches("th, .left, .text, .process td") }));
  return tableMarkdown(title, columns, rows.length, (at) => cells(rows[at]).map((one) => indent(one) + cellMarkdown([...one.childNodes])), room);
}

/** Return some tables, which share the room; `make(room)` returns one, "" for none. */
function tablesMarkdown(makes) {
  return makes.map((make) => make(MOST_LETTERS / makes.length)).filter(Boolean).join("\n\n");
}

/** Return the title of a text: what it shows, and of which program. */
function titleMarkdown(what, more = "") {
  return `**${inline(what)}** of ${codeSpan(data.title)}${more}`;
}
