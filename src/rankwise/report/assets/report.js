"use strict";
(function () {
  const MINUS = "\u2212";

  // Numbers as the page writes them elsewhere.
  function short(value) {
    if (!Number.isFinite(value)) return "\u2013";
    const size = Math.abs(value);
    let text;
    if (Number.isInteger(value) && size < 1e15) text = size.toLocaleString("en-US");
    else if (size < 1e-3 || size >= 1e6) text = Number(size.toPrecision(3)).toExponential().replace(/e([+-])(\d)$/, "e$10$2");
    else {
      const digits = Math.max(0, 4 - Math.max(0, Math.floor(Math.log10(size)) + (size >= 1 ? 1 : 0)));
      text = size.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    }
    return (value < 0 ? MINUS : "") + text;
  }

  // Values of features: dates are days after 1970-01-01.
  function dateText(days) {
    const minutes = Math.round(days * 1440), time = new Date(minutes * 60000);
    if (Number.isNaN(time.getTime())) return short(days);
    return minutes % 1440 ? time.toISOString().slice(0, 16).replace("T", " ") : time.toISOString().slice(0, 10);
  }

  function valueText(value, kind) {
    if (kind === "date") return dateText(value);
    return kind === "yes or no" && (value === 0 || value === 1) ? ["no", "yes"][value] : short(value);
  }

  // Tables: a click on a heading sorts, a second one turns the order round.
  function key(row, column) {
    const cell = row.cells[column];
    if (!("value" in cell.dataset)) return cell.textContent;
    return cell.dataset.value === "" ? NaN : Number(cell.dataset.value);
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  }

  function sortBy(table, heading) {
    const descending = heading.getAttribute("aria-sort") === "ascending";
    const column = heading.cellIndex;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).map((row) => [key(row, column), row]);
    const missing = (value) => typeof value === "number" && Number.isNaN(value);
    rows.sort(([a], [b]) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b); // what has no value comes last
      return descending ? compare(b, a) : compare(a, b);
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    body.append(...rows.map(([, row]) => row));
  }

  function search(field) {
    const table = document.getElementById(field.dataset.table);
    const wanted = field.value.trim().toLowerCase();
    let found = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      found += !row.hidden;
    }
    field.parentElement.querySelector(".found").textContent = wanted ? found + " found" : "";
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    table.tHead.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) sortBy(table, button.parentElement);
    });
    if (table.tBodies[0].rows.length > 40) table.parentElement.classList.add("long");
  }
  for (const field of document.querySelectorAll("input[type=search]")) {
    field.addEventListener("input", () => search(field));
  }

  // The name of a row, or its number.
  const called = (row) => (typeof row === "number" ? `row ${row}` : row);

  function cell(kind, text, className) {
    const made = document.createElement(kind);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // Rows of a query: a link on its name shows them, and its most wrong pair below.
  const documents = JSON.parse(document.getElementById("documents-data")?.textContent ?? "[]");
  if (documents.length) showQueries();

  function showQueries() {
    const find = (name) => document.getElementById("documents" + name);
    const described = ([row, label]) => called(row) + (label ? ` (label ${label})` : "");

    function words(entry) {
      if (!entry.wrong) return `No pair of query ${entry.name} is in the wrong order.`;
      const [first, second] = entry.wrong.map(described);
      return `Worst pair of query ${entry.name}: ${first} is above ${second}, but should be below it.`;
    }

    function lineOf([place, row, label, score]) {
      const line = document.createElement("tr");
      const name = cell("th", place), value = cell("td", short(score), "number");
      name.scope = "row";
      value.dataset.value = score;
      line.append(name, cell("td", row), cell("td", label), value);
      return line;
    }

    function show(place) {
      const entry = documents[place], count = entry.rows.length;
      find("-query").value = String(place);
      find("-wrong").textContent = words(entry);
      find("-table").tBodies[0].replaceChildren(...entry.rows.map(lineOf));
      find("").querySelector(".note").textContent =
        count < entry.size ? `${count} of ${entry.size.toLocaleString("en-US")} rows are listed.` : "";
      const field = document.getElementById("pair-query");
      const group = pairGroups().findIndex((one) => one.query === entry.query);
      find("-why").hidden = !entry.wrong || group < 0;
      if (field && group >= 0) {
        field.value = String(group);
        field.dispatchEvent(new Event("change"));
      }
    }

    find("-query").addEventListener("change", (event) => show(Number(event.target.value)));
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-query]");
      if (link) show(Number(link.dataset.query));
    });
    find("-why").hidden = !documents[0].wrong || !pairGroups().length;
  }

  function pairGroups() {
    const embedded = document.getElementById("pair-data");
    return embedded ? JSON.parse(embedded.textContent).groups : [];
  }

  // What if: the score of a row changes by the terms of the features that were moved.
  const movable = document.getElementById("what-if-data");
  if (movable) showWhatIf(JSON.parse(movable.textContent));

  // The entry of a table for a value; the last entry is for missing and unknown values.
  function entry({ kind, knots }, x) {
    const missing = knots.length + (kind === "steps" ? 1 : 0);
    if (x === null || Number.isNaN(x)) return missing;
    const reached = knots.filter((knot) => x >= knot).length;
    const place = kind === "steps" ? reached : Math.max(reached - 1, 0);
    return kind === "levels" && knots[place] !== x ? missing : place;
  }

  function termAt(term, x) {
    if ("weight" in term) return x[term.features[0]] === null ? term.missing : term.weight * x[term.features[0]];
    const [axis, second] = term.axes;
    const place = entry(axis, x[term.features[0]]);
    if (second) {
      const size = second.knots.length + (second.kind === "steps" ? 2 : 1);
      return term.values[place * size + entry(second, x[term.features[1]])];
    }
    const left = term.values[place], value = x[term.features[0]];
    if (axis.kind !== "lines" || place >= axis.knots.length - 1 || !(value > axis.knots[0])) return left;
    const share = (value - axis.knots[place]) / (axis.knots[place + 1] - axis.knots[place]);
    return left + share * (term.values[place + 1] - left);
  }

  function showWhatIf(found) {
    const byName = (name) => document.getElementById("what-if-" + name);
    const queries = byName("query"), chosen = byName("row"), starts = [0];
    for (const size of found.sizes) starts.push(starts.at(-1) + size);
    const total = (x) => found.terms.reduce((sum, term) => sum + termAt(term, x), 0);
    let x = [];

    function group() {
      const place = queries ? Number(queries.value) : 0;
      return found.rows.slice(starts[place], starts[place + 1]);
    }

    function answer() {
      const rows = group(), row = found.rows[Number(chosen.value)];
      const others = rows.filter((one) => one !== row);
      const place = (score) => 1 + others.filter((one) => one.score > score).length;
      const label = row.label ? ` (label ${row.label})` : "";
      const isMoved = x.some((value, k) => value !== row.values[k]);
      const score = isMoved ? row.score + total(x) - total(row.values) : row.score;
      const before = isMoved ? `, instead of ${short(row.score)} and place ${place(row.score)}` : "";
      byName("answer").textContent =
        `${called(row.row).replace(/^row /, "Row ")}${label}: score ${short(score)}, place ${place(score)} of ${rows.length}${before}.`;
      byName("answer").dataset.score = String(score);
    }

    function ofLevels(feature, k, name) {
      const field = document.createElement("select");
      field.id = name;
      if (x[k] === null) field.add(new Option("missing", "", true, true));
      for (const [value, title] of feature.levels) field.add(new Option(title, String(value), value === x[k], value === x[k]));
      field.addEventListener("change", () => { x[k] = field.value === "" ? null : Number(field.value); answer(); });
      return [field];
    }

    function ofNumbers(feature, k, name) {
      const slider = document.createElement("input"), exact = document.createElement("input");
      const isDate = feature.kind === "date", digits = feature.whole ? 10 : 16;
      const written = (value) =>
        (isDate ? new Date(value * 864e5).toISOString().slice(0, digits) : Number(value.toPrecision(6)));
      const read = () => (isDate ? exact.valueAsNumber / 864e5 : exact.value === "" ? NaN : Number(exact.value));
      slider.type = "range";
      exact.type = isDate ? (feature.whole ? "date" : "datetime-local") : "number";
      slider.min = feature.low;
      slider.max = feature.high;
      slider.step = feature.whole ? 1 : "any";
      if (!isDate) exact.step = "any";
      exact.id = name;
      slider.setAttribute("aria-label", feature.name);
      slider.value = x[k] ?? feature.low;
      exact.value = x[k] === null ? "" : written(x[k]);
      slider.addEventListener("input", () => {
        x[k] = feature.whole ? Number(slider.value) : Number(Number(slider.value).toPrecision(6));
        exact.value = isDate ? written(x[k]) : x[k];
        answer();
      });
      exact.addEventListener("input", () => {
        if (!Number.isFinite(read())) return;
        x[k] = read();
        slider.value = x[k];
        answer();
      });
      return [slider, exact];
    }

    function reset() {
      x = Array.from(found.rows[Number(chosen.value)].values);
      byName("sliders").replaceChildren(...found.features.map((feature, k) => {
        const line = document.createElement("div"), label = cell("label", feature.name), name = `what-if-${k}`;
        label.htmlFor = name;
        line.append(label, ...(feature.levels ? ofLevels(feature, k, name) : ofNumbers(feature, k, name)));
        return line;
      }));
      answer();
    }

    function choose() {
      const start = starts[queries ? Number(queries.value) : 0];
      chosen.replaceChildren(...group().map((row, k) => {
        const label = row.label ? `label ${row.label}, ` : "";
        return new Option(`${k + 1}. ${called(row.row)}, ${label}score ${short(row.score)}`, String(start + k));
      }));
      reset();
    }

    if (queries) queries.addEventListener("change", choose);
    chosen.addEventListener("change", reset);
    byName("reset").addEventListener("click", reset);
    byName("form").addEventListener("submit", (event) => event.preventDefault());
    choose();
  }

  // Pairs: the parts of a difference are weight times difference, feature by feature.
  const source = document.getElementById("pair-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const MOST_PARTS = 15;
  const byId = (name) => document.getElementById(name);
  const queryField = byId("pair-query"), fieldA = byId("pair-a"), fieldB = byId("pair-b");

  function values(row) {
    return new Map(row.features.map((feature, k) => [feature, row.values[k]]));
  }

  function parts(first, second) {
    const a = values(first), b = values(second), found = [];
    for (const k of Array.from(new Set([...a.keys(), ...b.keys()])).sort((p, q) => p - q)) {
      const x = a.get(k) ?? 0, z = b.get(k) ?? 0;
      if (x === z) continue;
      const [first, second] = [x, z].map((value) => valueText(value, data.kinds[k]));
      found.push({ name: data.names[k], x: first, z: second, part: data.weights[k] * (x - z) });
    }
    found.sort((p, q) => Math.abs(q.part) - Math.abs(p.part));
    const left = found.slice(MOST_PARTS);
    const rest = first.rest - second.rest + left.reduce((sum, one) => sum + one.part, 0);
    const shown = found.slice(0, MOST_PARTS);
    const largest = found.length ? Math.abs(found[0].part) : 1;
    if (left.length + data.others && Math.abs(rest) > 1e-12 * largest) {
      shown.push({ name: "other features", x: "", z: "", part: rest });
    }
    return shown;
  }

  // 1 where the labels want A above B, -1 the other way round, 0 where they ask for nothing.
  function wished(a, b) {
    if (!data.below) return Math.sign(a.y - b.y);
    const has = (high, low) => data.below[data.rows.indexOf(high)].includes(data.rows.indexOf(low));
    return has(a, b) - has(b, a);
  }

  function answer(a, b) {
    if (a === b) return "A and B are the same row: choose two different ones.";
    const difference = a.score - b.score;
    const where = difference > 0 ? "above" : difference < 0 ? "below" : "tied with";
    const wish = wished(a, b);
    const right = difference * wish > 0;
    const by = data.said_by;
    const verdict = wish === 0 ? `which the ${by} do not order` : right ? `as the ${by} require` : `against the ${by}`;
    const labels = a.label ? ` (${a.label} and ${b.label})` : "";
    return `${called(a.row).replace(/^row /, "Row ")} is ${where} ${called(b.row)}, ${verdict}${labels}: its score is ` +
      `${short(a.score)} against ${short(b.score)}, a difference of ${short(difference)}.` +
      intervalInWords(a, b, wish * difference < 0 ? by : "");
  }

  // The interval of a difference; the rows of a query are next to each other.
  function interval(a, b) {
    if (!data.half_widths || a === b) return null;
    const first = data.rows.indexOf(a), second = data.rows.indexOf(b);
    const middle = data.estimates[first] - data.estimates[second];
    const half = data.half_widths[Math.max(first, second)].at(-Math.abs(first - second));
    return { low: middle - half, high: middle + half, sure: Math.abs(middle) > half };
  }

  function intervalInWords(a, b, against) {
    const found = interval(a, b);
    if (!found) return "";
    let verdict = ": the order is sure.";
    if (!found.sure) verdict = ", which contains 0: the order is not sure.";
    else if (against) {
      verdict = ", without 0: the model would order these rows in this way with other training data, too, but " +
        `against the ${against}.`;
    }
    return ` The 95% interval of the difference is ${short(found.low)} to ${short(found.high)}${verdict}`;
  }

  function lineOf(one, size) {
    const line = document.createElement("tr");
    const name = cell("th", one.name);
    name.scope = "row";
    const part = cell("td", short(one.part), "number");
    part.dataset.value = String(one.part);
    const bar = cell("td", "", "bar-cell"), fill = cell("span", "", one.part >= 0 ? "up" : "down");
    bar.setAttribute("aria-hidden", "true");
    fill.style.width = (50 * Math.abs(one.part) / size).toFixed(1) + "%";
    bar.append(fill);
    line.append(name, cell("td", one.x, "number"), cell("td", one.z, "number"), part, bar);
    return line;
  }

  function explain() {
    const a = data.rows[Number(fieldA.value)], b = data.rows[Number(fieldB.value)];
    const found = parts(a, b);
    const size = Math.max(...found.map((one) => Math.abs(one.part)), 0) || 1;
    byId("pair-answer").textContent = answer(a, b);
    byId("pair-table").classList.toggle("unsure", interval(a, b)?.sure === false);
    byId("pair-table").tBodies[0].replaceChildren(...found.map((one) => lineOf(one, size)));
  }

  function fill(field, group, chosen) {
    field.replaceChildren(...group.rows.map((k, place) => {
      const row = data.rows[k];
      const label = row.label ? `label ${row.label}, ` : "";
      const title = `${place + 1}. ${called(row.row)}, ${label}score ${short(row.score)}`;
      return new Option(title, String(k), k === chosen, k === chosen);
    }));
  }

  if (queryField) {
    queryField.addEventListener("change", () => {
      const group = data.groups[Number(queryField.value)];
      fill(fieldA, group, group.pair[0]);
      fill(fieldB, group, group.pair[1]);
      explain();
    });
  }
  fieldA.addEventListener("change", explain);
  fieldB.addEventListener("change", explain);
  byId("pair-form").addEventListener("submit", (event) => event.preventDefault());
  byId("pair-swap").addEventListener("click", () => {
    [fieldA.value, fieldB.value] = [fieldB.value, fieldA.value];
    explain();
  });
})();
