// Syntax of Python: the parts of a line, and the strings that go on over several lines.

const KEYWORDS = new Set(
  (
    "False None True and as assert async await break case class continue def del elif else" +
    " except finally for from global if import in is lambda match nonlocal not or pass raise" +
    " return try type while with yield cdef cpdef cimport"
  ).split(" "),
);
const BUILTINS = new Set(
  (
    "abs all any bool bytearray bytes callable chr classmethod complex dict dir divmod" +
    " enumerate eval exec filter float format frozenset getattr hasattr hash hex id input int" +
    " isinstance issubclass iter len list map max memoryview min next object oct open ord pow" +
    " print property range repr reversed round self set setattr slice sorted staticmethod str" +
    " sum super tuple vars zip"
  ).split(" "),
);

// The groups have names where they are read, in pythonParts: named groups would make an
// object for each match, which takes half as long again.
const PART =
  /(#.*)|([A-Za-z]{0,2}(?:"""|'''))|([A-Za-z]{0,2}"(?:[^"\\]|\\.)*"?|[A-Za-z]{0,2}'(?:[^'\\]|\\.)*'?)|(\b(?:0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?[jJ]?))|(^\s*@[\w.]+)|([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)/g;

/** Return where a string in three quotes ends in `line` from `from` on; -1 if it goes on. */
function endOfString(line, quotes, from) {
  for (let at = from; ; at++) {
    at = line.indexOf(quotes, at);
    if (at < 0) return -1;
    let slashes = 0;
    while (at - 1 - slashes >= from && line[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at + quotes.length;
  }
}

/**
 * Call `emit(text, kind)` with each part of a line, and return the quotes of the string
 * that goes on in the next line, or "". `open` are those that come from the line before.
 */
function pythonParts(line, open, emit) {
  let at = 0;
  let before = "";
  const goesOn = (start, quotes) => {
    const end = endOfString(line, quotes, at);
    at = end < 0 ? line.length : end;
    emit(line.slice(start, at), "string");
    return end < 0;
  };
  if (open && goesOn(0, open)) return open;
  PART.lastIndex = at;
  for (let match; (match = PART.exec(line)); ) {
    if (match.index > at) emit(line.slice(at, match.index), "");
    const [text, comment, quotes, string, number, decorator, name] = match;
    at = match.index + text.length;
    if (quotes) {
      if (goesOn(match.index, quotes.slice(-3))) return quotes.slice(-3);
      PART.lastIndex = at;
    } else if (name) {
      const defines = before === "def" || before === "class";
      if (KEYWORDS.has(text)) emit(text, "keyword");
      else if (defines) emit(text, "defined");
      else emit(text, BUILTINS.has(text) ? "builtin" : "");
      before = text;
    } else if (comment) emit(text, "comment");
    else if (string) emit(text, "string");
    else if (number) emit(text, "number");
    else if (decorator) emit(text, "decorator");
  }
  if (at < line.length) emit(line.slice(at), "");
  return "";
}

/** Letters that are written from right to left: each word of them stands where it stands in the file. */
const LEFTWARD = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Return a line as texts and coloured elements; `open` are the quotes it begins in. */
function pythonSpans(line, open) {
  const found = [];
  pythonParts(line, open, (text, kind) => {
    const isolated = LEFTWARD.test(text);
    found.push(kind || isolated ? h(isolated ? "bdi" : "span", { class: kind && `py-${kind}`, dir: isolated && "ltr" }, visible(text)) : visible(text));
  });
  return found;
}

/** Colours of one text; the state at the start of a line is found when it is needed. */
class Highlighter {
  constructor(lines) {
    this.lines = lines;
    this.open = [""]; // quotes that are open where each line begins
  }

  /** Return the spans of a line (from 0). */
  spans(index) {
    const { open, lines } = this;
    for (let at = open.length - 1; at < index; at++) {
      const line = lines[at];
      const isPlain = !open[at] && !line.includes('"""') && !line.includes("'''");
      open.push(isPlain ? "" : pythonParts(line, open[at], () => {}));
    }
    return pythonSpans(lines[index], open[index]);
  }
}
