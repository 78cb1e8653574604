// The pairs of 64 rows, counted by marks on the line of scores: one label after the other, from the lowest up.
// A query adds one number per level of a tree of eight times eight positions.
const Pairs = (() => {
  "use strict";

  const COUNT = 64, PART = 8;

  // Scores that follow the labels, with noise; the same at each visit.
  function rows() {
    let state = 7;
    const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
    const noise = () => random() + random() + random() - 1.5;
    return Array.from({ length: COUNT }, (_, label) => ({ label, score: label / 12 + 2.4 * noise() }));
  }

  // The number of marks before a position: the parts before its own, and the positions of its part.
  function marksBefore(marks, position) {
    const start = PART * Math.floor(position / PART);
    const sum = (from, to) => marks.slice(from, to).reduce((total, mark) => total + mark, 0);
    return [sum(0, start), sum(start, position)];
  }

  // Each step sets the mark of a row, after the rows that it has to be above are counted.
  function walk(all) {
    const order = all.map((row) => row.label).sort((a, b) => all[a].score - all[b].score);
    const place = [];
    order.forEach((label, position) => { place[label] = position; });
    const sorted = order.map((label) => all[label].score);
    const marks = new Array(COUNT).fill(0);
    return all.map(({ label, score }) => {
      // The worse rows that are too close have scores above score - 1, the better ones below score + 1.
      const from = sorted.filter((other) => !(score - other < 1)).length;
      const to = sorted.filter((other) => other - score < 1).length;
      const [parts, inside] = marksBefore(marks, from);
      const d = label - parts - inside;
      const before = [...marks];
      marks[place[label]] = 1;
      const [partsTo, insideTo] = marksBefore(marks, to);
      const c = to - partsTo - insideTo;
      return { label, score, position: place[label], from, to, read: [parts, inside, partsTo, insideTo], c, d, before };
    });
  }

  const lossOf = (steps) => steps.reduce((sum, { c, d, score }) => sum + c + (c - d) * score, 0);

  // From here on: what is drawn.
  const UNIT = 9.2, EDGE = 6;
  const made = (name, attributes, content) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (content !== undefined) element.textContent = content;
    return element;
  };
  const across = (position) => EDGE + UNIT * position;

  function begin(root) {
    const find = (name) => root.querySelector(`[data-pairs="${name}"]`);
    const line = find("line"), slider = find("row");
    const steps = walk(rows());

    function drawLine(step) {
      const window = (from, to, y, kind) => made("rect", {
        class: kind, x: across(from), y, width: Math.max(0, UNIT * (to - from)), height: 12, rx: 3,
      });
      const dots = steps.map(({ position, label }) => made("circle", {
        class: position === step.position ? "now" : step.before[position] ? "marked" : "empty",
        cx: across(position + 0.5), cy: 34, r: position === step.position ? 6 : 3.6, "data-label": label,
      }));
      const edges = Array.from({ length: PART + 1 }, (_, k) => made("line", {
        class: "axis", x1: across(PART * k), y1: 20, x2: across(PART * k), y2: 48,
      }));
      line.replaceChildren(
        window(step.from, COUNT, 56, "worse"), window(0, step.to, 72, "better"), ...edges, ...dots,
        made("text", { x: EDGE, y: 12 }, "lowest score"),
        made("text", { x: across(COUNT), y: 12, "text-anchor": "end" }, "highest score"),
      );
    }

    function update() {
      const row = Number(slider.value), step = steps[row - 1], done = steps.slice(0, row);
      const [parts, inside, partsTo, insideTo] = step.read;
      drawLine(step);
      const say = (name, value) => { find(name).textContent = value.toLocaleString("en"); };
      say("number", row);
      say("d", step.d);
      say("c", step.c);
      find("d-how").textContent = `${row - 1} marks, ${parts} + ${inside} of them before its window`;
      find("c-how").textContent = `${step.to} positions, ${partsTo} + ${insideTo} of them with a mark`;
      say("compared", row * (row - 1) / 2);
      say("read", 4 * row);
      find("loss").textContent = row < COUNT ? "at the last row" : lossOf(done).toFixed(6);
      root.result = { row, steps, loss: lossOf(steps), compared: row * (row - 1) / 2, read: 4 * row };
    }

    slider.addEventListener("input", update);
    update();
  }

  return { begin, rows, walk, lossOf };
})();

if (typeof document !== "undefined") {
  document.querySelectorAll(".pairs-walk").forEach((root) => Pairs.begin(root));
}
