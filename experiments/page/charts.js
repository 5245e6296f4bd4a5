"use strict";
// The figures: which curves stand in which panel, the legend, and the controls.
(() => {
  const { data, axes, entrants, state, DASHES, MARKS, element, svg, percent, signed, short } = page;
  const LEVELS = ["Easy", "Medium", "Hard"];
  function valueStyle(value, index) {
    const level = LEVELS.indexOf(value);
    const slot = index % 7;
    if (level >= 0) return { color: `var(--level${level})`, dash: ["", "", "7 4"][level], mark: MARKS[level], label: value };
    return { color: `var(--s${slot})`, dash: DASHES[slot], mark: MARKS[slot], label: value };
  }

  function cost(point) {
    const shown = new Set(["completion_tokens", "flops", state.axis]);
    shown.delete("samples");
    const known = [...shown].filter((key) => point[key] !== null).map((key) => `${short(point[key])} ${axes.get(key).label}`);
    return known.join(", ") || "cost unknown";
  }
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
    const label = axes.get(state.axis).label, equal = state.axis === "samples" ? "equal k" : `equal ${label}`;
    const point = (entrant, where, x, { value, low, high }) => ({
      x, y: value, low, high,
      text: [`${entrant.name} at ${where}`, `Easy − Hard ${signed(value)} points`, `[${signed(low)}, ${signed(high)}]`],
    });
    const several = visible().filter((entrant) => curve(data.groups[0], entrant).length > 1);
    const series = several.map((entrant) => {
      const own = (gap) => gap.strategy === entrant.name;
      const matched = data.matched.find((gap) => own(gap) && gap.axis === state.axis);
      const points = state.axis === "samples"
        ? (data.gaps.find(own)?.points ?? []).map((gap) => point(entrant, `k = ${gap.k}`, gap.k, { ...gap, value: gap.gap }))
        : (matched?.gaps ?? []).map((gap, index) => point(entrant, `${short(matched.at[index])} ${label}`, matched.at[index], gap));
      return { ...entrant, points };
    });
    return [{ title: "Easy minus Hard", note: `accuracy points, ${equal}`, series }];
  }

  function figure(host) {
    const field = host.dataset.field;
    const groups = data.groups.filter((group) => group.field === field);
    const all = field === "" || host.dataset.kind === "small" ? groups : [data.groups[0], ...groups];
    // More lines than that in one panel cannot be told apart, so such fields keep a panel per value.
    const byStrategyHere = state.panels === "strategy" && host.dataset.kind !== "gap" && field !== "" && groups.length <= 7;
    const panels = host.dataset.kind === "gap" ? gapPanels() : byStrategyHere ? byStrategy(all) : byGroup(all);
    const large = page.roomy(host) && (byStrategyHere || (panels.length <= 6 && host.dataset.kind !== "small"));
    const points = panels.flatMap((one) => one.series.flatMap((series) => series.points));
    if (!points.length) return host.replaceChildren(element("p", { class: "note" }, "Nothing to draw: no strategy is shown, or this cost is unknown for this model."));
    const xs = points.map((point) => point.x), tops = points.map((point) => (state.bands ? point.high : point.y));
    const bottoms = points.map((point) => (state.bands ? point.low : point.y));
    const low = Math.min(0, Math.floor(Math.min(...bottoms) * 20) / 20), high = Math.max(0.05, Math.ceil(Math.max(...tops) * 20 - 1e-9) / 20);
    const scale = { x: [Math.min(...xs), Math.max(...xs)], y: [low, high] };
    const across = { title: axes.get(state.axis).title, ticks: state.axis === "samples" ? "powers" : "decades" };
    const format = (value) => (host.dataset.kind === "gap" ? `${signed(value)} points` : `${percent(value)} %`);
    host.className = `panels ${large ? "large" : "small"}${panels.length === 1 ? " single" : ""}`;
    host.replaceChildren(...panels.map((one) => drawPanel({ ...one, scale, across, large, format, unit: host.dataset.kind === "gap" ? "" : " %" })));
  }

  function legend(host) {
    host.replaceChildren(...entrants.map((entrant) => {
      const swatch = svg("svg", { viewBox: "0 0 30 12", "aria-hidden": "true", color: entrant.color },
        svg("line", { x1: 1, x2: 29, y1: 6, y2: 6, class: "line", "stroke-dasharray": entrant.dash }), drawPanel.mark(entrant.mark, 15, 6, 3.2));
      const button = element("button", { type: "button", "aria-pressed": String(!state.hidden.has(entrant.name)) }, swatch, entrant.label);
      button.addEventListener("click", () => {
        if (!state.hidden.delete(entrant.name)) state.hidden.add(entrant.name);
        button.setAttribute("aria-pressed", String(!state.hidden.has(entrant.name)));
        page.draw();
      });
      return button;
    }));
  }

  page.redraws.push(() => {
    drawPanel.tip.remove();
    document.querySelectorAll("[data-figure]").forEach(figure);
  });

  for (const input of document.querySelectorAll("input[name=axis], input[name=panels]"))
    input.addEventListener("change", () => { state[input.name] = input.value; page.draw(); });
  document.getElementById("bands").addEventListener("change", (event) => { state.bands = event.target.checked; page.draw(); });
  for (const input of document.querySelectorAll("input[name=axis]"))
    input.disabled = !data.groups[0].curves.some((one) => one.points.some((point) => point[input.value] !== null));
  document.querySelectorAll(".legend").forEach(legend);
  page.draw();
})();
