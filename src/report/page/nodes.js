// The nodes, and the list of them. A node of several parents hangs below the first of them.
const tree = data.tree, count = tree.names.length;
const children = Array.from({ length: count }, () => []);
const roots = [];
for (let n = 0; n < count; ++n) {
  if (tree.parents[n].length) children[tree.parents[n][0]].push(n); else roots.push(n);
}
// Parents before their children.
const order = [...roots];
for (let k = 0; k < order.length; ++k) {
  for (const child of children[order[k]]) order.push(child);
}

const quotient = (a, b) => b ? a / b : null;
const f1Of = (support, predicted, both) => quotient(2 * both, support + predicted);
const f1 = n => f1Of(tree.support[n], tree.predicted[n], tree.both[n]);
const otherF1 = n => f1Of(tree.support[n], tree.other_predicted[n], tree.other_both[n]);
const precision = n => quotient(tree.both[n], tree.predicted[n]);
const recall = n => quotient(tree.both[n], tree.support[n]);
function pathOf(n) {
  const path = [n];
  for (let at = n; tree.parents[at].length; at = tree.parents[at][0]) path.unshift(tree.parents[at][0]);
  return path;
}
const times = new Map();
for (const name of tree.names) times.set(name, (times.get(name) ?? 0) + 1);
// The name of a node that stands alone.
const loneName = n => times.get(tree.names[n]) === 1 ? tree.names[n] : pathName(n);
const pathName = n => pathOf(n).map(m => tree.names[m]).join(" > ");
// Rows in training: those at each node or below, where rows are counted once; otherwise those that have the label
// itself.
const sumsTraining = data.one_label && tree.parents.every(above => above.length < 2);
const training = [...tree.training_rows];
for (let k = sumsTraining ? count - 1 : -1; k >= 0; --k) {
  for (const child of children[order[k]]) training[order[k]] += training[child];
}
const trainingName = sumsTraining ? "in training" : "with the label itself in training";

// Elements are made when their parent is opened, so that large taxonomies open at once.
const elements = new Map();
function nodeElement(n) {
  const item = make("li"), line = make("div", undefined, "node"), first = make("span");
  const value = f1(n);
  if (children[n].length) {
    const toggle = makeButton("▸", () => open(n, !item.classList.contains("open")), "toggle");
    toggle.setAttribute("aria-label", "children of " + tree.names[n]);
    toggle.setAttribute("aria-expanded", "false");
    first.append(toggle);
  } else first.style.paddingLeft = "1.5rem";
  const chip = make("span", undefined, "chip");
  if (value !== null) chip.style.background = colour(value);
  first.append(chip, make("span", tree.names[n], "name"));
  if (tree.parents[n].length > 1) {
    first.append(make("span", "  also below " + tree.parents[n].slice(1).map(p => tree.names[p]).join(", "), "faint"));
  }
  line.append(first, make("span", fixed(value)), make("span", whole(tree.support[n])), make("span", whole(tree.predicted[n])));
  item.append(line);
  elements.set(n, item);
  return item;
}
function listOf(nodes) {
  const rank = n => -(tree.support[n] * 1e3 + tree.predicted[n]);
  const list = make("ul");
  for (const n of [...nodes].sort((a, b) => rank(a) - rank(b) || a - b)) list.append(nodeElement(n));
  return list;
}
function open(n, wanted) {
  if (!children[n].length) return;
  const item = elements.get(n), toggle = item.querySelector(".toggle");
  item.classList.toggle("open", wanted);
  toggle.setAttribute("aria-expanded", wanted);
  toggle.textContent = wanted ? "▾" : "▸";
  if (wanted && item.children.length === 1) item.append(listOf(children[n]));
  if (item.children.length > 1) item.children[1].hidden = !wanted;
}
byId("tree").append(listOf(roots));
if (roots.length === 1) open(roots[0], true);

function show(n) {
  for (const above of pathOf(n).slice(0, -1)) open(above, true);
  document.querySelectorAll(".node.found").forEach(line => line.classList.remove("found"));
  const line = elements.get(n).firstChild;
  line.classList.add("found");
  line.scrollIntoView({ block: "nearest" });
}
byId("search").addEventListener("input", event => {
  const text = event.target.value.trim().toLowerCase();
  byId("hits").replaceChildren();
  if (!text) return;
  const found = [];
  for (let n = 0; n < count && found.length < 200; ++n) {
    if (tree.names[n].toLowerCase().includes(text)) found.push(n);
  }
  found.sort((a, b) => tree.names[a].length - tree.names[b].length || a - b);
  for (const n of found.slice(0, 20)) byId("hits").append(makeButton(pathName(n), () => show(n), "link"));
  if (!found.length) byId("hits").append(make("span", "no such label", "faint"));
  else show(found[0]);
});

{
  const columns = [
    ["label", loneName], ["rows", n => tree.support[n], true], ["predicted", n => tree.predicted[n], true],
    ["precision", n => fixed(precision(n)), true], ["recall", n => fixed(recall(n)), true],
    ["F1", n => fixed(f1(n)), true], ["rows " + trainingName, n => training[n], true]];
  if (data.other) columns.push(["F1 of the other", n => fixed(otherF1(n)), true]);
  const errors = n => tree.support[n] + tree.predicted[n] - 2 * tree.both[n];
  const known = order.filter(n => tree.support[n] || tree.predicted[n]);
  const worst = known.filter(n => !children[n].length && errors(n)).sort((a, b) => errors(b) - errors(a) || a - b);
  const box = byId("lost");
  if (worst.length) box.append(tableOf(columns, worst.slice(0, 20)));
  else box.append(make("p", "None.", "faint"));
  box.append(make("p", "Of all nodes with rows: ", "faint"));
  box.lastChild.append(csvButton("labels", [["path", pathName], ...columns], known));
}
