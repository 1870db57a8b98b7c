/* The table, the search, comparisons and the slider. Nothing is asked of another place; text of strangers is only ever text. */
"use strict";
(() => {
  const root = document.body.dataset.root || "";
  const make = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value === true) node.setAttribute(key, "");
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
    }
    node.append(...children.filter((c) => c !== null && c !== undefined));
    return node;
  };
  const loaded = {};
  const load = (file) => loaded[file] ||= new Promise((done, failed) => {
    document.head.append(make("script", { src: `${root}data/${file}`, onload: done, onerror: failed }));
  });
  const trim = (n, digits) => n.toLocaleString("en-US", { maximumFractionDigits: digits });
  const binary = (n) => {
    for (const [power, unit] of [[40, "TiB"], [30, "GiB"], [20, "MiB"], [10, "KiB"]]) if (n >= 2 ** power) return `${trim(n / 2 ** power, 1)} ${unit}`;
    return `${trim(n, 1)} B`;
  };
  const scaled = (n) => {
    for (const [size, unit] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]]) if (Math.abs(n) >= size) return `${Number((n / size).toPrecision(3))}${unit}`;
    return String(n);
  };
  const read = () => new URLSearchParams(location.hash.slice(1));
  const write = (state) => {
    const kept = [...state].filter(([, v]) => v !== "" && v !== null);
    const text = kept.map(([k, v]) => `${k}=${encodeURIComponent(v).replace(/%2C/g, ",")}`).join("&");
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  };

  /* Bytes of sequences by the rows of `states` alone: repeats, elements, stride, window, width. */
  const bytes = (states, context, width) => states.reduce((sum, [repeats, elements, stride, window, own]) => {
    const held = window === null ? context : Math.min(context, window);
    return sum + repeats * elements * (stride ? Math.floor(held / stride) : 1) * (own === null ? width : own);
  }, 0);
  const TYPES = [["bf16", 2], ["fp8", 1], ["int4", 0.5], ["fp32", 4]];
  const CONTEXTS = [...Array(13).keys()].map((n) => 2 ** (n + 8));
  window.atlasBytes = bytes;

  const controls = (change) => {
    const asked = read(), tokens = Number(asked.get("context")) || 131072;
    const context = make("input", { type: "range", min: 8, max: 20, step: 0.25, value: Math.log2(tokens), "aria-label": "Tokens of context" });
    const exact = make("input", { type: "number", min: 1, max: 4194304, value: tokens, "aria-label": "Tokens of context, exactly" });
    const sequences = make("input", { type: "number", min: 1, max: 100000, value: Number(asked.get("sequences")) || 1, "aria-label": "Sequences" });
    const type = make("select", { "aria-label": "Type of the cache" }, ...TYPES.map(([t]) => make("option", { selected: t === asked.get("cache") }, t)));
    const now = (event) => {
      if (event !== undefined) {
        const state = read();
        for (const [key, value, usual] of [["context", exact.value, "131072"], ["sequences", sequences.value, "1"], ["cache", type.value, "bf16"]]) value === usual ? state.delete(key) : state.set(key, value);
        write(state);
      }
      change(Math.max(1, Math.floor(Number(exact.value) || 1)), Math.max(1, Math.floor(Number(sequences.value) || 1)), TYPES.find(([t]) => t === type.value)[1]);
    };
    context.addEventListener("input", () => { exact.value = Math.round(2 ** Number(context.value)); now(true); });
    exact.addEventListener("input", () => { context.value = Math.log2(Number(exact.value) || 1); now(true); });
    for (const each of [sequences, type]) each.addEventListener("input", now);
    const box = make("div", { class: "controls" }, make("label", {}, "Context ", context, exact, " tokens"), make("label", {}, "Sequences ", sequences), make("label", {}, "Cache ", type));
    return [box, now];
  };

  for (const place of document.querySelectorAll(".slider")) {
    const states = JSON.parse(place.dataset.states), most = Number(place.dataset.most);
    const said = make("output", { class: "bytes" });
    const [box, now] = controls((context, sequences, width) => {
      const n = bytes(states, context, width) * sequences;
      said.replaceChildren(make("strong", {}, binary(n)), ` (${trim(n, 1)} bytes)${most && context > most ? ", beyond the stated context" : ""}`);
    });
    place.append(box, said);
    place.hidden = false;
    now();
  }

  /* Search. */
  const find = (text, limit) => {
    const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!wanted.length) return [];
    const found = [];
    for (const [title, path, kind, words] of window.atlasIndex) {
      const name = title.toLowerCase();
      let score = 0;
      for (const w of wanted) {
        const at = name.indexOf(w);
        if (at >= 0) score += at === 0 || /[^a-z0-9]/.test(name[at - 1]) ? 8 : 5;
        else if (words.includes(w)) score += 1;
        else { score = -1; break; }
      }
      if (score > 0) found.push([score + (name.replace(/^\d\d /, "") === wanted.join(" ") ? 20 : 0) + { term: 3, page: 2, design: 1, model: 0 }[kind] - title.length / 200, title, path, kind]);
    }
    return found.sort((a, b) => b[0] - a[0] || (a[1] < b[1] ? -1 : 1)).slice(0, limit);
  };
  const hits = (found) => found.map(([, title, path, kind]) => make("li", {}, make("a", { href: root + path }, title), make("small", {}, ` ${kind}`)));
  const form = document.querySelector("form.search");
  if (form) {
    const input = form.querySelector("input"), box = form.querySelector(".found");
    const show = async () => {
      await load("search.js");
      const found = find(input.value, 12);
      box.hidden = !input.value;
      box.replaceChildren(found.length ? make("ul", {}, ...hits(found)) : make("p", {}, "Nothing found."));
    };
    input.addEventListener("focus", () => load("search.js"));
    input.addEventListener("input", show);
    form.addEventListener("keydown", (e) => { if (e.key === "Escape") { box.hidden = true; input.focus(); } });
    form.addEventListener("focusout", (e) => { if (!form.contains(e.relatedTarget)) box.hidden = true; });
    document.addEventListener("keydown", (e) => { if (e.key === "/" && !/^(input|select|textarea)$/i.test(e.target.tagName)) { e.preventDefault(); input.focus(); } });
    const results = document.getElementById("results");
    const asked = new URLSearchParams(location.search).get("q");
    if (results && asked) {
      input.value = asked;
      load("search.js").then(() => {
        const found = find(asked, 100);
        results.replaceChildren(make("p", {}, `${found.length === 100 ? "The first 100" : found.length} found for “${asked}”`), make("ul", {}, ...hits(found)));
      });
    }
  }

  /* The table of models. */
  const unpack = () => {
    const data = window.atlasData, values = {};
    for (const [key] of data.columns) {
      const v = data.values[key];
      values[key] = Array.isArray(v) ? v : v.at.map((n) => (n < 0 ? null : v.words[n]));
    }
    return { ...data, values, packed: data.values };
  };
  const NUMBERS = ["count", "bytes", "number"];
  const shownAs = (form, value) => value === null || value === undefined ? "–" : form === "bytes" ? binary(value) : form === "count" ? scaled(value) : form === "number" ? trim(value, 2) : String(value);
  const parse = (text) => {
    const found = /^\s*(<=?|>=?|=)?\s*([\d.,]+)\s*([kmbt]|[kmgt]ib|b)?\s*$/i.exec(text);
    if (!found) return null;
    const unit = (found[3] || "").toLowerCase();
    const power = { k: 1e3, m: 1e6, b: 1e9, t: 1e12, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 }[unit] || 1;
    return [found[1] || ">=", Number(found[2].replace(/,/g, "")) * power];
  };
  const tests = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "=": (a, b) => Math.abs(a - b) <= Math.abs(b) * 0.005 };

  const table = (place) => {
    const data = unpack(), { values, columns } = data, PAGE = Number(place.dataset.shown);
    const lower = {};
    for (const [key, , form] of columns) if (!NUMBERS.includes(form)) lower[key] = values[key].map((v) => (v === null ? "" : v.toLowerCase()));
    const state = read();
    const chosen = () => (state.get("c") ? state.get("c").split(",") : columns.filter((c) => c[3]).map((c) => c[0]));
    let page = 0, order = [];
    const keep = () => {
      const rules = [];
      for (const [key, , form] of columns) {
        const text = state.get(key);
        if (!text) continue;
        if (NUMBERS.includes(form)) {
          const asked = parse(text);
          if (asked) rules.push((i) => values[key][i] !== null && tests[asked[0]](values[key][i], asked[1]));
        } else if (form === "word") rules.push((i) => lower[key][i] === text.toLowerCase());
        else for (const w of text.toLowerCase().split(/\s+/)) rules.push((i) => lower[key][i].includes(w));
      }
      const text = (state.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
      for (const w of text) rules.push((i) => lower.name[i].includes(w) || lower.mixers[i].includes(w) || lower.type[i].includes(w));
      if (state.get("one")) { const seen = new Set(); rules.push((i) => data.design[i] >= 0 && !seen.has(data.design[i]) && seen.add(data.design[i])); }
      order = [];
      for (let i = 0; i < data.rows; i++) if (rules.every((r) => r(i))) order.push(i);
      const sort = state.get("s");
      if (sort) {
        const down = sort.startsWith("-"), key = sort.replace(/^-/, ""), v = NUMBERS.includes((columns.find((c) => c[0] === key) || [])[2]) ? values[key] : lower[key];
        if (v) order.sort((a, b) => (v[a] === v[b] ? a - b : v[a] === null || v[a] === "" ? 1 : v[b] === null || v[b] === "" ? -1 : (v[a] < v[b] ? -1 : 1) * (down ? -1 : 1)));
      }
    };
    const count = make("p", { "aria-live": "polite", class: "count" });
    const head = make("tr"), filters = make("tr", { class: "filters" }), body = make("tbody");
    const changed = (key, value) => { value ? state.set(key, value) : state.delete(key); write(state); page = 0; keep(); draw(); };
    const draw = () => {
      const shown = columns.filter((c) => chosen().includes(c[0]));
      const rows = order.slice(page * PAGE, (page + 1) * PAGE).map((i) => make("tr", {}, ...shown.map(([key, , form]) => {
        const text = shownAs(form, values[key][i]);
        if (key !== "name") return make("td", { class: NUMBERS.includes(form) ? "n" : null }, text);
        const design = data.designs[data.design[i]];
        return make("th", { scope: "row" }, design ? make("a", { href: `${root}designs/${design[0]}.html` }, text) : text);
      })));
      body.replaceChildren(...rows);
      const pages = Math.max(1, Math.ceil(order.length / PAGE));
      count.textContent = `${trim(order.length)} of ${trim(data.rows)} models${pages > 1 ? `, page ${page + 1} of ${pages}` : ""}`;
      before.disabled = page === 0;
      after.disabled = page >= pages - 1;
      for (const th of head.children) {
        const key = th.dataset.key, sort = state.get("s") || "";
        th.setAttribute("aria-sort", sort === key ? "ascending" : sort === `-${key}` ? "descending" : "none");
      }
    };
    const frame = () => {
      const shown = columns.filter((c) => chosen().includes(c[0]));
      head.replaceChildren(...shown.map(([key, title, form]) => make("th", { scope: "col", "data-key": key, class: NUMBERS.includes(form) ? "n" : null }, make("button", { type: "button", onclick: () => {
        const sort = state.get("s"), first = NUMBERS.includes(form) || form === "day" ? `-${key}` : key, other = first === key ? `-${key}` : key;
        changed("s", sort === first ? other : sort === other ? "" : first);
      } }, title))));
      filters.replaceChildren(...shown.map(([key, title, form]) => {
        const label = `Filter ${title}`, value = state.get(key) || "";
        if (form !== "word") return make("td", {}, make("input", { type: "text", value, "aria-label": label, placeholder: { count: "> 8B", bytes: "> 1 GiB", number: "> 32768" }[form] || "", size: 6, oninput: (e) => changed(key, e.target.value) }));
        const words = data.packed[key].words;
        const select = make("select", { "aria-label": label, onchange: (e) => changed(key, e.target.value) }, make("option", { value: "" }, "all"), ...words.map((w) => make("option", { value: w, selected: w === value }, w)));
        return make("td", {}, select);
      }));
    };
    const turn = (by) => { page += by; draw(); body.closest(".scroll").scrollTop = 0; };
    const before = make("button", { type: "button", onclick: () => turn(-1) }, "Previous page"), after = make("button", { type: "button", onclick: () => turn(1) }, "Next page");
    const search = make("input", { type: "search", value: state.get("q") || "", placeholder: "name, mixer, family", oninput: (e) => changed("q", e.target.value) });
    const one = make("input", { type: "checkbox", checked: Boolean(state.get("one")), onchange: (e) => changed("one", e.target.checked ? "1" : "") });
    const boxes = columns.slice(1).map(([key, title]) => make("label", {}, make("input", { type: "checkbox", checked: chosen().includes(key), onchange: (e) => {
      const now = new Set(chosen());
      e.target.checked ? now.add(key) : now.delete(key);
      state.set("c", columns.map((c) => c[0]).filter((k) => k === "name" || now.has(k)).join(","));
      write(state); frame(); draw();
    } }), title));
    const csv = () => {
      const quoted = (v) => { let t = v === null || v === undefined ? "" : String(v); if (typeof v === "string" && /^\s*[=+\-@\t]/.test(t)) t = `'${t}`; return /[",\n]/.test(t) ? `"${t.replace(/"/g, '""')}"` : t; };
      const shown = columns.filter((c) => chosen().includes(c[0]));
      const lines = [shown.map((c) => c[0]), ...order.map((i) => shown.map(([key]) => values[key][i]))];
      const address = URL.createObjectURL(new Blob([lines.map((l) => l.map(quoted).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }));
      make("a", { href: address, download: "models.csv" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    };
    frame(); keep(); draw();
    place.replaceChildren(
      make("div", { class: "controls" }, make("label", {}, "Search ", search), make("label", {}, one, "one model a design"), make("details", { class: "choose" }, make("summary", {}, "Columns"), make("div", {}, ...boxes)), make("button", { type: "button", onclick: csv }, "CSV of what is shown")),
      count,
      make("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Models" }, make("table", {}, make("thead", {}, head, filters), body)),
      make("p", { class: "turning" }, before, after));
    window.addEventListener("hashchange", () => location.reload());
  };
  const waiting = [];
  const models = document.getElementById("table");
  if (models) waiting.push(load("table.js").then(() => table(models)));

  /* Comparison. */
  const NS = "http://www.w3.org/2000/svg";
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS(NS, tag);
    for (const [k, v] of Object.entries(attributes)) node.setAttribute(k, v);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const curves = (subjects) => {
    const sizes = subjects.map((s) => CONTEXTS.map((c) => bytes(s.states, c, 2)));
    const all = sizes.flat().filter((n) => n > 0);
    if (!all.length) return null;
    const low = Math.floor(Math.log2(Math.min(...all))), high = Math.ceil(Math.log2(Math.max(...all))) || 1;
    const x = (c) => 60 + ((Math.log2(c) - 8) / 12) * 376, y = (n) => 200 - ((Math.log2(n) - low) / Math.max(1, high - low)) * 190;
    const drawing = svg("svg", { viewBox: "0 0 448 236", role: "img", class: "curves" });
    drawing.append(svg("title", {}, `Bytes of one sequence over its context: ${subjects.map((s) => s.name).join(", ")}`));
    for (const c of CONTEXTS.filter((_, i) => i % 2 === 0)) drawing.append(svg("path", { d: `M${x(c)} 10V200`, class: "grid" }), svg("text", { x: x(c), y: 215, "text-anchor": "middle" }, c >= 1048576 ? "1M" : c >= 1024 ? `${c / 1024}K` : c));
    for (let p = low; p <= high; p += Math.max(1, Math.ceil((high - low) / 6))) drawing.append(svg("path", { d: `M60 ${y(2 ** p)}H436`, class: "grid" }), svg("text", { x: 54, y: y(2 ** p) + 4, "text-anchor": "end" }, binary(2 ** p)));
    sizes.forEach((s, n) => drawing.append(svg("path", { class: `line s${n}`, d: s.map((b, i) => (b > 0 ? `L${x(CONTEXTS[i])} ${y(b)}` : "")).join("").replace(/^L/, "M") })));
    return drawing;
  };
  const compare = (place) => {
    const data = unpack();
    const byId = new Map(data.designs.map(([id, name, states], n) => [id, { id, name, states, row: data.design.findIndex((d, i) => d === n && data.values.name[i] === name) }]));
    const draw = () => {
      const ids = (read().get("d") || "").split(",").filter((id) => byId.has(id)).slice(0, 6);
      const subjects = ids.map((id) => byId.get(id));
      const set = (next) => { const s = read(); s.set("d", next.join(",")); write(s); draw(); };
      const names = make("datalist", { id: "names" }, ...data.designs.map(([, name]) => make("option", { value: name })));
      const field = make("input", { list: "names", "aria-label": "Add a design by the name of its model", placeholder: "name of a model" });
      const add = make("form", { class: "controls", onsubmit: (e) => {
        e.preventDefault();
        const n = data.values.name.indexOf(field.value), found = n >= 0 && data.designs[data.design[n]];
        if (found && !ids.includes(found[0])) set([...ids, found[0]]);
      } }, make("label", {}, "Add ", field), names, make("button", {}, "Add"));
      if (!subjects.length) return place.replaceChildren(add, make("p", {}, "Choose two to six designs."));
      const heads = subjects.map((s, n) => make("th", { scope: "col" }, make("span", { class: `key s${n}` }), make("a", { href: `${root}designs/${s.id}.html` }, s.name), " ", make("button", { type: "button", "aria-label": `Remove ${s.name}`, onclick: () => set(ids.filter((i) => i !== s.id)) }, "×")));
      const rows = data.columns.slice(1).map(([key, title, form]) => {
        const cells = subjects.map((s) => shownAs(form, data.values[key][s.row]));
        const differs = new Set(subjects.map((s) => data.values[key][s.row])).size > 1;
        return make("tr", { class: differs ? "differs" : null }, make("th", { scope: "row" }, title, differs ? make("span", { class: "mark", title: "differs" }, " ≠") : null), ...cells.map((c) => make("td", { class: NUMBERS.includes(form) ? "n" : null }, c)));
      });
      const kept = subjects.map(() => make("td", { class: "n" }));
      const [box, now] = controls((context, sequences, width) => subjects.forEach((s, n) => { kept[n].textContent = s.states.length ? binary(bytes(s.states, context, width) * sequences) : "keeps nothing"; }));
      const body = make("tbody", {}, make("tr", {}, make("th", { scope: "row" }, "Cache as chosen above"), ...kept), ...rows);
      place.replaceChildren(add, box, make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Comparison" }, make("table", {}, make("thead", {}, make("tr", {}, make("td"), ...heads)), body)),
        make("h2", { id: "curves" }, "Cache over context"), make("figure", { class: "curve" }, curves(subjects) || "Nothing is kept."), make("ul", { class: "keys" }, ...subjects.map((s, n) => make("li", {}, make("span", { class: `key s${n}` }), s.name))),
        make("h2", { id: "drawings" }, "Drawings"), make("div", { class: "abreast", tabindex: 0, role: "region", "aria-label": "Drawings side by side" }, ...subjects.map((s) => make("img", { src: `${root}designs/${s.id}.svg`, alt: `Architecture of ${s.name}`, width: 448 }))));
      now();
    };
    window.addEventListener("hashchange", draw);
    draw();
  };
  const comparing = document.getElementById("compare");
  if (comparing) waiting.push(load("table.js").then(() => compare(comparing)));
  for (const note of document.querySelectorAll(".noscript")) note.hidden = true;
  Promise.all(waiting).then(() => { document.body.dataset.ready = "yes"; performance.mark("ready"); });
})();
