// The network of kernels as a list that opens: sums and products with the weights of products.
if (!data.network) byId("network-box").remove();
else {
  const nodes = data.network.nodes, mostOpen = 100;
  const most = Math.max(1e-12, ...nodes.map(node => node.weight ?? 0));
  const isSmall = nodes.filter(node => !node.children.length).length <= mostOpen;
  const seen = new Set();
  const caption = (node, element) => {
    element.append(node.name);
    if (node.weight === undefined) return element;
    const bar = make("span", undefined, "bar");
    bar.style.width = 8 * node.weight / most + "rem";
    element.append(" ", bar, ` ${node.weight.toPrecision(4)}`);
    return element;
  };
  const elementOf = n => {
    const node = nodes[n];
    if (!node.children.length) return caption(node, make("div", undefined, "leaf"));
    if (seen.has(n)) return make("div", node.name + " (above)", "leaf faint");
    seen.add(n);
    const details = make("details");
    details.append(caption(node, make("summary")), ...node.children.map(elementOf));
    details.open = isSmall || n === data.network.root;
    return details;
  };
  byId("network").append(elementOf(data.network.root));
}
document.body.dataset.ready = "true";
