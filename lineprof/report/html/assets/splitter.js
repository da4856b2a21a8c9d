// Handles between panels, which change the size of one of them.

/**
 * Return a handle for a panel. `lies()` tells whether the panel lies above or below the
 * others, not beside them; its height or its width is then `${variable}-height` or
 * `-width` in the style sheet. `sign` is 1 if the panel grows to the right, -1 if it
 * grows to the left or upwards.
 */
function splitter(label, panel, variable, sign, lies) {
  const length = () => (lies() ? panel.offsetHeight : panel.offsetWidth);
  const name = () => `--${variable}-${lies() ? "height" : "width"}`;
  const style = () => panel.parentElement.style;
  const most = () => (lies() ? innerHeight : innerWidth) * 0.7;
  const set = (pixels) => style().setProperty(name(), `${Math.round(Math.min(most(), Math.max(60, pixels)))}px`);
  const reset = () => style().removeProperty(name());
  const handle = h("div", {
    class: `splitter ${variable}-handle`,
    role: "separator",
    tabindex: 0,
    title: "Drag, or press arrow keys; a double click resets",
    "aria-label": label,
    dblclick: reset,
    keydown: (event) => {
      const step = { ArrowRight: 16, ArrowDown: 16, ArrowLeft: -16, ArrowUp: -16 }[event.key];
      if (step && !isModified(event)) set(length() + sign * step);
      else if (event.key === "Home") reset();
      else return;
      event.preventDefault();
    },
    pointerdown: (event) => {
      const at = (one) => (lies() ? one.clientY : one.clientX);
      const [from, start] = [length(), at(event)];
      handle.setPointerCapture(event.pointerId);
      handle.onpointermove = (move) => set(from + sign * (at(move) - start));
      handle.onpointerup = handle.onpointercancel = () => (handle.onpointermove = null);
      event.preventDefault();
      handle.focus();
    },
  });
  new ResizeObserver(() => {
    handle.setAttribute("aria-orientation", lies() ? "horizontal" : "vertical");
    handle.setAttribute("aria-valuenow", length());
    handle.setAttribute("aria-valuemin", 60);
    handle.setAttribute("aria-valuemax", Math.round(most()));
  }).observe(panel);
  return handle;
}
