// Drawings of many rows: a canvas that stays in sight while its rows are scrolled.

/** A drawing; `draw()` makes it anew, `key(event)` and `hover(event)` are its own. */
class Drawing {
  /**
   * Make the canvas and, around it, a scroller. `listeners` of the canvas and
   * `scrollListeners` are added to those that all drawings have.
   */
  makeCanvas(label, listeners, scrollListeners) {
    const draw = inNextFrame(() => this.draw());
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label": label,
      keydown: (event) => this.key(event),
      pointermove: (event) => this.hover(event),
      ...listeners,
    });
    this.scroller = h("div", { class: "drawing", scroll: draw, ...scrollListeners }, h("div", { class: "drawing-room" }, this.canvas));
    new ResizeObserver(draw).observe(this.scroller);
    onTheme.push(() => this.draw());
  }

  /** Set the height of all rows (pixels). */
  setHeight(height) {
    this.canvas.parentElement.style.height = `${height}px`;
  }

  /** Return an empty context as large as the scroller, with a font of so many pixels. */
  begin(font) {
    const { canvas, scroller } = this;
    const [width, height] = [scroller.clientWidth, scroller.clientHeight];
    const scale = devicePixelRatio;
    if (canvas.width !== width * scale) canvas.width = width * scale;
    if (canvas.height !== height * scale) canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const paint = canvas.getContext("2d");
    paint.setTransform(scale, 0, 0, scale, 0, 0);
    paint.clearRect(0, 0, width, height);
    paint.font = `${font}px ${colour("mono")}`;
    paint.textBaseline = "middle";
    return paint;
  }

  /** Return where the pointer is on the canvas. */
  position(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

/** Return the beginning of a text that fits into so many characters. */
function fitted(text, room) {
  return text.length > room ? `${text.slice(0, Math.max(1, room - 1))}\u2026` : text;
}
