"use strict";
// Curves as SVG, drawn from the JSON in the page. All text goes in as text nodes: names come from configs and data.
(() => {
  const data = JSON.parse(document.getElementById("curves").textContent);
  const AXES = {
    samples: "samples per question",
    completion_tokens: "completion tokens per question",
    total_tokens: "tokens per question, prompt included",
    flops: "FLOPs per question",
  };
  const DASHES = ["", "7 4", "2 4", "10 3 2 3", "", "5 3", "12 4"];
  const MARKS = ["circle", "square", "triangle", "down", "plus", "circle", "square"];
  const state = { axis: "samples", panels: "group", bands: true, hidden: new Set() };

  const element = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "color") node.style.setProperty("--c", value);
      else node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  }

  const round = (value) => Math.round(value * 100) / 100;
  const percent = (value, digits = 1) => (100 * value).toFixed(digits);
  const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(100 * value).toFixed(1);
  function short(value) {
    const units = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
    const [size, unit] = units.find(([size]) => value >= 0.9995 * size) ?? [1, ""];
    return String(Number((value / size).toPrecision(3))) + unit;
  }

  const entrants = data.entrants.map((entrant, index) => ({ ...entrant, gold: entrant.gold || entrant.name === entrant.oracle, index }));
  let methods = 0, lines = 0;
  for (const entrant of entrants) {
    entrant.label = entrant.gold ? `${entrant.name} (uses gold)` : entrant.name;
    Object.assign(entrant, { color: "var(--gold)", dash: "6 4", mark: "diamond" });
    if (entrant.gold) continue;
    const slot = methods++ % 7;
    const several = data.groups[0].curves[entrant.index].points.length > 1;
    Object.assign(entrant, { color: `var(--s${slot})`, dash: several ? DASHES[lines++ % 7] : "1 4", mark: MARKS[slot] });
  }
  const LEVELS = ["Easy", "Medium", "Hard"];
  function valueStyle(value, index) {
    const level = LEVELS.indexOf(value);
    const slot = index % 7;
    if (level >= 0) return { color: `var(--level${level})`, dash: ["", "", "7 4"][level], mark: MARKS[level], label: value };
    return { color: `var(--s${slot})`, dash: DASHES[slot], mark: MARKS[slot], label: value };
  }

  function mark(kind, x, y, size) {
    const r = size, shapes = {
      square: `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
      triangle: `M${x},${y - 1.25 * r}l${1.25 * r},${2.2 * r}h${-2.5 * r}z`,
      down: `M${x},${y + 1.25 * r}l${1.25 * r},${-2.2 * r}h${-2.5 * r}z`,
      diamond: `M${x},${y - 1.4 * r}l${1.4 * r},${1.4 * r}l${-1.4 * r},${1.4 * r}l${-1.4 * r},${-1.4 * r}z`,
      plus: `M${x - r / 2},${y - 1.3 * r}h${r}v${0.8 * r}h${0.8 * r}v${r}h${-0.8 * r}v${0.8 * r}h${-r}v${-0.8 * r}h${-0.8 * r}v${-r}h${0.8 * r}z`,
    };
    return kind === "circle" ? svg("circle", { cx: x, cy: y, r: 1.1 * r, class: "mark" }) : svg("path", { d: shapes[kind], class: "mark" });
  }

  function xTicks(low, high, room) {
    if (low === high) return [low];
    let ticks = [];
    if (state.axis === "samples") {
      for (let value = 2 ** Math.ceil(Math.log2(low) - 1e-9); value <= high * 1.0001; value *= 2) ticks.push(value);
    } else {
      const decades = Math.log10(high / low), steps = decades > 2.6 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
        for (const step of steps) {
          const value = step * 10 ** power;
          if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
        }
    }
    while (ticks.length > room) ticks = ticks.filter((_, index) => index % 2 === 0);
    return ticks.length ? ticks : [low, high];
  }

  function yTicks(low, high) {
    const step = [0.05, 0.1, 0.2, 0.25, 0.5].find((step) => (high - low) / step <= 5.5) ?? 0.5;
    const ticks = [];
    for (let index = Math.ceil(low / step - 1e-9); index * step <= high + 1e-9; index++) ticks.push(index * step);
    return ticks;
  }

  const tip = element("div", { class: "tip", hidden: "" });
  const live = document.getElementById("live");

  // One panel: series of {label, color, dash, mark, points: [{x, y, low, high, text}]}, all on the figure's common scales.
  function panel({ title, note, series, scale, large, format, unit }) {
    const width = large ? 530 : 262, height = large ? 300 : 186;
    const labels = large && series.length <= 7;
    const widest = Math.max(...series.map((one) => one.label.length), 0);
    const box = { left: large ? 42 : 30, right: labels ? Math.min(178, 20 + 7 * widest) : 8, top: 8, bottom: large ? 40 : 24 };
    const span = Math.log2(scale.x[1] / scale.x[0]) || 1;
    const inset = 8;
    const px = (x) => box.left + inset + (Math.log2(x / scale.x[0]) / span) * (width - box.left - box.right - 2 * inset);
    const py = (y) => height - box.bottom - ((y - scale.y[0]) / (scale.y[1] - scale.y[0])) * (height - box.top - box.bottom);
    const end = width - box.right;
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${summary(series, format)}` });
    const ticks = yTicks(...scale.y);
    for (const tick of ticks) {
      root.append(svg("line", { x1: box.left, x2: end, y1: py(tick), y2: py(tick), class: Math.abs(tick) < 1e-9 ? "zero" : "grid" }));
      root.append(svg("text", { x: box.left - 7, y: py(tick) + 4, "text-anchor": "end" }, `${String(Math.round(100 * tick)).replace("-", "−")}${tick === ticks.at(-1) && large ? unit : ""}`));
    }
    for (const tick of xTicks(...scale.x, large ? 8 : 4))
      root.append(svg("text", { x: px(tick), y: height - box.bottom + 17, "text-anchor": "middle" }, short(tick)));
    if (large) root.append(svg("text", { x: (box.left + end) / 2, y: height - 4, "text-anchor": "middle" }, AXES[state.axis]));
    const points = [];
    for (const one of series) {
      const group = svg("g", { color: one.color });
      const at = one.points.map((point) => ({ ...point, series: one, px: round(px(point.x)), py: round(py(point.y)) }));
      points.push(...at);
      if (state.bands && at.length > 1) {
        const top = at.map((point) => `${point.px},${round(py(point.high))}`);
        const bottom = at.map((point) => `${point.px},${round(py(point.low))}`).reverse();
        group.append(svg("polygon", { points: [...top, ...bottom].join(" "), class: "band" }));
      }
      if (at.length === 1) {
        const [only] = at;
        group.append(svg("line", { x1: only.px, x2: end, y1: only.py, y2: only.py, class: "reference" }));
        if (state.bands) group.append(svg("line", { x1: only.px, x2: only.px, y1: py(only.low), y2: py(only.high), class: "whisker" }));
      }
      if (at.length > 1) group.append(svg("polyline", { points: at.map((point) => `${point.px},${point.py}`).join(" "), class: "line", "stroke-dasharray": one.dash }));
      for (const point of at) group.append(mark(one.mark, point.px, point.py, large ? 3.4 : 2.2));
      root.append(group);
    }
    if (labels) directLabels(root, series, py, end + 9, box.top, height - box.bottom);
    return interactive(root, { title, note, points, width, height });
  }

  function summary(series, format) {
    return series.filter((one) => one.points.length)
      .map((one) => `${one.label} ${one.points.length > 1 ? `from ${format(one.points[0].y)} to ` : ""}${format(one.points.at(-1).y)}`).join("; ");
  }

  function directLabels(root, series, py, x, top, bottom) {
    const places = series.filter((one) => one.points.length)
      .map((one) => ({ one, y: py(one.points.at(-1).y) })).sort((a, b) => a.y - b.y);
    for (let index = 1; index < places.length; index++) places[index].y = Math.max(places[index].y, places[index - 1].y + 14);
    let limit = bottom + 4;
    for (const place of places.toReversed()) {
      place.y = Math.max(top, Math.min(place.y, limit));
      limit = place.y - 14;
    }
    for (const { one, y } of places) {
      const text = one.label.length > 23 ? one.label.slice(0, 22) + "…" : one.label;
      root.append(svg("text", { x, y: y + 4, class: "direct", color: one.color }, text));
    }
  }

  function interactive(root, { title, note, points, width, height }) {
    const caption = element("figcaption", {}, element("h3", {}, title), element("span", {}, note));
    const figure = element("figure", { class: "panel", tabindex: "0", "aria-label": `${title}, ${note}. Arrow keys read the points.` }, caption, root);
    const halo = svg("circle", { r: 7.5, class: "halo", visibility: "hidden" });
    root.append(halo);
    let current = null;
    const show = (point, speak) => {
      current = point;
      halo.setAttribute("cx", point.px);
      halo.setAttribute("cy", point.py);
      halo.setAttribute("visibility", "visible");
      tip.replaceChildren(element("b", {}, point.text[0]), ...point.text.slice(1).flatMap((line) => [line, element("br")]).slice(0, -1));
      figure.append(tip);
      tip.hidden = false;
      const area = root.getBoundingClientRect(), ratio = area.width / width;
      const half = tip.offsetWidth / 2;
      tip.style.left = `${Math.min(Math.max(point.px * ratio, half), figure.clientWidth - half)}px`;
      tip.style.top = `${area.top - figure.getBoundingClientRect().top + point.py * ratio}px`;
      if (speak) live.textContent = [title, ...point.text].join(", ");
    };
    const hide = () => { tip.hidden = true; halo.setAttribute("visibility", "hidden"); };
    root.addEventListener("pointermove", (event) => {
      const area = root.getBoundingClientRect();
      const x = ((event.clientX - area.left) * width) / area.width, y = ((event.clientY - area.top) * height) / area.height;
      const distance = (point) => (point.px - x) ** 2 + (point.py - y) ** 2;
      const nearest = points.reduce((best, point) => (best === null || distance(point) < distance(best) ? point : best), null);
      if (nearest && distance(nearest) < 2500) show(nearest, false);
      else hide();
    });
    root.addEventListener("pointerleave", hide);
    figure.addEventListener("blur", hide);
    figure.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], turn = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!points.length || (step === undefined && turn === undefined)) return;
      event.preventDefault();
      if (current === null) return show(points[0], true);
      const same = points.filter((point) => point.series === current.series);
      const all = [...new Set(points.map((point) => point.series))];
      if (step) return show(same[Math.min(Math.max(same.indexOf(current) + step, 0), same.length - 1)], true);
      const other = all[(all.indexOf(current.series) + turn + all.length) % all.length];
      const near = points.filter((point) => point.series === other);
      show(near.reduce((best, point) => (Math.abs(point.px - current.px) < Math.abs(best.px - current.px) ? point : best)), true);
    });
    return figure;
  }

  const known = (value, unit) => (value === null ? [] : [`${short(value)} ${unit}`]);
  const cost = (point) => [...known(point.completion_tokens, "completion tokens"), ...known(point.flops, "FLOP")].join(", ") || "cost unknown";
  function readable(points, name) {
    return points.filter((point) => point[state.axis] > 0).map((point) => ({
      x: point[state.axis], y: point.accuracy, low: point.low, high: point.high,
      text: [`${name} at k = ${point.k}`, `${percent(point.accuracy)} % [${percent(point.low)}, ${percent(point.high)}]`, cost(point)],
    }));
  }

  const curve = (group, entrant) => group.curves[entrant.index].points;
  const visible = () => entrants.filter((entrant) => !state.hidden.has(entrant.name));
  const count = (group) => `${group.questions} question${group.questions === 1 ? "" : "s"}`;

  function byGroup(groups) {
    return groups.map((group) => ({
      title: group.field === "" ? "All questions" : group.value,
      note: count(group),
      series: visible().map((entrant) => ({ ...entrant, points: readable(curve(group, entrant), entrant.name) })),
    }));
  }

  function byStrategy(groups) {
    const values = groups.filter((group) => group.field !== "");
    return visible().filter((entrant) => curve(groups[0], entrant).length > 1).map((entrant) => ({
      title: entrant.label,
      note: values.length <= 3 ? values.map((group) => group.value).join(", ") : `${values.length} values`,
      series: values.map((group, index) => ({
        ...valueStyle(group.value, index), points: readable(curve(group, entrant), `${entrant.name}, ${group.value}`),
      })),
    }));
  }

  function gapPanels() {
    const series = visible().filter((entrant) => curve(data.groups[0], entrant).length > 1).map((entrant) => {
      const costs = new Map(curve(data.groups[0], entrant).map((point) => [point.k, point]));
      const gap = data.gaps.find((gap) => gap.strategy === entrant.name);
      return {
        ...entrant,
        points: (gap?.points ?? []).filter((point) => costs.get(point.k)[state.axis] > 0).map((point) => ({
          x: costs.get(point.k)[state.axis], y: point.gap, low: point.low, high: point.high,
          text: [`${entrant.name} at k = ${point.k}`, `Easy − Hard ${signed(point.gap)} points`, `[${signed(point.low)}, ${signed(point.high)}]`],
        })),
      };
    });
    return [{ title: "Easy minus Hard", note: "accuracy points, equal k", series }];
  }

  function figure(host) {
    const field = host.dataset.field;
    const groups = data.groups.filter((group) => group.field === field);
    const all = field === "" || host.dataset.kind === "small" ? groups : [data.groups[0], ...groups];
    // More lines than that in one panel cannot be told apart, so such fields keep a panel per value.
    const byStrategyHere = state.panels === "strategy" && host.dataset.kind !== "gap" && field !== "" && groups.length <= 7;
    const panels = host.dataset.kind === "gap" ? gapPanels() : byStrategyHere ? byStrategy(all) : byGroup(all);
    const large = byStrategyHere || (panels.length <= 6 && host.dataset.kind !== "small");
    const points = panels.flatMap((one) => one.series.flatMap((series) => series.points));
    if (!points.length) return host.replaceChildren(element("p", { class: "note" }, "Nothing to draw: no strategy is shown, or this cost is unknown for this model."));
    const xs = points.map((point) => point.x), tops = points.map((point) => (state.bands ? point.high : point.y));
    const bottoms = points.map((point) => (state.bands ? point.low : point.y));
    const low = Math.min(0, Math.floor(Math.min(...bottoms) * 20) / 20), high = Math.max(0.05, Math.ceil(Math.max(...tops) * 20 - 1e-9) / 20);
    const scale = { x: [Math.min(...xs), Math.max(...xs)], y: [low, high] };
    const format = (value) => (host.dataset.kind === "gap" ? `${signed(value)} points` : `${percent(value)} %`);
    host.className = `panels ${large ? "large" : "small"}${panels.length === 1 ? " single" : ""}`;
    host.replaceChildren(...panels.map((one) => panel({ ...one, scale, large, format, unit: host.dataset.kind === "gap" ? "" : " %" })));
  }

  function legend(host) {
    host.replaceChildren(...entrants.map((entrant) => {
      const swatch = svg("svg", { viewBox: "0 0 30 12", "aria-hidden": "true", color: entrant.color },
        svg("line", { x1: 1, x2: 29, y1: 6, y2: 6, class: "line", "stroke-dasharray": entrant.dash }), mark(entrant.mark, 15, 6, 3.2));
      const button = element("button", { type: "button", "aria-pressed": String(!state.hidden.has(entrant.name)) }, swatch, entrant.label);
      button.addEventListener("click", () => {
        if (!state.hidden.delete(entrant.name)) state.hidden.add(entrant.name);
        button.setAttribute("aria-pressed", String(!state.hidden.has(entrant.name)));
        draw();
      });
      return button;
    }));
  }

  function losses(host) {
    const select = host.querySelector("select"), body = host.querySelector("tbody");
    const ks = [...new Set(data.groups[0].losses.map((loss) => loss.k))].sort((a, b) => a - b);
    select.replaceChildren(...ks.map((k) => element("option", { value: k }, `k = ${k}`)));
    select.value = String(ks.at(-1));
    const groups = data.groups.filter((group) => group.field === "" || group.field === host.dataset.field);
    const rows = () => {
      body.replaceChildren();
      for (const group of groups)
        group.losses.filter((loss) => loss.k === Number(select.value)).forEach((loss, index) => {
          const bar = element("div", { class: "bar", "aria-hidden": "true" });
          for (const [kind, share] of [["right", loss.accuracy], ["selection", loss.selection], ["budget", loss.budget]]) {
            const part = element("i", { class: kind });
            part.style.width = `${100 * Math.max(0, share)}%`;
            bar.append(part);
          }
          const cells = ["accuracy", "selection", "budget", "capability"].map((name) => element("td", {}, percent(loss[name])));
          const row = element("tr", index === 0 ? { class: "first" } : {}, element("th", { scope: "row" }, index === 0 ? (group.field ? group.value : "all questions") : ""),
            element("td", { class: "text" }, loss.strategy), element("td", {}, bar), ...cells);
          if (index > 0) row.firstChild.append(element("span", { class: "hidden-visually" }, group.field ? group.value : "all questions"));
          body.append(row);
        });
    };
    select.addEventListener("change", rows);
    rows();
  }

  function draw() {
    tip.remove();
    document.querySelectorAll("[data-figure]").forEach(figure);
  }

  for (const input of document.querySelectorAll("input[name=axis], input[name=panels]"))
    input.addEventListener("change", () => { state[input.name] = input.value; draw(); });
  document.getElementById("bands").addEventListener("change", (event) => { state.bands = event.target.checked; draw(); });
  for (const input of document.querySelectorAll("input[name=axis]"))
    input.disabled = !data.groups[0].curves.some((one) => one.points.some((point) => point[input.value] !== null));
  document.querySelectorAll(".legend").forEach(legend);
  document.querySelectorAll("[data-losses]").forEach(losses);
  draw();
})();
