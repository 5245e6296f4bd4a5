"use strict";
// Tables that follow what the reader chose: losses at a budget; areas, and gaps at equal compute, on the axis of the figures.
(() => {
  const { data, axes, entrants, state, element, percent, signed, short } = page;
  const entrant = (name) => entrants.find((one) => one.name === name);

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

  const cell = (text, small) => element("td", {}, text, ...(small === undefined ? [] : [element("small", {}, small)]));
  const span = (estimate, write) => cell(write(estimate.value), `[${write(estimate.low)}, ${write(estimate.high)}]`);

  // Rows of `rowsOf()`, or in their place a sentence on why there are none.
  function following(host, rowsOf) {
    const table = host.querySelector("table"), note = host.querySelector(".note"), body = host.querySelector("tbody");
    page.redraws.push(() => {
      const rows = rowsOf();
      table.hidden = rows.length === 0;
      note.hidden = rows.length > 0;
      host.querySelectorAll("[data-axis]").forEach((place) => { place.textContent = axes.get(state.axis).label; });
      body.replaceChildren(...rows.map(([name, ...cells]) =>
        element("tr", entrant(name).gold ? { class: "oracle" } : {}, element("th", { scope: "row" }, entrant(name).label), ...cells)));
    });
  }

  function areas(host) {
    following(host, () => data.areas.filter((one) => one.axis === state.axis).sort((a, b) => b.area - a.area).map((one) =>
      [one.strategy, span({ ...one, value: one.area }, percent), cell(`${short(one.begin)} to ${short(one.end)}`)]));
  }

  function matched(host) {
    following(host, () => data.matched.filter((gap) => gap.axis === state.axis).map((gap) => {
      const last = gap.gaps.length - 1;
      const reading = gap.change === null ? "" : gap.change.high < 0 ? "narrows" : gap.change.low > 0 ? "widens" : "shows no clear change";
      return [gap.strategy, cell(short(gap.at[0])), span(gap.gaps[0], percent), cell(short(gap.at[last])), span(gap.gaps[last], percent),
        gap.change === null ? cell("") : span(gap.change, signed), element("td", { class: "text" }, reading)];
    }));
  }

  document.querySelectorAll("[data-losses]").forEach(losses);
  document.querySelectorAll("[data-areas]").forEach(areas);
  document.querySelectorAll("[data-matched]").forEach(matched);
})();
