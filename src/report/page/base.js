const byId = id => document.getElementById(id);

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}
function makeButton(text, onClick, className) {
  const button = make("button", text, className);
  button.type = "button";
  button.addEventListener("click", onClick);
  return button;
}
const percent = value => (100 * value).toFixed(1) + " %";
const whole = value => value.toLocaleString("en");
const fixed = value => value === null ? "–" : value.toFixed(3);

// From orange by grey to blue, which the colour-blind can tell apart. t lies between 0 and 1.
const stops = [[179, 88, 6], [241, 163, 64], [222, 222, 222], [103, 169, 207], [33, 102, 172]];
function rgb(t) {
  const at = Math.min(Math.max(t, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
  return stops[k].map((from, c) => Math.round(from + (at - k) * (stops[k + 1][c] - from)));
}
const colour = t => `rgb(${rgb(t).join(" ")})`;
function inkOn(t) {
  const [r, g, b] = rgb(t).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000" : "#fff";
}

// Tables: columns are [heading, text of a row, whether it is a number].
function csvOf(columns, rows) {
  const cell = value => /[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  const lines = [columns.map(([heading]) => cell(heading))];
  rows.forEach((row, k) => lines.push(columns.map(([, of]) => cell(of(row, k)))));
  return lines.map(line => line.join(",") + "\r\n").join("");
}
function csvButton(name, columns, rows) {
  return makeButton("CSV", () => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([csvOf(columns, rows)], { type: "text/csv" }));
    link.download = name + ".csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
}
function tableOf(columns, rows) {
  const box = make("div", undefined, "scroll"), table = make("table"), head = make("tr");
  box.tabIndex = 0;
  for (const [heading, , isNumber] of columns) {
    const cell = make("th", heading, isNumber ? "n" : "");
    cell.scope = "col";
    head.append(cell);
  }
  table.append(head);
  for (const row of rows) {
    const line = make("tr");
    for (const [, of, isNumber] of columns) line.append(make("td", of(row), isNumber ? "n" : ""));
    table.append(line);
  }
  box.append(table);
  return box;
}

// SVG.
function svgElement(tag, attributes = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
