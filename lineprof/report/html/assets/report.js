// The report of one profile: which tabs it has.

/** Return facts of the head. */
function headFacts() {
  const { ns, clock, measuring } = data.run;
  return [
    ["Run", time(clock || ns)],
    clock && ns > 1.02 * clock && ["100%", time(ns)],
    measuring && ["Measuring", `${time(measuring)}, on top`],
    data.gpu && ["GPU", time(data.gpuTotal)],
    data.memory && peakOf(memoryProcesses()[0]) && ["Peak", hostSize(peakOf(memoryProcesses()[0]))],
    ["Lines", count(hotLines().length)],
    ["Functions", count(data.functions.count)],
    data.processes.length > 1 && ["Processes", count(data.processes.length)],
  ].filter(Boolean);
}

showPage(async () => {
  await loadData();
  if (data.summary) addTab("summary", "Summary", new SummaryView());
  addTab("source", "Source", new SourceView());
  addTab("functions", "Functions", new FunctionsView());
  addTab("lines", "Hot lines", new HotLinesView());
  addTab("flame", "Flame graph", new FlameView());
  addTab("timeline", "Timeline", new TimelineView());
  if (data.gpu) addTab("gpu", "GPU", new GpuView());
  if (data.memory) addTab("memory", "Memory", new MemoryView());
  if (data.ranks) addTab("ranks", "Ranks", new RanksView());
  addTab("files", "Files", new FilesView());
  const found = data.advice.findings.length;
  addTab("advice", found ? `Advice (${found})` : "Advice", new AdviceView());
  addTab("run", data.notes.length ? `Run (${counted(data.notes.length, "note")})` : "Run", new RunView());
  return headFacts();
});
