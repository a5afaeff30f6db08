// A row is predicted and explained a moment after the last key.
const wait = 250;  // milliseconds
const forms = {
  texts: "A text",
  records: 'An object with the columns, such as {"title": "red shoe", "price": 10}',
  numbers: "Features as index:value, such as 3:0.5 17:1",
  views: 'An object with a row for each view, such as {"views": {"main": "3:0.5", "other": "17:1"}}',
  sentences: 'Tokens between blanks; or a list of them, such as ["red", "shoes"], with all columns [["red", "ADJ"], ...]' };
let kind = "texts", latest = 0, timer;

async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (byId("token").value) headers.Authorization = "Bearer " + byId("token").value;
  const options = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(path, options), answer = await response.json();
  byId("token-box").hidden = byId("token-box").hidden && response.status !== 401;
  if (!response.ok) throw new Error(answer.error);
  return answer;
}
function rowOf(text) {
  if (kind === "sentences" && !text.trim().startsWith("[")) return text.trim().split(/\s+/);
  if (kind === "texts" || kind === "numbers") return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error("The row is not JSON: " + error.message);
  }
}

function showLabels({ labels, probabilities, scores }) {
  const numbers = probabilities ?? scores;
  const most = Math.max(1e-12, ...numbers.map(Math.abs));
  const rows = labels.map((label, k) => ({ label, number: numbers[k] }));
  const table = tableOf([["label", row => row.label],
    [probabilities ? "probability" : "score", row => row.number.toFixed(4), true], ["", () => ""]], rows);
  [...table.querySelectorAll("tr")].slice(1).forEach((line, k) => line.lastChild.append(signedBar(numbers[k], most)));
  byId("labels").replaceChildren(table);
}
function showAnswers(tokens, answer) {
  const columns = Object.keys(answer).map(name => [name, token => String(answer[name][token.place])]);
  const rows = tokens.map((token, place) => ({ place, text: [token].flat().join(" ") }));
  byId("labels").replaceChildren(
    tableOf([["", row => String(row.place + 1)], ["token", row => row.text], ...columns], rows));
}
function showReasons(text, explanations) {
  const parts = [];
  if (kind === "texts" && explanations.length) parts.push(markedText(text, explanations[0]));
  for (const explanation of explanations) {
    const path = explanation.nodes.filter(node => !node.itself).map(node => node.label);
    if (path.length > 1) parts.push(make("p", path.join(" > "), "faint"));
    parts.push(explanationBox(explanation));
  }
  byId("mark-legend").hidden = kind !== "texts" || !explanations.length;
  byId("reasons").replaceChildren(...parts);
}

async function answer() {
  const text = byId("row").value, turn = ++latest;
  const clear = message => {
    byId("error").textContent = message;
    byId("labels").replaceChildren();
    showReasons(text, []);
  };
  if (!text.trim()) return clear("");
  try {
    const common = { row: rowOf(text), model: byId("model").value };
    if (kind === "sentences") {
      const { predictions } = await ask("/predict", common);
      if (turn !== latest) return;
      byId("error").textContent = "";
      showAnswers(common.row, predictions[0]);
      return;
    }
    const predict = numbers => ask("/predict", { ...common, top: 5, [numbers]: true });
    // Models without calibrated probabilities refuse to give them.
    const predicted = await predict("probabilities").catch(() => predict("scores"));
    const { explanations } = await ask("/explain", { ...common, features: 8 });
    if (turn !== latest) return;  // a later row is on its way
    byId("error").textContent = "";
    showLabels(predicted.predictions[0]);
    showReasons(text, explanations);
  } catch (error) {
    if (turn === latest) clear(error.message);
  }
}
async function describe() {
  try {
    const chosen = byId("model").value;
    const model = await ask("/model" + (chosen ? "?model=" + encodeURIComponent(chosen) : ""));
    kind = model.rows;
    if (!chosen) byId("model").replaceChildren(...model.models.map(name => new Option(name, name)));
    byId("subtitle").textContent = `${model.model}: ${model.method}`;
    byId("form").textContent = forms[kind];
    byId("error").textContent = "";
    document.body.dataset.ready = "true";
  } catch (error) {
    byId("error").textContent = error.message;
  }
  if (byId("row").value) answer();
}
byId("mark-legend").append(...markLegend());
byId("row").value = decodeURIComponent(location.hash.slice(1));  // a link may have a row
byId("row").addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(answer, wait);
});
byId("choice").addEventListener("change", describe);
byId("choice").addEventListener("submit", event => event.preventDefault());
describe();
