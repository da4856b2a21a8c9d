// The report of one profile: which tabs it has.

/** Return facts of the head. */
function headFacts() {
  const wall = Math.max(0, ...data.processes.map((one) => one.wall_ns));
  const measured = sum(data.linesOfFile.map((lines) => lines.size));
  return [
    wall ? ["Wall", time(wall)] : null,
    data.hasCalls ? ["In functions", time(data.selfTotal)] : null,
    data.gpu ? ["GPU", time(data.gpuTotal)] : null,
    ["Lines", count(measured)],
    ["Functions", count(data.functions.count)],
    data.processes.length > 1 ? ["Processes", count(data.processes.length)] : null,
  ].filter(Boolean);
}

showPage(async () => {
  await loadData();
  addTab("source", "Source", new SourceView());
  addTab("functions", "Functions", new FunctionsView());
  addTab("lines", "Hot lines", new HotLinesView());
  addTab("flame", "Flame graph", new FlameView());
  addTab("timeline", "Timeline", new TimelineView());
  if (data.gpu) addTab("gpu", "GPU", new GpuView());
  if (data.ranks) addTab("ranks", "Ranks", new RanksView());
  addTab("files", "Files", new FilesView());
  const found = data.advice.findings.length;
  addTab("advice", found ? `Advice (${found})` : "Advice", new AdviceView());
  addTab("run", data.notes.length ? `Run (${counted(data.notes.length, "note")})` : "Run", new RunView());
  return headFacts();
});
