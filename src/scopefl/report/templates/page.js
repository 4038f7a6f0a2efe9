// Draws the charts and keeps charts, tables and galleries under one filter.
(() => {
  "use strict";
  const page = JSON.parse(document.getElementById("data").textContent);
  const lookup = { ...page.names, rival: page.names.class };
  const filter = { class: null, client: null };
  const views = [];
  let marked = null;

  document.documentElement.classList.add("js");

  const rowsOf = (columns) => {
    const fields = Object.keys(columns);
    const length = fields.length ? columns[fields[0]].length : 0;
    return Array.from({ length }, (_, i) => {
      const row = {};
      for (const field of fields) {
        const value = columns[field][i];
        row[field] = lookup[field] ? (lookup[field][value] ?? "unknown") : value;
      }
      if (columns.fate) row.fate_order = columns.fate[i];
      if (columns.id) row.key = `${columns.client[i]} ${columns.id[i]}`;
      return row;
    });
  };

  const usedBy = (spec) => {
    const text = JSON.stringify(spec);
    return Object.keys(page.sets).filter((name) => text.includes(`"data":{"name":"${name}"}`));
  };

  const draw = async (box) => {
    const spec = page.charts[box.dataset.chart];
    spec.datasets = { ...spec.datasets };  // the chart may hold small data of its own
    for (const name of usedBy(spec)) spec.datasets[name] = rowsOf(page.sets[name]);
    const { view } = await window.vegaEmbed(box, spec, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true,
    });
    const dimension = box.dataset.filters;
    if (dimension) {
      view.addEventListener("click", (_, item) => {
        const name = item?.datum?.[dimension];
        if (name !== undefined) choose(dimension, name === filter[dimension] ? null : name);
      });
    }
    watchMarks(box.dataset.chart, view);
    views.push(view);
  };

  // Marks that are dragged over in one scatter stand out in all of them.
  const watchMarks = (name, view) => {
    const set = { boundary: "points", "map-before": "map", "map-after": "map" }[name];
    if (!set) return;
    let waiting;
    view.addSignalListener("brush", (_, ranges) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => pick(view, set, ranges), 120);
    });
  };
  const pick = (from, set, ranges) => {
    const fields = Object.keys(ranges);
    if (fields.length) {
      for (const view of views) if (view !== from) unmark(view);
    }
    const shown = (row) => [...Object.keys(filter)].every(
      (dimension) => filter[dimension] === null || filter[dimension] === row[dimension]);
    const within = (row) => shown(row) && fields.every((field) => {
      const [low, high] = [...ranges[field]].sort((a, b) => a - b);
      return row[field] >= low && row[field] <= high;
    });
    marked = fields.length ? rowsOf(page.sets[set]).filter(within) : null;
    apply();
  };
  const unmark = (view) => {
    if (!view.getState().signals.brush_x) return;
    view.signal("brush_x", [0, 0]).signal("brush_y", [0, 0]);
  };

  const clearButton = document.getElementById("clear");
  const selects = document.querySelectorAll("select[data-filter]");
  const choose = (dimension, name) => {
    filter[dimension] = name;
    for (const select of selects) {
      if (select.dataset.filter === dimension) {
        select.value = name === null ? "" : String(page.names[dimension].indexOf(name));
      }
    }
    apply();
  };

  const number = (dimension) => {
    const name = filter[dimension];
    return name === null ? null : String(page.names[dimension].indexOf(name));
  };

  const apply = () => {
    const chosen = { class: number("class"), client: number("client") };
    const picked = marked && Object.fromEntries(marked.map((row) => [row.key, true]));
    for (const view of views) {
      view.signal("only_class", filter.class).signal("only_client", filter.client)
        .signal("picked", picked).runAsync();
    }
    const filtered = chosen.class !== null || chosen.client !== null;
    document.documentElement.classList.toggle("filtered", filtered);
    for (const element of document.querySelectorAll("[data-class], [data-client]")) {
      element.hidden = ["class", "client"].some((dimension) => {
        const own = element.dataset[dimension];
        return own !== undefined && chosen[dimension] !== null && own !== chosen[dimension];
      });
    }
    for (const grid of document.querySelectorAll(".cards")) {
      const none = [...grid.children].every((card) => card.hidden);
      grid.classList.toggle("none", filtered && none && grid.children.length > 0);
    }
    if (!clearButton) return;
    clearButton.disabled = !filtered && !marked;
    const shown = filtered
      ? `Showing ${[filter.class, filter.client].filter((name) => name !== null).join(" at ")}`
      : "Showing everything";
    document.getElementById("status").textContent = marked ? `${shown}; ${told(marked)}` : shown;
  };
  const told = (rows) => {
    const counts = page.names.fate.map((fate) => [rows.filter((row) => row.fate === fate).length, fate]);
    return `${rows.length} marked: ${counts.map(([n, fate]) => `${n} ${fate}`).join(", ")}`;
  };

  for (const select of selects) {
    select.addEventListener("change", () => {
      const dimension = select.dataset.filter;
      choose(dimension, select.value === "" ? null : page.names[dimension][Number(select.value)]);
    });
  }
  const clear = () => {
    marked = null;
    views.forEach(unmark);
    filter.class = null;
    choose("client", null);
    choose("class", null);
  };
  clearButton?.addEventListener("click", clear);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });

  for (const button of document.querySelectorAll("button.more")) {
    button.addEventListener("click", () => {
      button.closest("section").classList.add("all");
      button.remove();
    });
  }

  const value = (cell) => cell?.dataset.value ?? cell?.textContent ?? "";
  const sort = (button) => {
    const heading = button.closest("th");
    const body = heading.closest("table").tBodies[0];
    const rising = heading.getAttribute("aria-sort") === "descending";
    for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const rows = [...body.rows].sort((a, b) => {
      const [left, right] = [value(a.cells[heading.cellIndex]), value(b.cells[heading.cellIndex])];
      const order = left !== "" && right !== "" && !isNaN(left) && !isNaN(right)
        ? left - right : left.localeCompare(right);
      return rising ? order : -order;
    });
    body.append(...rows);
  };
  for (const button of document.querySelectorAll("th button")) {
    button.addEventListener("click", () => sort(button));
  }

  const boxes = [...document.querySelectorAll("[data-chart]")];
  // Vega names the marks that show data for screen readers, but not the outline of a selection.
  const silence = () => document.querySelectorAll('[class*="brush_brush"]')
    .forEach((outline) => outline.setAttribute("aria-hidden", "true"));
  window.drawn = boxes.reduce((before, box) => before.then(() => draw(box)), Promise.resolve())
    .then(() => { apply(); silence(); document.documentElement.dataset.drawn = String(views.length); });
})();
