"use strict";
// Risk against coverage: a curve per strategy that one score decides, at a budget, and the table beside it.
(() => {
  const { data, entrants, state, element, percent } = page;
  const host = document.querySelector("[data-risk]");
  if (!host) return;
  const select = host.querySelector("select"), figure = host.querySelector(".figure"), body = host.querySelector("tbody");
  const across = { title: "coverage: questions answered, in %", ticks: "shares" };
  const named = (risk) => (risk.field === "" ? "All questions" : risk.value);
  const ks = [...new Set(data.risks.map((risk) => risk.k))].sort((a, b) => a - b);
  select.replaceChildren(...ks.map((k) => element("option", { value: k }, `k = ${k}`)));
  select.value = String(ks.at(-1));

  function curve(risk) {
    const entrant = entrants.find((one) => one.name === risk.strategy);
    const points = risk.coverage.map((coverage, index) => ({
      x: coverage, y: 1 - risk.accuracy[index],
      text: [`${entrant.name} at k = ${risk.k}`, `risk ${percent(1 - risk.accuracy[index])} % at coverage ${percent(coverage)} %`, `score or share at least ${Number(risk.thresholds[index].toPrecision(4))}`],
    }));
    return { ...entrant, points };
  }

  function draw() {
    const shown = data.risks.filter((risk) => risk.k === Number(select.value) && (risk.field === "" || risk.field === host.dataset.field));
    const visible = shown.filter((risk) => !state.hidden.has(risk.strategy));
    const highest = Math.max(0.05, ...visible.flatMap((risk) => risk.accuracy.map((accuracy) => 1 - accuracy)));
    const scale = { x: [0, 1], y: [0, Math.ceil(highest * 20 - 1e-9) / 20] };
    const names = [...new Set(shown.map(named))];
    const panels = names.map((name) => ({ title: name, note: `k = ${select.value}`, series: visible.filter((risk) => named(risk) === name).map(curve) }));
    const large = page.roomy(host) && names.length <= 6;
    figure.className = `figure panels ${large ? "large" : "small"}${names.length === 1 ? " single" : ""}`;
    figure.replaceChildren(...panels.map((one) =>
      drawPanel({ ...one, scale, across, large, format: (value) => `risk ${percent(value)} %`, unit: " %" })));
    body.replaceChildren(...names.flatMap((name) => shown.filter((risk) => named(risk) === name).map((risk, index) => row(risk, name, index === 0))));
  }

  function row(risk, name, first) {
    const entrant = entrants.find((one) => one.name === risk.strategy);
    const share = (value) => element("td", {}, value === null ? "–" : percent(value));
    const at = risk.selective.map((one) => share(one.accuracy));
    const head = element("th", { scope: "row" }, first ? name : element("span", { class: "hidden-visually" }, name));
    return element("tr", { class: `${first ? "first" : ""}${entrant.gold ? " oracle" : ""}` }, head, element("td", { class: "text" }, entrant.label), share(risk.area), ...at);
  }

  select.addEventListener("change", draw);
  page.redraws.push(draw);
})();
