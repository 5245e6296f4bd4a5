"use strict";
// One panel of curves as SVG: ticks, lines, bands, labels, and what pointer and arrow keys read off it.
const drawPanel = (() => {
  const { state, element, svg, round, percent, short } = page;

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

  // Ticks along the horizontal axis: quarters of a whole, powers of two, or decades.
  function xTicks(low, high, kind, room) {
    if (kind === "shares") return [0, 0.25, 0.5, 0.75, 1];
    if (low === high) return [low];
    let ticks = [];
    if (kind === "powers") {
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

  // One panel: series of {label, color, dash, mark, points: [{x, y, low, high, text}]}, all on the figure's common scales;
  // `across` is {title, ticks} of the horizontal axis. Without low and high a point has no interval.
  function panel({ title, note, series, scale, across, large, format, unit }) {
    const width = large ? 530 : 262, height = large ? 300 : 186;
    const labels = large && series.length <= 7;
    const widest = Math.max(...series.map((one) => brief(one.label).length), 0);
    const box = { left: large ? 42 : 30, right: labels ? Math.min(178, 20 + 7 * widest) : 8, top: 8, bottom: large ? 40 : 24 };
    const shares = across.ticks === "shares";
    const span = Math.log2(scale.x[1] / scale.x[0]) || 1;
    const inset = 8;
    const along = (x) => (shares ? x : Math.log2(x / scale.x[0]) / span);
    const px = (x) => box.left + inset + along(x) * (width - box.left - box.right - 2 * inset);
    const py = (y) => height - box.bottom - ((y - scale.y[0]) / (scale.y[1] - scale.y[0])) * (height - box.top - box.bottom);
    const end = width - box.right;
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${summary(series, format)}` });
    const ticks = yTicks(...scale.y);
    for (const tick of ticks) {
      root.append(svg("line", { x1: box.left, x2: end, y1: py(tick), y2: py(tick), class: Math.abs(tick) < 1e-9 ? "zero" : "grid" }));
      root.append(svg("text", { x: box.left - 7, y: py(tick) + 4, "text-anchor": "end" }, `${String(Math.round(100 * tick)).replace("-", "−")}${tick === ticks.at(-1) && large ? unit : ""}`));
    }
    for (const tick of xTicks(...scale.x, across.ticks, large ? 8 : 4))
      root.append(svg("text", { x: px(tick), y: height - box.bottom + 17, "text-anchor": "middle" }, shares ? percent(tick, 0) : short(tick)));
    if (large) root.append(svg("text", { x: (box.left + end) / 2, y: height - 4, "text-anchor": "middle" }, across.title));
    const points = [];
    for (const one of series) {
      const group = svg("g", { color: one.color });
      const at = one.points.map((point) => ({ ...point, series: one, px: round(px(point.x)), py: round(py(point.y)) }));
      points.push(...at);
      const banded = state.bands && at.length > 0 && at[0].low !== undefined;
      if (banded && at.length > 1) {
        const top = at.map((point) => `${point.px},${round(py(point.high))}`);
        const bottom = at.map((point) => `${point.px},${round(py(point.low))}`).reverse();
        group.append(svg("polygon", { points: [...top, ...bottom].join(" "), class: "band" }));
      }
      if (at.length === 1 && !shares) {
        const [only] = at;
        group.append(svg("line", { x1: only.px, x2: end, y1: only.py, y2: only.py, class: "reference" }));
        if (banded) group.append(svg("line", { x1: only.px, x2: only.px, y1: py(only.low), y2: py(only.high), class: "whisker" }));
      }
      if (at.length > 1) group.append(svg("polyline", { points: at.map((point) => `${point.px},${point.py}`).join(" "), class: "line", "stroke-dasharray": one.dash }));
      for (const point of shares && at.length > 1 ? at.slice(-1) : at) group.append(mark(one.mark, point.px, point.py, large ? 3.4 : 2.2));
      root.append(group);
    }
    if (labels) directLabels(root, series, py, end + 9, box.top, height - box.bottom);
    return interactive(root, { title, note, points, width, height });
  }

  function summary(series, format) {
    return series.filter((one) => one.points.length)
      .map((one) => `${one.label} ${one.points.length > 1 ? `from ${format(one.points[0].y)} to ` : ""}${format(one.points.at(-1).y)}`).join("; ");
  }

  // Beside a line there is little room, and verifiers' names tell strategies apart.
  const brief = (label) => label.replace("verifier=", "").replace(" (uses gold)", "");

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
      const label = brief(one.label), text = label.length > 23 ? label.slice(0, 22) + "…" : label;
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

  return Object.assign(panel, { mark, tip });
})();
