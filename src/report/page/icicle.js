// The hierarchy as an icicle: a column per level, and the height of a box is its size.
if (!data.has_hierarchy) byId("map").remove();
else {
  const height = 460;
  const measures = {
    rows: n => tree.support[n], training: n => training[n], labels: n => children[n].length ? 0 : 1 };
  const views = {
    f1: { name: "F1", value: f1, t: v => v, ticks: ["0", "1"] },
    recall: { name: "recall", value: recall, t: v => v, ticks: ["0", "1"] },
    precision: { name: "precision", value: precision, t: v => v, ticks: ["0", "1"] } };
  if (data.other) {
    views.gain = { name: "F1 above the other model", ticks: ["−0.5", "+0.5"], t: v => 0.5 + v,
      value: n => f1(n) === null || otherF1(n) === null ? null : f1(n) - otherF1(n) };
  }
  for (const [key, view] of Object.entries(views)) byId("colour").add(new Option(view.name, key));

  // Sums of rows in training are known only where each row counts once.
  if (!sumsTraining) byId("size").querySelector("[value=training]").remove();
  if (tree.parents.some(above => above.length > 1)) {
    byId("map").querySelector("p").append(" A node with several parents stands below the first one.");
  }
  const all = -1;  // stands for all roots together
  const childrenOf = n => n === all ? roots : children[n];
  const nameOf = n => n === all ? "all" : tree.names[n];
  let top = roots.length === 1 ? roots[0] : all;
  const summit = top;
  let focus = top, cells = new Map(), sizes, depths;

  // A node is at least as large as its children together, which rows with several labels are not.
  function measure() {
    const of = measures[byId("size").value];
    sizes = new Float64Array(count + 1);
    depths = new Int32Array(count + 1);
    const sized = n => {
      let sum = 0, depth = 0;
      for (const child of childrenOf(n)) {
        sum += sizes[child];
        depth = Math.max(depth, depths[child]);
      }
      const k = n === all ? count : n;
      sizes[k] = Math.max(n === all ? 0 : of(n), sum);
      depths[k] = depth + 1;
    };
    for (let k = count - 1; k >= 0; --k) sized(order[k]);
    sized(all);
  }
  const sizeOf = n => sizes[n === all ? count : n];

  function describe(n) {
    if (n === all) return `all: ${count} nodes`;
    const parts = [`F1 ${fixed(f1(n))}`, `precision ${fixed(precision(n))}`, `recall ${fixed(recall(n))}`,
      `${whole(tree.support[n])} rows, ${whole(tree.predicted[n])} predicted`, `${whole(training[n])} ${trainingName}`];
    if (tree.parents[n].length > 1) parts.push("also below " + tree.parents[n].slice(1).map(p => tree.names[p]).join(", "));
    if (data.other) parts.splice(1, 0, `F1 of the other ${fixed(otherF1(n))}`);
    return `${pathName(n)}: ${parts.join("; ")}`;
  }

  function drawCell(svg, n, x, y, width, tall) {
    const view = views[byId("colour").value], value = n === all ? null : view.value(n);
    const t = value === null ? 0.5 : view.t(value);
    const cell = svgElement("g", { role: "button", tabindex: -1, "aria-label": describe(n) });
    cell.append(svgElement("rect", { x, y, width, height: tall, fill: value === null ? "#bbb" : colour(t) }));
    if (tall >= 16) {
      const most = Math.floor((width - 10) / 6.6), name = nameOf(n);
      cell.append(svgElement("text", { x: x + 5, y: y + Math.min(tall / 2 + 4, 16), fill: value === null ? "#000" : inkOn(t) },
        name.length > most ? name.slice(0, most - 1) + "…" : name));
    }
    cell.append(svgElement("title", {}, describe(n)));
    cell.addEventListener("click", () => enlarge(n === top && n !== summit ? above(n) : n));
    cell.addEventListener("focus", () => { focus = n; byId("detail").textContent = describe(n); });
    cell.addEventListener("mouseenter", () => { byId("detail").textContent = describe(n); });
    svg.append(cell);
    cells.set(n, cell);
  }
  const above = n => n === all ? all : tree.parents[n].length ? tree.parents[n][0] : summit;

  function draw() {
    const box = byId("icicle"), width = Math.max(box.clientWidth, 240);
    const levels = Math.min(depths[top === all ? count : top], Math.max(2, Math.floor(width / 150)));
    const step = width / levels, svg = svgElement("svg", { height, role: "group", "aria-label": "Hierarchy" });
    cells = new Map();
    const place = (n, level, y, tall) => {
      drawCell(svg, n, level * step, y, step, tall);
      if (level + 1 === levels) return;
      let at = y;
      const inside = [...childrenOf(n)].sort((a, b) => sizeOf(b) - sizeOf(a) || a - b);
      for (const child of inside) {
        const part = sizeOf(n) ? tall * sizeOf(child) / sizeOf(n) : 0;
        if (part >= 2) place(child, level + 1, at, part);
        at += part;
      }
    };
    place(top, 0, 0, height);
    box.replaceChildren(svg);
    if (!cells.has(focus)) focus = top;
    cells.get(focus).setAttribute("tabindex", 0);
    const path = [top];
    while (path[0] !== summit) path.unshift(above(path[0]));
    byId("crumbs").replaceChildren(...path.map(n => makeButton(nameOf(n), () => enlarge(n), "link")));
    const view = views[byId("colour").value], bar = make("i");
    bar.style.background = `linear-gradient(to right, ${stops.map(s => `rgb(${s.join(" ")})`).join(", ")})`;
    byId("legend").replaceChildren(view.ticks[0], bar, view.ticks[1]);
    byId("legend").setAttribute("title", view.name);
  }
  function enlarge(n) {
    top = n;
    focus = n;
    draw();
    cells.get(n).focus();
  }
  function move(n) {
    if (n === undefined || !cells.has(n)) return;
    cells.get(focus).setAttribute("tabindex", -1);
    cells.get(n).setAttribute("tabindex", 0);
    cells.get(n).focus();
  }
  byId("icicle").addEventListener("keydown", event => {
    const siblings = focus === top ? [] : [...cells.keys()].filter(n => n !== top && above(n) === above(focus));
    const at = siblings.indexOf(focus);
    const actions = {
      ArrowRight: () => move([...cells.keys()].find(n => n !== top && above(n) === focus)),
      ArrowLeft: () => move(focus === top ? undefined : above(focus)),
      ArrowDown: () => move(siblings[at + 1]), ArrowUp: () => move(siblings[at - 1]),
      Enter: () => enlarge(focus), " ": () => enlarge(focus),
      Escape: () => { if (top !== summit) enlarge(above(top)); } };
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  });
  byId("size").addEventListener("change", () => { measure(); draw(); });
  byId("colour").addEventListener("change", draw);
  window.addEventListener("resize", draw);
  measure();
  draw();
  byId("detail").textContent = describe(top);
}
