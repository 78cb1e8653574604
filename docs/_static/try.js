// Ranking of a few points in the plane: the pairs, their losses, and the weights that minimise
//   mean over pairs of loss(w . (better - worse)) + alpha ||w||^2 .
// The solvers visit every pair, which a page with ten points can afford; the library gives the same numbers.
const Try = (() => {
  "use strict";

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
  const LOSSES = {
    hinge: (margin) => Math.max(0, 1 - margin),
    squared_hinge: (margin) => Math.max(0, 1 - margin) ** 2,
    least_squares: (margin) => (1 - margin) ** 2,
  };

  // A pair for each two points with different grades: the better one first.
  function pairsOf(points) {
    const pairs = [];
    points.forEach((a, better) => points.forEach((b, worse) => {
      if (a.grade > b.grade) pairs.push({ better, worse, difference: [a.x - b.x, a.y - b.y] });
    }));
    return pairs;
  }

  function objective(w, pairs, alpha, loss) {
    const total = pairs.reduce((sum, pair) => sum + LOSSES[loss](dot(w, pair.difference)), 0);
    return total / pairs.length + alpha * dot(w, w);
  }

  // The minimum of mean (1 - w . d)^2 over some pairs, with the penalty: two equations.
  function normalEquations(chosen, count, alpha) {
    let [a, b, c, p, q] = [alpha, 0, alpha, 0, 0];
    for (const { difference: [x, y] } of chosen) {
      a += x * x / count;
      b += x * y / count;
      c += y * y / count;
      p += x / count;
      q += y / count;
    }
    const determinant = a * c - b * b;
    return [(c * p - b * q) / determinant, (a * q - b * p) / determinant];
  }

  // Newton's method: where the violated pairs stay the same, a step ends at the minimum.
  function squaredHinge(pairs, alpha) {
    const value = (w) => objective(w, pairs, alpha, "squared_hinge");
    let w = [0, 0];
    for (let round = 0; round < 100; round++) {
      const violated = pairs.filter((pair) => dot(w, pair.difference) < 1);
      const target = normalEquations(violated, pairs.length, alpha);
      let share = 1, next = target;
      while (value(next) > value(w) && share > 1e-12) {
        share /= 2;
        next = w.map((v, k) => v + share * (target[k] - v));
      }
      if (!(value(next) < value(w))) break;
      w = next;
    }
    return w;
  }

  // The dual, one pair at a time: w is the sum of a_p d_p over 2 alpha N, with each a_p from 0 to 1.
  function hinge(pairs, alpha) {
    const scale = 1 / (2 * alpha * pairs.length);
    const used = pairs.map(() => 0);
    const w = [0, 0];
    for (let sweep = 0; sweep < 50000; sweep++) {
      pairs.forEach(({ difference: d }, p) => {
        const square = dot(d, d) * scale;
        const wished = square > 0 ? used[p] + (1 - dot(w, d)) / square : 1;
        const change = Math.min(1, Math.max(0, wished)) - used[p];
        used[p] += change;
        w[0] += scale * change * d[0];
        w[1] += scale * change * d[1];
      });
      const dual = used.reduce((sum, a) => sum + a, 0) / pairs.length - alpha * dot(w, w);
      if (objective(w, pairs, alpha, "hinge") - dual < 1e-10) break;
    }
    return w;
  }

  function solve(points, alpha, loss) {
    const pairs = pairsOf(points);
    if (!pairs.length) return { pairs, w: [0, 0], scores: points.map(() => 0), objective: NaN, error: NaN };
    const solvers = { hinge, squared_hinge: squaredHinge };
    const w = loss === "least_squares"
      ? normalEquations(pairs, pairs.length, alpha)
      : solvers[loss](pairs, alpha);
    for (const pair of pairs) {
      pair.margin = dot(w, pair.difference);
      pair.state = pair.margin <= 0 ? "wrong" : pair.margin < 1 ? "close" : "right";
    }
    const wrong = pairs.reduce((sum, { margin }) => sum + (margin < 0 ? 1 : margin === 0 ? 0.5 : 0), 0);
    return {
      pairs, w,
      scores: points.map(({ x, y }) => dot(w, [x, y])),
      objective: objective(w, pairs, alpha, loss),
      error: wrong / pairs.length,
    };
  }

  // From here on: what is drawn, dragged and typed.
  const GRADES = [1, 2, 3, 4];
  const START = [
    [1.2, 1.1, 1], [2.6, 3.4, 1], [4.4, 1.6, 1], [3.4, 5.2, 2],
    [5.2, 3.5, 2], [7.6, 2.2, 2], [6.0, 5.9, 3], [4.2, 4.1, 3],
  ];
  const SIZE = { width: 10, height: 7, unit: 56, edge: 20 };
  const CODE = {
    hinge: ["RankSVM", ", tol=1e-9"],
    squared_hinge: ["RankSVM", ', loss="squared_hinge", tol=1e-9'],
    least_squares: ["RankRLS", ', cost="unit"'],
  };
  const made = (name, attributes, content) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (content !== undefined) element.textContent = content;
    return element;
  };
  const acrossOf = (x) => SIZE.edge + SIZE.unit * x;
  const upOf = (y) => SIZE.edge + SIZE.unit * (SIZE.height - y);
  const within = (value, high) => Math.round(100 * Math.min(high, Math.max(0, value))) / 100;
  const started = () => START.map(([x, y, grade]) => ({ x, y, grade }));

  function begin(root) {
    const find = (name) => root.querySelector(`[data-try="${name}"]`);
    const plane = find("plane"), strip = find("strip");
    const [lines, arrow, dots] = ["pairs", "direction", "points"].map((kind) => made("g", { class: kind }));
    plane.append(lines, arrow, dots);
    let points = started(), drawn = [];

    const settings = () => ({
      alpha: Number((10 ** Number(find("alpha").value)).toPrecision(2)),
      loss: find("loss").value,
    });

    function update() {
      const { alpha, loss } = settings();
      const found = solve(points, alpha, loss);
      drawPairs(found);
      drawDirection(found);
      drawPoints(found);
      drawStrip(found);
      tell(found, alpha, loss);
      root.result = { points, alpha, loss, ...found };
    }

    function drawPairs(found) {
      lines.replaceChildren(...found.pairs.map(({ better, worse, state }) => made("line", {
        class: state,
        x1: acrossOf(points[better].x), y1: upOf(points[better].y),
        x2: acrossOf(points[worse].x), y2: upOf(points[worse].y),
      })));
    }

    // An arrow along w, and through the middle the line on which all scores are equal.
    function drawDirection({ w }) {
      const length = Math.hypot(...w);
      if (!(length > 1e-12)) return arrow.replaceChildren();
      const [x, y] = ["x", "y"].map((k) => points.reduce((sum, one) => sum + one[k], 0) / points.length);
      const [a, b] = [acrossOf(x), upOf(y)], [u, v] = [w[0] / length, -w[1] / length];
      const tip = [a + 130 * u, b + 130 * v], back = [a + 112 * u, b + 112 * v];
      const wing = (side) => `${back[0] - 9 * side * v},${back[1] + 9 * side * u}`;
      arrow.replaceChildren(
        made("line", { class: "level", x1: a - 700 * v, y1: b + 700 * u, x2: a + 700 * v, y2: b - 700 * u }),
        made("line", { class: "shaft", x1: a, y1: b, x2: back[0], y2: back[1] }),
        made("polygon", { class: "tip", points: `${tip[0]},${tip[1]} ${wing(1)} ${wing(-1)}` }),
      );
    }

    function drawPoints(found) {
      points.forEach((point, k) => {
        drawn[k] ??= newPoint(k);
        const [disc, text] = drawn[k].children;
        drawn[k].setAttribute("transform", `translate(${acrossOf(point.x)} ${upOf(point.y)})`);
        drawn[k].setAttribute("aria-label",
          `Point ${k + 1}: grade ${point.grade}, at ${point.x} and ${point.y}, score ${found.scores[k].toFixed(2)}`);
        disc.setAttribute("class", `grade${point.grade}`);
        text.textContent = point.grade;
      });
    }

    function newPoint(k) {
      const group = made("g", { tabindex: 0, role: "button", class: "point", "data-point": k });
      group.append(made("circle", { r: 15 }), made("text", { "text-anchor": "middle", y: 5 }));
      dots.append(group);
      return group;
    }

    // The scores on one line, which is the ranking: the highest on the right.
    function drawStrip({ scores }) {
      const [low, high] = [Math.min(...scores), Math.max(...scores)], room = high - low || 1;
      const place = (score) => 30 + 540 * (score - low) / room;
      const taken = [];
      const marks = scores.map((score, k) => ({ k, across: place(score) })).sort((a, b) => a.across - b.across);
      strip.replaceChildren(
        made("line", { class: "axis", x1: 20, y1: 76, x2: 580, y2: 76 }),
        made("text", { x: 20, y: 94 }, `lowest score ${low.toFixed(2)}`),
        made("text", { x: 580, y: 94, "text-anchor": "end" }, `highest score ${high.toFixed(2)}`),
        ...marks.map(({ k, across }) => {
          let level = 0;
          while (taken[level] !== undefined && across - taken[level] < 25 && level < 2) level++;
          taken[level] = across;
          const group = made("g", { transform: `translate(${across} ${62 - 23 * level})` });
          group.append(made("circle", { r: 11, class: `grade${points[k].grade}` }),
            made("text", { "text-anchor": "middle", y: 5 }, points[k].grade));
          return group;
        }),
      );
    }

    function tell(found, alpha, loss) {
      const count = (state) => found.pairs.filter((pair) => pair.state === state).length;
      find("n-pairs").textContent = found.pairs.length;
      for (const state of ["right", "close", "wrong"]) find(state).textContent = count(state);
      const shown = (value) => (Number.isNaN(value) ? "none" : value.toFixed(4));
      find("objective").textContent = shown(found.objective);
      find("score").textContent = shown(1 - found.error);
      find("w").textContent = found.w.map((v) => v.toFixed(4)).join(", ");
      find("alpha-value").textContent = alpha;
      const [name, more] = CODE[loss];
      const rows = points.map(({ x, y }) => `[${x}, ${y}]`).join(", ");
      find("code").textContent =
        `from rankwise import ${name}\n\nX = [${rows}]\ny = [${points.map((p) => p.grade).join(", ")}]\n` +
        `model = ${name}(alpha=${alpha}${more}).fit(X, y)\n` +
        "print(model.coef_, model.objective_, model.score(X, y))\n";
    }

    function move(k, x, y) {
      points[k].x = within(x, SIZE.width);
      points[k].y = within(y, SIZE.height);
      update();
    }

    function regrade(k, step) {
      points[k].grade = GRADES[Math.min(GRADES.length - 1, Math.max(0, GRADES.indexOf(points[k].grade) + step))];
      update();
    }

    // A click has one direction only, so the highest grade is followed by the lowest.
    function nextGrade(k) {
      points[k].grade = GRADES[(GRADES.indexOf(points[k].grade) + 1) % GRADES.length];
      update();
    }

    listen({ plane, dots, move, regrade, nextGrade, at: (k) => points[k] });
    find("alpha").addEventListener("input", update);
    find("loss").addEventListener("change", update);
    find("reset").addEventListener("click", () => {
      points = started();
      find("alpha").value = find("alpha").defaultValue;
      find("loss").selectedIndex = 0;
      update();
    });
    update();
  }

  // A drag moves a point, a click without one gives it the next grade; arrows and + and - do the same.
  function listen({ plane, dots, move, regrade, nextGrade, at }) {
    let held = null;
    const numberOf = (event) => {
      const group = event.target.closest("[data-point]");
      return group ? Number(group.dataset.point) : null;
    };
    const placeOf = (event) => {
      const box = plane.getBoundingClientRect();
      const unit = SIZE.unit * box.width / (2 * SIZE.edge + SIZE.unit * SIZE.width);
      const edge = SIZE.edge * unit / SIZE.unit;
      return [(event.clientX - box.left - edge) / unit, SIZE.height - (event.clientY - box.top - edge) / unit];
    };
    dots.addEventListener("pointerdown", (event) => {
      const k = numberOf(event);
      if (k === null) return;
      held = { k, moved: false, start: [event.clientX, event.clientY] };
      event.target.setPointerCapture(event.pointerId);
    });
    dots.addEventListener("pointermove", (event) => {
      if (!held) return;
      const [x, y] = held.start;
      held.moved ||= Math.hypot(event.clientX - x, event.clientY - y) > 3;
      if (held.moved) move(held.k, ...placeOf(event));
    });
    dots.addEventListener("pointerup", () => {
      if (held && !held.moved) nextGrade(held.k);
      held = null;
    });
    dots.addEventListener("pointercancel", () => { held = null; });
    const STEPS = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
    dots.addEventListener("keydown", (event) => {
      const k = numberOf(event), step = STEPS[event.key];
      if (step) move(k, at(k).x + step[0], at(k).y + step[1]);
      else if (["Enter", " "].includes(event.key)) nextGrade(k);
      else if (event.key === "+") regrade(k, 1);
      else if (event.key === "-") regrade(k, -1);
      else return;
      event.preventDefault();
    });
  }

  return { begin, pairsOf, solve };
})();

if (typeof document !== "undefined") {
  document.querySelectorAll(".try").forEach((root) => Try.begin(root));
}
