// Explanations, and texts in which the words that decided are marked.

// Scores of the terms of an explanation, over all its nodes.
function termScores(explanation) {
  const scores = new Map();
  for (const node of explanation.nodes) {
    for (const { feature, score } of node.strongest) scores.set(feature, (scores.get(feature) ?? 0) + score);
  }
  return scores;
}
// Terms are words, several words between blanks, or 'characters' in quotes, whose blanks are borders of words.
function wordScores(words, terms) {
  const scores = new Float64Array(words.length);
  for (const [term, score] of terms) {
    const characters = /^'(.+)'$/s.exec(term)?.[1], parts = term.split(" ");
    for (let k = 0; k < words.length; ++k) {
      if (characters !== undefined) {
        if (` ${words[k]} `.includes(characters)) scores[k] += score;
      } else if (parts.every((part, p) => words[k + p] === part)) {
        for (let p = 0; p < parts.length; ++p) scores[k + p] += score;
      }
    }
  }
  return scores;
}
function markedText(text, explanation) {
  const box = make("div", undefined, "text");
  const found = [...text.matchAll(/[\p{L}\p{N}_]+/gu)];
  const scores = wordScores(found.map(match => match[0].toLowerCase()), termScores(explanation));
  const most = Math.max(1e-12, ...scores.map(Math.abs));
  let end = 0;
  found.forEach((match, k) => {
    if (!scores[k]) return;
    box.append(text.slice(end, match.index));
    const mark = make("mark", match[0]);
    mark.style.background = colour(0.5 + 0.25 * scores[k] / most);
    mark.title = (scores[k] > 0 ? "+" : "") + scores[k].toPrecision(3);
    box.append(mark);
    end = match.index + match[0].length;
  });
  box.append(text.slice(end));
  return box;
}
function signedBar(score, most) {
  const bar = make("span", undefined, score < 0 ? "bar minus" : "bar");
  bar.style.width = 6 * Math.abs(score) / most + "rem";
  return bar;
}
function explanationBox(explanation, note) {
  const box = make("div");
  box.append(make("p", `${explanation.label}${note ?? ""}: score ${explanation.score.toFixed(4)}`));
  const parts = explanation.nodes.length ? explanation.nodes.map(node => ({ ...node, name: node.label + (node.itself ? " (itself)" : "") }))
    : explanation.sources;
  const most = Math.max(1e-12, ...parts.map(part => Math.abs(part.score)));
  const terms = part => (part.strongest ?? []).map(({ feature, score }) => `${feature} ${score >= 0 ? "+" : ""}${score.toFixed(3)}`).join(" · ");
  const table = tableOf([["part", part => part.name], ["score", part => part.score.toFixed(4), true],
    ["", () => ""], ["strongest features", terms]], parts);
  [...table.querySelectorAll("tr")].slice(1).forEach((line, k) => line.children[2].append(signedBar(parts[k].score, most)));
  box.append(table);
  return box;
}
function markLegend() {
  const mark = (t, text) => {
    const element = make("mark", text);
    element.style.background = colour(t);
    return element;
  };
  return ["words ", mark(0.75, "for"), " and ", mark(0.25, "against"), " the predicted label"];
}
