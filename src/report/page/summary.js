const data = JSON.parse(byId("data").textContent);

// Heading, metrics and the comparison with another model.
document.title = data.title;
byId("title").textContent = data.title;
byId("subtitle").textContent = `${data.method} on ${whole(data.metrics.examples)} ${data.metrics.examples === 1 ? "row" : "rows"}`;
byId("options").lastElementChild.textContent =
  Object.entries(data.options).filter(([, value]) => value !== "").map(([name, value]) => `${name} ${value}`).join(", ");

{
  // Where each row has one label, the metrics of label sets are equal to the accuracy.
  const ofLabel = ["accuracy", "macro_f1", "hierarchical_f1", "hierarchical_precision", "hierarchical_recall"];
  const ofSets = ["micro_f1", "macro_f1", "instance_f1", "jaccard", "accuracy", "hierarchical_f1",
    "hierarchical_precision", "hierarchical_recall", "hamming_loss"];
  const names = { accuracy: data.one_label ? "accuracy" : "all labels right", hamming_loss: "Hamming loss" };
  for (const name of data.one_label ? ofLabel : ofSets) {
    if (name.startsWith("hierarchical") && !data.has_hierarchy) continue;
    const tile = make("div", names[name] ?? name.replaceAll("_", " ").replace("f1", "F1"));
    tile.append(make("b", percent(data.metrics[name])));
    if (data.other) tile.append(make("small", "other " + percent(data.other.metrics[name])));
    byId("metrics").append(tile);
  }
  if (data.other) {
    const o = data.other, more = o.first_only > o.second_only ? "This model" : "The other model";
    const verdict = o.p_value < 0.05 ? `${more} is right significantly more often` : "The difference is not significant";
    byId("other").textContent = `The other model is ${o.name} (${o.method}). Only this model is right on ` +
      `${whole(o.first_only)} rows, only the other one on ${whole(o.second_only)}. ${verdict} ` +
      `(sign test, p = ${o.p_value.toPrecision(2)}).`;
  } else byId("other").remove();
}
