// The map of a whole file beside its source: its hot lines, and a frame around those in sight.

/** A canvas with the hot lines of the file; a press on it scrolls the source. */
class Minimap {
  /** `view` is the view of source, which scrolls where the map is pressed. */
  constructor(view) {
    this.view = view;
    this.canvas = h("canvas", { class: "minimap", "aria-hidden": "true", pointerdown: (event) => this.drag(event) });
    this.frame = h("div", { class: "window", "aria-hidden": "true" });
    this.element = h("div", { class: "map" }, this.canvas, this.frame);
    new ResizeObserver(([{ contentRect }]) => {
      this.size = contentRect;
      this.draw();
    }).observe(this.canvas);
    onTheme.push(() => this.draw());
  }

  draw() {
    const { canvas, view } = this;
    const { width, height } = this.size ?? {};
    if (!width || !height || view.file < 0) return;
    const scale = devicePixelRatio;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const paint = canvas.getContext("2d");
    paint.scale(scale, scale);
    const step = Math.min(ROW, height / (view.shown.length || 1));
    // A pixel has room for several lines of a long file: it shows the hottest one.
    const hottest = new Map();
    for (const [line, indexes] of data.linesOfFile[view.file]) {
      const place = view.place.get(line);
      if (place === undefined) continue;
      const y = step < 1 ? Math.floor(place * step) : place * step;
      hottest.set(y, Math.max(hottest.get(y) ?? 0, heatOf(indexes)));
    }
    paint.fillStyle = colour("heat");
    for (const [y, share] of hottest) {
      paint.globalAlpha = 0.08 + 0.92 * Math.sqrt(share);
      paint.fillRect(0, y, width, Math.max(1.5, step));
    }
    this.step = step;
    this.follow();
  }

  /** Move the frame to the rows in sight, without a layout. */
  follow() {
    if (!this.step) return;
    const { rows, shown } = this.view;
    const { style } = this.frame;
    style.transform = `translateY(${((rows.top / ROW) * this.step).toFixed(2)}px)`;
    const height = `${Math.max(6, Math.min(shown.length, (rows.room - rows.head) / ROW) * this.step)}px`;
    if (style.height !== height) style.height = height;
  }

  drag(event) {
    const { scroller } = this.view;
    const jump = (move) => {
      const row = (move.clientY - this.canvas.getBoundingClientRect().top) / this.step;
      scroller.scrollTop = row * ROW - scroller.clientHeight / 2;
    };
    jump(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.onpointermove = jump;
    this.canvas.onpointerup = () => (this.canvas.onpointermove = null);
  }
}
