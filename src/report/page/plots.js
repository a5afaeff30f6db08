// Plots in boxes of 440 x 240.
const left = 46, right = 430, top_ = 12, bottom = 206;
const at = (value, low, high, from, to) => from + (to - from) * (high > low ? (value - low) / (high - low) : 0.5);
function plot(title) {
  const svg = svgElement("svg", { viewBox: "0 0 440 240", role: "img", "aria-label": title, class: "plot" });
  const add = (tag, attributes, text) => svg.append(svgElement(tag, attributes, text));
  add("rect", { x: left, y: top_, width: right - left, height: bottom - top_, fill: "none", stroke: "var(--line)" });
  return { svg, add };
}
// Both axes from 0 to 1.
function unitPlot(title, xName, yName) {
  const { svg, add } = plot(title);
  for (const value of [0, 0.25, 0.5, 0.75, 1]) {
    const y = at(value, 0, 1, bottom, top_), x = at(value, 0, 1, left, right);
    add("line", { x1: left, y1: y, x2: right, y2: y, stroke: "var(--line)" });
    add("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, String(value));
    add("text", { x, y: 222, "text-anchor": "middle" }, String(value));
  }
  add("text", { x: (left + right) / 2, y: 237, "text-anchor": "middle" }, xName);
  add("text", { x: 12, y: (top_ + bottom) / 2, transform: `rotate(-90 12 ${(top_ + bottom) / 2})`, "text-anchor": "middle" }, yName);
  return { svg, add };
}
const noCalibration = "The model was trained without --calibration, so that its scores are no probabilities.";
const noProbabilities = "The model answers with sets of labels, which have no probabilities here.";

if (!data.has_hierarchy) byId("levels-box").remove();
else {
  const rows = data.levels.map((level, k) => ({ level: k + 1, ...level, other: data.other && data.other.levels[k] }));
  const columns = [["level", row => row.level, true], ["rows", row => whole(row.rows), true],
    ["accuracy", row => fixed(row.accuracy), true]];
  if (data.other) columns.push(["other", row => fixed(row.other.accuracy), true]);
  columns.push(["precision", row => fixed(row.precision), true], ["recall", row => fixed(row.recall), true]);
  const box = byId("levels"), table = tableOf([...columns, ["", () => ""]], rows);
  [...table.querySelectorAll("tr")].slice(1).forEach((line, k) => {
    for (const [accuracy, kind] of [[rows[k].accuracy, "bar"], [rows[k].other?.accuracy, "bar minus"]]) {
      if (accuracy === undefined) continue;
      const bar = make("span", undefined, kind);
      bar.style.width = 8 * accuracy + "rem";
      line.lastChild.append(bar);
    }
  });
  if (data.other) box.append(make("p", `The second column of accuracies and the lower bars are those of ${data.other.name}.`, "faint"));
  box.append(make("p", "Level 1 is the first below the root. A row counts at the levels that its labels reach; it is " +
    "right there if its nodes of the level are.", "faint"), table, csvButton("levels", columns, rows));
}
{
  const c = data.coverage, box = byId("coverage");
  if (!c) box.append(make("p", noProbabilities, "faint"));
  else {
    const { svg, add } = unitPlot("accuracy by coverage", "share of rows answered, the most confident first", "accuracy");
    const others = data.other?.coverage?.curve;
    const curves = [[data.method, c.curve, "var(--accent)", "none"]];
    if (others) curves.push([data.other.name, others, "var(--warm)", "6 3"]);
    curves.forEach(([name, curve, stroke, dashes], k) => {
      add("polyline", { points: curve.map(([x, y]) => at(x, 0, 1, left, right) + "," + at(y, 0, 1, bottom, top_)).join(" "),
        fill: "none", stroke, "stroke-width": 2, "stroke-dasharray": dashes });
      if (others) add("text", { x: left + 8, y: bottom - 22 + 14 * k, style: "fill:" + stroke }, k ? "other: " + name : "this model");
    });
    const full = c.curve[c.curve.length - 1][1], half = c.curve.find(([x]) => x >= 0.5)[1];
    const order = data.calibration ? "" : " Rows are ordered by the softmax of their scores.";
    box.append(make("p", `Of the more confident half of the rows ${percent(half)} are right, of all ${percent(full)}.${order}`, "faint"),
      svg, csvButton("coverage", [["coverage", p => p[0], true], ["accuracy", p => p[1], true],
        ...(others ? [["other coverage", (p, k) => others[k][0], true], ["other accuracy", (p, k) => others[k][1], true]] : [])], c.curve));
  }
}
{
  const c = data.calibration, box = byId("calibration");
  if (!c) box.append(make("p", data.one_label ? noCalibration : noProbabilities, "faint"));
  else {
    const bins = c.bins.filter(bin => bin.count), total = bins.reduce((sum, bin) => sum + bin.count, 0);
    const { svg, add } = unitPlot("accuracy by confidence", "confidence", "accuracy");
    add("line", { x1: left, y1: bottom, x2: right, y2: top_, stroke: "var(--faint)", "stroke-dasharray": 4 });
    for (const bin of bins) {
      add("circle", { cx: at(bin.confidence, 0, 1, left, right), cy: at(bin.accuracy, 0, 1, bottom, top_),
        r: 3 + 9 * Math.sqrt(bin.count / total), fill: "var(--accent)", "fill-opacity": 0.7 });
    }
    box.append(make("p", `Expected calibration error ${percent(c.error)}, temperature ${c.temperature.toPrecision(4)}` +
      (c.fitted_rows ? ` fitted on ${whole(c.fitted_rows)} held-out rows.` : ", not fitted.") +
      " Larger circles are more rows.", "faint"), svg,
    csvButton("calibration", [["confidence", b => b.confidence, true], ["accuracy", b => b.accuracy, true],
      ["rows", b => b.count, true]], bins));
  }
}
{
  const c = data.convergence, box = byId("convergence");
  const short = value => value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
  const known = value => value === null ? "not known" : value.toPrecision(6);
  box.append(make("p", `Ended as ${c.stop.replaceAll("_", " ")} after ${whole(c.passes)} passes; objective ` +
    `${known(c.objective)}, dual ${known(c.dual)}, relative gap ${known(c.relative_gap)}.`, "faint"));
  const values = c.curve.flatMap(point => [point[1], point[2]]).filter(value => value !== null);
  if (c.curve.length > 1) {
    const { svg, add } = plot("objective and dual by pass");
    // The first duals may be far below; the plot shows as much below the objectives as they span.
    const objectives = c.curve.map(point => point[1]).filter(value => value !== null);
    const high = Math.max(...objectives), least = Math.min(...objectives);
    const low = Math.max(Math.min(...values), 2 * least - high - 1e-3 * Math.abs(high));
    const first = c.curve[0][0], last = c.curve[c.curve.length - 1][0];
    [["objective", 1, "var(--accent)"], ["dual", 2, "var(--warm)"]].forEach(([name, column, stroke], k) => {
      const points = c.curve.filter(point => point[column] !== null).map(point =>
        at(point[0], first, last, left, right) + "," + at(Math.max(point[column], low), low, high, bottom, top_));
      if (!points.length) return;
      add("polyline", { points: points.join(" "), fill: "none", stroke, "stroke-width": 2 });
      add("text", { x: right - 8, y: top_ + 16 + 14 * k, "text-anchor": "end", style: "fill:" + stroke }, name);
    });
    add("text", { x: left, y: 222 }, String(first));
    add("text", { x: right, y: 222, "text-anchor": "end" }, String(last));
    add("text", { x: (left + right) / 2, y: 237, "text-anchor": "middle" }, "pass");
    add("text", { x: left - 4, y: top_ + 8, "text-anchor": "end" }, short(high));
    add("text", { x: left - 4, y: bottom, "text-anchor": "end" }, short(low));
    box.append(svg, csvButton("convergence", [["pass", p => p[0], true], ["objective", p => p[1] ?? "", true],
      ["dual", p => p[2] ?? "", true]], c.curve));
  } else box.append(make("p", "There is no curve: the labels were solved one by one, or the model is of an earlier version.", "faint"));
}
