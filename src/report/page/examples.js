// Rows with their texts and explanations.

function exampleElement(example) {
  const details = make("details"), summary = make("summary");
  const list = labels => labels.join(", ") || "nothing";
  summary.append(make("span", example.right ? "✓ right " : "✗ wrong ", example.right ? "right" : "wrong"),
    `row ${example.row}: ${list(example.predicted)}` + (example.right ? "" : `, but is ${list(example.truth)}`));
  if (example.other) summary.append(make("span", ` · other model: ${list(example.other)}`, "faint"));
  details.append(summary);
  details.addEventListener("toggle", () => {  // filled when it is opened for the first time
    if (!details.open || details.children.length > 1) return;
    if (example.text !== undefined) {
      details.append(example.explanations.length ? markedText(example.text, example.explanations[0])
        : make("div", example.text, "text"));
    }
    for (const explanation of example.explanations) {
      const isTrue = example.truth.includes(explanation.label), isPredicted = example.predicted.includes(explanation.label);
      details.append(explanationBox(explanation, isTrue === isPredicted ? "" : isTrue ? " (true label)" : " (predicted)"));
    }
  });
  return details;
}

{
  const kinds = [["all", () => true], ["wrong", e => !e.right], ["right", e => e.right]];
  if (data.other) {
    kinds.push(["right by this model only", e => e.right && !e.other_right],
      ["right by the other model only", e => !e.right && e.other_right]);
  }
  kinds.forEach(([name, is], k) => byId("which").add(new Option(`${name} (${data.examples.filter(is).length})`, k)));
  const fill = () => byId("examples").replaceChildren(
    ...data.examples.filter(kinds[byId("which").value][1]).map(exampleElement));
  byId("which").addEventListener("change", fill);
  fill();
  if (data.examples.some(example => example.text !== undefined)) byId("mark-legend").append(...markLegend());
}

// Pairs of siblings, with the rows of each at a click.
if (data.confused.length) {
  const columns = [["label", pair => loneName(pair.a)], ["sibling", pair => loneName(pair.b)],
    ["first as second", pair => pair.a_as_b, true], ["second as first", pair => pair.b_as_a, true]];
  const table = tableOf([...columns, ["", () => ""]], data.confused);
  const byRow = new Map(data.examples.map(example => [example.row, example]));
  [...table.querySelectorAll("tr")].slice(1).forEach((line, k) => {
    const pair = data.confused[k];
    const button = makeButton("rows", () => {
      const isOpen = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", !isOpen);
      if (isOpen) return line.nextSibling.remove();
      const below = make("tr"), cell = make("td");
      cell.colSpan = 5;
      cell.append(...pair.rows.map(row => exampleElement(byRow.get(row))));
      below.append(cell);
      line.after(below);
    });
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", `rows of ${loneName(pair.a)} and ${loneName(pair.b)}`);
    line.lastChild.append(button);
  });
  byId("confused").append(table, csvButton("siblings", columns, data.confused));
} else byId("confused").append(make("p", "None.", "faint"));
