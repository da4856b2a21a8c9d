// Zoom and search of a flame graph.
(function () {
  "use strict";
  const SLACK = 1e-5;  // percentage points: the file has rounded numbers
  const byId = (id) => document.getElementById(id);
  const percent = (node, name) => parseFloat(node.getAttribute(name));
  const graphs = Array.from(document.querySelectorAll(".graph"), (graph) =>
    Array.from(graph.querySelectorAll(".f"), (node) => ({
      node,
      x: percent(node, "x"),
      w: percent(node, "width"),
      y: percent(node, "y"),
      title: node.querySelector("title").textContent,
    })));
  const frames = new Map();  // by node: its frame, and all frames of its graph
  for (const graph of graphs) {
    for (const frame of graph) { frames.set(frame.node, { frame, graph }); }
  }

  function put(frame, x, w, isAbove) {
    frame.node.setAttribute("x", x + "%");
    frame.node.setAttribute("width", w + "%");
    frame.node.classList.toggle("above", isAbove);
  }

  // Shows `to` as wide as the graph, with the frames above and below it.
  function zoom(graph, to) {
    const end = to.x + to.w;
    for (const frame of graph) {
      const last = frame.x + frame.w;
      const above = frame.y <= to.y && frame.x <= to.x + SLACK && last >= end - SLACK;
      const below = frame.y > to.y && frame.x >= to.x - SLACK && last <= end + SLACK;
      frame.node.style.display = above || below ? "" : "none";
      if (above) {
        put(frame, 0, 100, frame !== to);
      } else if (below) {
        put(frame, 100 * (frame.x - to.x) / to.w, 100 * frame.w / to.w, false);
      }
    }
    byId("reset").style.display = to.w < 100 - SLACK ? "" : "none";
  }

  function reset() {
    for (const graph of graphs) { zoom(graph, graph[0]); }
    search("");
    byId("search").value = "";
  }

  // Returns the per cent of the graph in `hits`; nested ones count once.
  function share(hits) {
    let end = 0, sum = 0;
    for (const frame of hits.sort((a, b) => a.x - b.x || a.y - b.y)) {
      const start = Math.max(end, frame.x);
      end = Math.max(end, frame.x + frame.w);
      sum += Math.max(0, end - start);
    }
    return sum;
  }

  function search(text) {
    const wanted = text.toLowerCase();
    const shares = graphs.map((graph) => {
      const hits = [];
      for (const frame of graph) {
        const isHit = wanted !== "" && frame.title.toLowerCase().includes(wanted);
        frame.node.classList.toggle("hit", isHit);
        if (isHit) { hits.push(frame); }
      }
      return share(hits).toFixed(2) + " %";
    });
    byId("found").textContent = wanted === "" ? "" : "found: " + shares.join(", GPU: ");
  }

  // Calls `action` with the frame at which an event is, and all frames of its graph.
  function onFrame(type, action) {
    document.addEventListener(type, (event) => {
      const node = event.target.closest(".f");
      if (node !== null) { action(frames.get(node)); }
    });
  }

  onFrame("click", ({ frame, graph }) => zoom(graph, frame));
  onFrame("dblclick", ({ frame }) => {
    byId("search").value = frame.title.split("\n")[0];
    search(byId("search").value);
  });
  onFrame("mouseover", ({ frame }) => {
    byId("say").textContent = frame.title.split("\n").join("  |  ");
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { reset(); }
  });
  byId("reset").addEventListener("click", reset);
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("tools").style.display = "";
}());
