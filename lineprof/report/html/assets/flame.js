// The drawing of flame graphs: frames on a canvas, the text at the pointer, the legend.

const BOX = 18; // height of a frame in pixels
const GPU_BAND = 4; // of the band of GPU work below it
const MIN_WIDTH = 0.4; // pixels; what is narrower is not drawn
const LETTER_WIDTHS = { 12: 7.3, 11: 6.7 }; // width of a letter by the size of the font

/**
 * Frames on a canvas; those of callers stand above one another. `view` knows what they
 * mean: `label`, `kind`, `tipOf`, `numbers`, `place` and `addressOf` take the frames and the
 * number of one; `showSandwich`, if it has one, takes a function.
 */
class FlameCanvas extends Drawing {
  constructor(view, upward) {
    super();
    this.view = view;
    this.upward = upward;
    const label = "Flame graph; arrow keys walk through it, Enter zooms, s shows the source";
    const listeners = {
      pointerleave: () => this.point(NONE),
      focus: () => this.at >= 0 && this.walkTo(this.at),
      blur: () => this.view.tip.hide(),
      click: (event) => this.click(event),
      dblclick: () => this.clicked >= 0 && this.view.open(this.frames, this.clicked),
    };
    this.makeCanvas(label, listeners);
    this.zoomed = this.at = this.clicked = NONE;
  }

  /** The height of a row (pixels). */
  get row() {
    return this.frames.gpu ? BOX + GPU_BAND : BOX;
  }

  set(frames) {
    this.frames = frames;
    this.zoomed = this.at = NONE;
    this.setHeight((frames.depth + (this.upward ? 0 : 1)) * this.row);
    this.scroller.scrollTop = this.upward ? frames.depth * this.row : 0;
  }

  draw() {
    const { scroller, frames, zoomed } = this;
    if (!frames || !scroller.offsetParent) return;
    this.paint = this.begin((this.font = 12));
    this.size = [scroller.clientWidth, scroller.clientHeight, scroller.scrollTop];
    this.mono = colour("mono");
    this.boxes = [];
    this.colours = { ink: colour("box-ink"), gpu: colour("gpu"), found: colour("found") };
    const [width] = this.size;
    const whole = zoomed >= 0 ? frames.total[zoomed] : frames.whole;
    this.scale = whole ? width / whole : 0;
    for (let up = frames.up[zoomed] ?? NONE; up >= 0; up = frames.up[up]) this.box(up, 0, width, true);
    this.walk(zoomed >= 0 ? [zoomed] : frames.on(NONE));
  }

  walk(nodes) {
    const { frames, scale, size: [, height, top] } = this;
    const isBeyond = (y) => (this.upward ? y < 0 : y > height); // so are the frames on it
    const todo = [[nodes, 0]];
    while (todo.length) {
      let [list, left] = todo.pop();
      for (const node of list) {
        const width = frames.total[node] * scale;
        if (width >= MIN_WIDTH) {
          this.box(node, left, width, false);
          if (!isBeyond(this.place(node) - top)) todo.push([frames.on(node), left]);
        }
        left += width;
      }
    }
  }

  box(node, x, width, isOutside) {
    const { paint, frames, view, colours, size: [, height, top] } = this;
    const y = this.place(node) - top;
    if (y < -this.row || y > height) return;
    const isFound = view.wanted && view.isFound(frames, node);
    const wide = Math.max(width - 0.6, 0.4);
    const opaque = isOutside ? 0.55 : view.wanted && !isFound ? 0.45 : 1;
    paint.globalAlpha = opaque;
    paint.fillStyle = isFound ? colours.found : view.shade(frames, node);
    paint.fillRect(x, y, wide, BOX - 1);
    if (frames.gpu?.[node]) this.band(node, x, y + BOX - 1, wide, opaque);
    paint.globalAlpha = 1;
    if (node === this.at) {
      paint.strokeStyle = colours.ink;
      paint.lineWidth = 2;
      paint.strokeRect(x + 1, y + 1, Math.max(width - 2.6, 1), BOX - 3);
    }
    this.boxes.push([x, y, width, node]);
    if (width > 28) {
      const font = frames.line[node] ? 11 : 12;
      if (this.font !== font) paint.font = `${font}px ${this.mono}`; // it is parsed each time
      this.font = font;
      paint.fillStyle = colours.ink;
      paint.fillText(fitted(view.label(frames, node), Math.floor((width - 6) / LETTER_WIDTHS[font])), x + 3, y + BOX / 2);
    }
  }

  /** Draw the share of all GPU work that was launched in a frame, as a part of its width. */
  band(node, x, y, width, opaque) {
    const { paint, frames } = this;
    paint.fillStyle = this.colours.gpu;
    paint.globalAlpha = 0.2 * opaque;
    paint.fillRect(x, y, width, GPU_BAND);
    paint.globalAlpha = opaque;
    paint.fillRect(x, y, (width * frames.gpu[node]) / this.view.gpuWhole, GPU_BAND);
  }

  /** Return the upper edge of a frame; callers stand on the lower edge of their canvas. */
  place(node) {
    const { frames, row } = this;
    if (!this.upward) return frames.level[node] * row;
    const room = Math.max(frames.depth * row, this.scroller.clientHeight);
    return room - (frames.level[node] + 1) * row;
  }

  nodeAt(event) {
    const [x, y] = this.position(event);
    const hit = this.boxes?.findLast(([left, top, width]) => x >= left && x < left + Math.max(width, 1) && y >= top && y < top + this.row);
    return hit ? hit[3] : NONE;
  }

  hover(event) {
    const { clientX, clientY } = event;
    // Frames that move below a pointer at rest are no choice of the reader.
    if (this.rest?.clientX === clientX && this.rest.clientY === clientY) return;
    this.rest = { clientX, clientY };
    this.point(this.nodeAt(event));
    this.placeTipAt(event);
  }

  /** Put the text beside the pointer. */
  placeTipAt({ clientX: x, clientY: y }) {
    this.view.tip.place({ left: x + 12, top: y - 8, bottom: y + 18 });
  }

  /** Zoom by the first click of a double click alone: it moves the frames. */
  click(event) {
    if (event.detail > 1) return;
    this.clicked = this.nodeAt(event);
    this.toggle(this.clicked);
    this.placeTipAt(event);
  }

  point(node) {
    if (node < 0) this.view.tip.hide();
    if (node === this.at) return;
    if (node >= 0 || this.zoomed < 0) this.at = node;
    this.tell(node);
    this.draw();
  }

  /** Show the text of a frame, and tell it. */
  tell(node) {
    const { view, frames } = this;
    view.tell(node < 0 ? "" : view.words(frames, node));
    if (node >= 0) view.tip.show(view.tipOf(frames, node));
    else view.tip.hide();
  }

  /** Put the text beside the frame that the keys are at. */
  placeTip() {
    const hit = this.boxes.find((one) => one[3] === this.at);
    if (!hit) return;
    const box = this.canvas.getBoundingClientRect();
    const top = box.top + hit[1];
    this.view.tip.place({ left: box.left + Math.max(0, hit[0]), top, bottom: top + this.row + 2 });
  }

  /** Zoom to a frame, or out of it. */
  toggle(node) {
    this.zoom(node === this.zoomed ? NONE : node);
  }

  zoom(node) {
    this.zoomed = this.at = node;
    this.tell(node);
    this.draw();
    this.placeTip();
  }

  openSource() {
    if (this.at >= 0) this.view.open(this.frames, this.at);
  }

  key(event) {
    const { at, frames } = this;
    const up = at < 0 ? NONE : frames.up[at];
    const down = (at < 0 ? frames.on(NONE) : frames.on(at))[0];
    const list = frames.on(up);
    const beside = (by) => (at < 0 ? list[0] : list[list.indexOf(at) + by]);
    act(event, {
      ArrowDown: () => this.walkTo(this.upward ? up : down),
      ArrowUp: () => this.walkTo(this.upward ? down : up),
      ArrowLeft: () => this.walkTo(beside(-1)),
      ArrowRight: () => this.walkTo(beside(1)),
      Enter: () => this.toggle(at),
      Escape: () => this.zoom(NONE),
      s: () => this.openSource(),
      ...(this.view.showSandwich && { w: () => at >= 0 && this.view.showSandwich(frames.fn[at]) }),
    });
  }

  walkTo(node) {
    if (!(node >= 0)) return; // there is none on that side
    const { scroller } = this;
    this.at = node;
    const y = this.place(node);
    if (y < scroller.scrollTop || y + this.row > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = y - scroller.clientHeight / 2;
    }
    this.tell(node);
    this.draw();
    this.placeTip();
  }
}

const TIP_EDGE = 6; // pixels between the text and the edges of the window

/** A text beside the pointer, or beside the frame that the keys are at. */
class FlameTip {
  constructor() {
    // Screen readers are told the same by the live region.
    this.element = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
  }

  show(content) {
    this.element.replaceChildren();
    append(this.element, content);
    this.element.hidden = false;
  }

  hide() {
    this.element.hidden = true;
  }

  /** Put the text below `bottom`, or above `top` if there is no room, in the window. */
  place({ left, top, bottom }) {
    const { style, offsetWidth, offsetHeight } = this.element;
    const x = Math.max(TIP_EDGE, Math.min(left, innerWidth - offsetWidth - TIP_EDGE));
    const fits = bottom + offsetHeight + TIP_EDGE <= innerHeight;
    const y = fits ? bottom : Math.max(TIP_EDGE, top - offsetHeight);
    style.left = `${x}px`;
    style.top = `${y}px`;
  }
}

/** Return a row of names and values for the text of a frame; what is missing is left out. */
function tipRows(rows) {
  return h("dl", {}, rows.filter(Boolean).map(([name, ...values]) => [h("dt", {}, name), h("dd", {}, values)]));
}

/** Return a legend: a title, and pairs of the name of a colour and its meaning. */
function colourKey(title, steps) {
  const swatch = (kind) => {
    const element = h("i", { class: kind });
    element.style.background = `var(--${kind})`;
    return element;
  };
  return h("span", { class: "colours" }, title && h("span", { class: "dim" }, title), steps.map(([kind, text]) => h("span", {}, swatch(kind), text)));
}

/** Return buttons of which one is pressed: `options` have a value, a text and a title. */
function choiceButtons(value, options, change) {
  const group = h("span", { class: "choice", role: "group" }, options.map(([one, text, title]) => h("button", {
    "aria-pressed": String(one === value),
    title,
    click: (event) => {
      for (const button of group.children) button.setAttribute("aria-pressed", button === event.currentTarget);
      change(one);
    },
  }, text)));
  return group;
}

/** Let the reader choose between own bytes and those with callees: `suffix` of a view of one table. */
function addBytesForms(view) {
  const [table] = view.tables;
  const forms = [["Own", "Own", "bytes that the line allocated itself"], ["", "With callees", "bytes that the line and all that it called allocated"]];
  table.element.previousElementSibling.prepend(choiceButtons(view.suffix, forms, (suffix) => {
    view.suffix = suffix;
    table.options.label = `Memory by line, ${suffix ? "own bytes" : "with callees"}`;
    table.sort();
  }));
}

/** A tab with a flame graph: what the views of a report and of a comparison share. */
class FlameTab {
  keys = {
    title: "Flame graph",
    list: [
      ["ArrowDown ArrowUp ArrowLeft ArrowRight", "go to a frame beside this one"],
      ["Enter", "zoom to the frame, or out of it"],
      ["Escape", "zoom out"],
      ["s", "go to the source"],
    ],
  };

  wanted = "";
  tip = new FlameTip();
  shades = new Map();

  /** Fill a panel with controls, the legend, notes, and the graph. */
  makeFlame(panel, controls, notes) {
    this.search = searchInput("Highlight functions, lines", { input: () => {
      this.wanted = this.search.value.toLowerCase();
      this.draw();
    } });
    onTheme.unshift(() => this.shades.clear());
    this.info = h("div", { class: "info unseen", "aria-live": "polite" });
    this.key = h("div", { class: "flame-key" });
    this.main = new FlameCanvas(this, false);
    this.chart = h("div", { class: "flame-chart" });
    const reset = h("button", { click: () => this.canvases().forEach((one) => one.zoom(NONE)) }, "Reset zoom");
    append(panel, [h("div", { class: "tools" }, controls, this.search, reset), this.key, notes, this.info, this.chart, this.tip.element]);
  }

  /** Return the button that shows and hides lines. */
  linesButton() {
    const button = h("button", {
      "aria-pressed": String(this.hasLines),
      title: "the lines that call, between callers and callees",
      click: () => {
        this.update({ hasLines: !this.hasLines });
        button.setAttribute("aria-pressed", this.hasLines);
      },
    }, "Lines");
    return button;
  }

  /** Build the graph again with what was chosen. */
  update(chosen) {
    Object.assign(this, chosen);
    this.tip.hide();
    this.build();
    this.draw();
  }

  canvases() {
    return [this.main];
  }

  draw() {
    for (const one of this.canvases()) one.draw();
  }

  show() {
    this.tip.hide();
    this.draw();
  }

  /** Tell screen readers what the frame is that the reader is at. */
  tell(text) {
    this.info.textContent = text;
  }

  /** Show the source of a frame. */
  open(frames, node) {
    const hash = this.addressOf(frames, node);
    if (hash) go(hash);
  }

  /** Return the address of the source of the frame that the keys are at; undefined if there is none. */
  chosen() {
    const canvas = this.canvases().find((one) => one.at >= 0);
    return canvas && this.addressOf(canvas.frames, canvas.at);
  }

  /** Return the colour of a frame, whose name in the style sheet is `kind(frames, node)`. */
  shade(frames, node) {
    const kind = this.kind(frames, node);
    if (!this.shades.has(kind)) this.shades.set(kind, colour(kind));
    return this.shades.get(kind);
  }

  /** Return the text at the pointer; `siteRow(frames, node)` is the row of the call, if any. */
  tipOf(frames, node) {
    const label = this.label(frames, node);
    return [
      h("b", {}, frames.line[node] ? code(label) : label),
      h("div", { class: "dim" }, this.place(frames, node)),
      tipRows([...this.numbers(frames, node), frames.line[node] ? null : this.siteRow(frames, node)]),
    ];
  }

  /** Show the legend: keys of colours, the sum of all frames in `words`, a hint. */
  fillKey(keys, words, hint) {
    this.key.replaceChildren();
    append(this.key, [keys, h("span", { class: "dim" }, `${this.amount(this.main.frames.whole)} ${words}`), h("span", { class: "dim hint" }, hint)]);
  }

  /** Return the text of a number that is the width of a frame. */
  amount(ns) {
    return time(ns);
  }

  /** Return the key of the colour of lines, if there are any. */
  keyOfLines() {
    return this.hasLines && data.hasCalls && colourKey("", [["line-frame", "line that calls"]]);
  }

  /** Return what a frame is, for screen readers. */
  words(frames, node) {
    const numbers = this.numbers(frames, node).map(([name, text]) => `${name.toLowerCase()} ${text}`);
    return `${this.label(frames, node)} ${this.place(frames, node)}: ${numbers.join("; ")}`;
  }

  isFound(frames, node) {
    return this.label(frames, node).toLowerCase().includes(this.wanted);
  }
}
