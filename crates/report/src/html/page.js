(function () {
  "use strict";
  var page = document;
  page.documentElement.classList.add("js");

  // One tooltip for all marks: by pointer, by touch and by focus.
  var tip = page.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  page.body.appendChild(tip);
  function words(mark) {
    var title = mark.querySelector("title");
    // The browser's own tooltip would come on top of ours.
    if (title) { mark.setAttribute("aria-label", title.textContent); title.remove(); }
    return mark.getAttribute("aria-label") || "";
  }
  function show(mark) {
    tip.textContent = words(mark);
    tip.hidden = false;
    var at = (mark.querySelector("use, rect") || mark).getBoundingClientRect();
    var wide = page.documentElement.clientWidth;
    var left = at.left + at.width / 2 - tip.offsetWidth / 2;
    left = Math.max(8, Math.min(left, wide - tip.offsetWidth - 8));
    var top = at.top - tip.offsetHeight - 10;
    tip.style.left = left + window.scrollX + "px";
    tip.style.top = (top > 4 ? top : at.bottom + 10) + window.scrollY + "px";
  }
  function hide() { tip.hidden = true; }
  function markOf(event) { return event.target.closest ? event.target.closest(".m") : null; }
  page.addEventListener("pointerover", function (event) {
    var mark = markOf(event);
    if (mark) { show(mark); } else { hide(); }
  });
  page.addEventListener("focusin", function (event) {
    var mark = markOf(event);
    if (mark) { show(mark); } else { hide(); }
  });
  page.addEventListener("focusout", hide);

  // One stop of the tab key for each picture; arrow keys go from mark to mark.
  page.querySelectorAll(".picture").forEach(function (picture) {
    picture.querySelectorAll(".m").forEach(function (mark, place) {
      mark.setAttribute("tabindex", place ? "-1" : "0");
    });
  });
  page.addEventListener("keydown", function (event) {
    if (event.key === "Escape") { hide(); return; }
    var mark = markOf(event);
    var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!mark || !(step || event.key === "Home" || event.key === "End")) { return; }
    var marks = Array.from(mark.closest(".picture").querySelectorAll(".m")).filter(function (other) {
      return other.getClientRects().length > 0;
    });
    var next = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : marks.indexOf(mark) + step;
    var to = marks[Math.max(0, Math.min(next, marks.length - 1))];
    mark.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
    to.focus();
    event.preventDefault();
  });

  // A filter over rows by name, in every picture and table.
  var named = Array.from(page.querySelectorAll("[data-name]"));
  if (named.length > 6) {
    var box = page.createElement("p");
    box.className = "filter";
    box.innerHTML = '<label>Show only <input type="search" placeholder="thread, futex, ..." autocomplete="off"></label> <span role="status"></span>';
    page.querySelector("nav").appendChild(box);
    var field = box.querySelector("input");
    var status = box.querySelector("[role]");
    field.addEventListener("input", function () {
      var wanted = field.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      var shown = 0;
      named.forEach(function (row) {
        var name = row.dataset.name.toLowerCase();
        var hit = wanted.every(function (word) { return name.indexOf(word) >= 0; });
        row.hidden = !hit;
        shown += hit ? 1 : 0;
      });
      page.querySelectorAll("tbody").forEach(function (group) {
        group.hidden = group.querySelector("[data-name]") && !group.querySelector("[data-name]:not([hidden])");
      });
      status.textContent = wanted.length ? shown + " of " + named.length + " rows" : "";
    });
  }

  // Columns sort on a click of their heading.
  page.querySelectorAll("table.sortable thead th").forEach(function (th) {
    var button = page.createElement("button");
    button.type = "button";
    button.textContent = th.textContent;
    th.textContent = "";
    th.appendChild(button);
    button.addEventListener("click", function () {
      var up = th.getAttribute("aria-sort") !== "ascending";
      var place = Array.from(th.parentNode.children).indexOf(th);
      var text = th.classList.contains("t");
      var key = function (row) {
        var cell = row.cells[place];
        if (!cell) { return text ? "" : -Infinity; }
        if (text) { return cell.textContent.toLowerCase(); }
        var number = parseFloat(cell.dataset.v || cell.textContent.replace(/,/g, ""));
        return isNaN(number) ? -Infinity : number;
      };
      Array.from(th.parentNode.children).forEach(function (other) { other.removeAttribute("aria-sort"); });
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      // Rows stay below their heading.
      Array.from(th.closest("table").tBodies).forEach(function (body) {
        var rows = Array.from(body.querySelectorAll("tr:not(.group)")).map(function (row) { return [key(row), row]; });
        rows.sort(function (a, b) { return (a[0] > b[0] ? 1 : b[0] > a[0] ? -1 : 0) * (up ? 1 : -1); });
        rows.forEach(function (row) { body.appendChild(row[1]); });
      });
    });
  });

  // A link to a folded text unfolds it.
  function unfold() {
    var target = location.hash.length > 1 ? page.getElementById(location.hash.slice(1)) : null;
    var details = target ? target.closest("details") : null;
    if (details) { details.open = true; target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", unfold);
  unfold();

  // Paper shows what is folded.
  var folded = [];
  window.addEventListener("beforeprint", function () {
    folded = Array.from(page.querySelectorAll("details:not([open])"));
    folded.forEach(function (details) { details.open = true; });
  });
  window.addEventListener("afterprint", function () {
    folded.forEach(function (details) { details.open = false; });
  });
})();
