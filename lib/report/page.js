"use strict";
/* What a page does with JavaScript: draws the charts from its block of JSON, and copies tables. All texts are set as text. */
(() => {
  const charts = JSON.parse(document.getElementById("perfkit-charts").textContent);
  const places = [...document.querySelectorAll("[data-chart]")];
  const drawn = new Map();

  /* Colours of text and lines are those of the page, light or dark; colours of series have a contrast of 3 to both grounds. */
  const ink = "currentColor", faint = "#8886";
  const text = {labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500};
  const config = {
    background: null,
    axis: {...text, domainColor: ink, tickColor: ink, gridColor: faint, gridOpacity: 0.5, titlePadding: 8},
    legend: {...text, symbolSize: 90},
    header: {...text, labelFontWeight: 500},
    view: {stroke: faint},
    text: {color: ink},
    range: {
      category: ["#0072b2", "#d55e00", "#009170", "#b5609a", "#7f7f7f", "#a07400", "#5f6fd0", "#c2484a"],
      symbol: ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"],
    },
  };

  /* A text that is too long for its place has a line for each of its parts, and what is still too long ends with "...". */
  const inLines = (width) => ({labelLimit: width,
    labelExpr: `length(datum.label) > ${Math.floor(width / 7)} ? split(datum.label, ", ") : datum.label`});

  /* No mark stands on the frame, where it would be cut. Returns the room that the axis of y takes: its places have names. */
  const roomy = (spec, width) => {
    const unit = spec.spec || spec;
    let room = 75;
    for (const {encoding} of [unit, ...unit.layer])
      for (const axis of encoding ? [encoding.x, encoding.y] : []) {
        if (axis && axis.scale && !axis.scale.zero) axis.scale.padding = 7;
        if (!axis || axis.type !== "ordinal") continue;
        const places = [...new Set(spec.data.values.map((row) => String(axis === encoding.y ? row.y : row.x)))];
        if (axis !== encoding.y) continue;
        const longest = 7 * Math.max(...places.map((name) => name.length)), names = Math.min(longest, 0.42 * width);
        Object.assign(axis.axis, inLines(Math.max(names, 30)), {maxExtent: names + 10});
        if (names < longest) { /* two lines */
          axis.axis.labelOffset = -6;
          unit.height = Math.max(unit.height, 32 * places.length);
        }
        room = names + 45;
      }
    return room;
  };

  const textWidth = (names) => 7 * Math.max(1, ...names.map((name) => String(name).length));

  /* Places beside each other have slanted names where there is no room for them, and only some have one where there is none for those. */
  const named = (unit, values, width) => {
    if (unit.encoding.x.type !== "ordinal") return;
    const places = [...new Set(values.map((row) => row.x))], room = width / places.length;
    Object.assign(unit.encoding.x.axis, {labelAngle: textWidth(places) > room ? -35 : 0, labelOverlap: room < 16});
  };

  /* A legend has as many columns as there is room for. */
  const legible = (unit, width) => {
    for (const {encoding} of [unit, ...unit.layer])
      for (const channel of encoding ? [encoding.color, encoding.shape] : [])
        if (channel && channel.legend && channel.type === "nominal") {
          const names = textWidth(channel.scale.domain) + 35;
          Object.assign(channel.legend, {columns: Math.max(1, Math.min(8, Math.floor(width / names))), labelLimit: Math.min(names, width - 35)});
        }
  };

  /* A chart is as wide as its place; facets are in as many columns as there is room for. */
  const fitted = (chart, width) => {
    const spec = JSON.parse(JSON.stringify(chart));
    const room = roomy(spec, width);
    legible(spec.spec || spec, width - room);
    if (!spec.facet) {
      named(spec, spec.data.values, width - room);
      spec.width = Math.max(width, 200);
      spec.autosize = {type: "fit-x", contains: "padding"};
      return spec;
    }
    const values = new Set(spec.data.values.map((row) => row.f)).size;
    const most = Math.max(1, Math.min(values, Math.floor((width - room + 75) / 290), 4));
    const columns = Math.ceil(values / Math.ceil(values / most));
    spec.columns = columns;
    spec.spacing = 30;
    spec.spec.width = Math.max(120, Math.floor((width - room - 34 * (columns - 1)) / columns));
    named(spec.spec, spec.data.values, spec.spec.width);
    spec.facet.header = {...spec.facet.header, ...inLines(spec.spec.width)};
    return spec;
  };

  const draw = (place, wanted) => {
    const width = wanted || place.clientWidth;
    const before = drawn.get(place);
    if (!window.vegaEmbed || !width || (before && before.width === width)) return;
    if (before && before.view) before.view.finalize();
    drawn.set(place, {width});
    const options = {mode: "vega-lite", config, renderer: "svg", actions: false, ast: true, defaultStyle: false,
      tooltip: {theme: "custom", disableDefaultStyle: true}};
    window.vegaEmbed(place, fitted(charts[Number(place.dataset.chart)], width), options).then((result) => {
      drawn.get(place).view = result;
      place.dataset.drawn = "yes";
    }, (error) => {
      place.textContent = "This chart could not be drawn: " + error.message;
      place.dataset.drawn = "no";
    });
  };
  const drawAll = (width) => places.forEach((place) => draw(place, width));

  const cells = (row) => [...row.cells].map((cell) => cell.textContent.trim());
  const markdown = (table) => {
    const line = (texts) => "| " + texts.map((t) => t.replace(/[|\\]/g, "\\$&").replace(/</g, "&lt;")).join(" | ") + " |";
    const [head, ...rows] = [...table.rows];
    const rule = "|" + [...head.cells].map((c) => c.classList.contains("l") ? ":---" : "---:").join("|") + "|";
    return [line(cells(head)), rule, ...rows.map((r) => line(cells(r)))].join("\n") + "\n";
  };
  const csv = (table) => [...table.rows].map((row) => cells(row).map((t) => {
    const safe = /^[=+@\t\r]|^-[^\d.]/.test(t) ? "'" + t : t; /* no formula for a spreadsheet */
    return /[",\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
  }).join(",")).join("\n") + "\n";

  const copy = (button, text) => {
    const said = button.textContent;
    const done = () => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = said; }, 1500);
    };
    const byHand = () => {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand);
    else byHand();
  };
  for (const table of document.querySelectorAll("table[data-name]")) {
    const tools = document.createElement("div");
    tools.className = "tools";
    for (const [what, make] of [["Copy as Markdown", markdown], ["Copy as CSV", csv]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = what;
      button.setAttribute("aria-label", what + ": " + table.dataset.name);
      button.addEventListener("click", () => copy(button, make(table)));
      tools.append(button);
    }
    table.parentNode.before(tools);
  }

  let soon;
  window.addEventListener("resize", () => {
    clearTimeout(soon);
    soon = setTimeout(drawAll, 150);
  });
  window.addEventListener("beforeprint", () => drawAll(1200)); /* of a page that is wide, from a window that may not be */
  window.addEventListener("afterprint", () => drawAll());
  drawAll();
})();
