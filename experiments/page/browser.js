"use strict";
// The sample browser's list and filters. They read a small index; a question's own block is unpacked when it is opened.
(() => {
  const { element } = page;
  const { questions, fields, verifiers } = drawExhibit.index;
  const PAGE = 100;
  const list = document.getElementById("list"), exhibit = document.getElementById("exhibit"), counter = document.getElementById("counter");
  const live = document.getElementById("live");
  const controls = Object.fromEntries([...document.querySelectorAll("#filters [name]")].map((control) => [control.name, control]));
  let shown = PAGE, matches = [], open = -1;

  const verifier = () => Number(controls.verifier?.value ?? -1), strategy = () => Number(controls.strategy.value);
  const STATES = {
    all: () => true,
    solvable: (question) => question.solved > 0 && strategy() >= 0 && (question.credits[strategy()] ?? 0) < 0.5,
    fooled: (question) => question.fooled.includes(verifier()),
    unanswered: (question) => question.answered < question.drawn || question.drawn === 0,
    silent: (question) => question.answered === 0,
    never: (question) => question.solved === 0,
    always: (question) => question.drawn > 0 && question.solved === question.drawn,
  };

  function filter() {
    const wanted = controls.words.value.trim().toLowerCase();
    matches = questions.flatMap((question, index) => {
      const kept = fields.every((field, at) => controls[`field${at}`].value === "" || question.values[at].includes(controls[`field${at}`].value))
        && STATES[controls.state.value](question)
        && (wanted === "" || question.id.toLowerCase().includes(wanted) || question.words.toLowerCase().includes(wanted));
      return kept ? [index] : [];
    });
    shown = PAGE;
    show();
    if (matches.length) return view(matches.includes(open) ? open : matches[0]);
    open = -1;
    exhibit.replaceChildren(element("p", { class: "note" }, "No question matches these filters."));
  }

  const share = (question) => (question.drawn ? `${question.solved} of ${question.drawn} right` : question.problem ? "failed" : "no samples");

  function show() {
    counter.textContent = `${matches.length} of ${questions.length} questions`;
    list.replaceChildren(...matches.slice(0, shown).map((index) => {
      const question = questions[index];
      const place = question.values.map((values) => values[0] ?? "").filter(Boolean).slice(0, 2).join(" · ");
      const button = element("button", { type: "button", "data-index": index },
        question.id, element("small", {}, element("span", {}, place), element("span", {}, share(question))));
      button.addEventListener("click", () => view(index));
      if (index === open) button.setAttribute("aria-current", "true");
      return element("li", {}, button);
    }));
    if (matches.length > shown) {
      const more = element("button", { type: "button" }, `Show ${Math.min(PAGE, matches.length - shown)} more`);
      more.addEventListener("click", () => { const first = shown; shown += PAGE; show(); list.querySelectorAll("button")[first]?.focus(); });
      list.append(element("li", {}, more));
    }
  }

  async function view(index) {
    open = index;
    for (const button of list.querySelectorAll("[data-index]"))
      if (Number(button.dataset.index) === index) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    const parts = await drawExhibit(index);
    if (open !== index) return;  // another one was chosen while this one was unpacked
    exhibit.replaceChildren(...parts);
    exhibit.dataset.shown = index;
    if (list.contains(document.activeElement)) live.textContent = `Question ${questions[index].id}, ${share(questions[index])}`;
  }

  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...list.querySelectorAll("button")];
    const target = buttons[Math.min(Math.max(buttons.indexOf(document.activeElement) + step, 0), buttons.length - 1)];
    target.focus();
    if (target.dataset.index) view(Number(target.dataset.index));
  });
  // Where a verifier was fooled, its order of the samples shows how.
  const ordered = () => { if (controls.state.value === "fooled") drawExhibit.look.order = verifiers[verifier()] ?? "drawn"; };
  for (const control of Object.values(controls)) control.addEventListener("input", () => { ordered(); filter(); });
  filter();
})();
