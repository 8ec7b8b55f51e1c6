//! Stage diagrams and heat maps of caches on the page say what the record says.

use tollgate_record::Run;

fn page(text: &str) -> (Run, String) {
    let run = tollgate_record::document::from_json(text.as_bytes()).expect("a run");
    let page = tollgate_report::html(std::slice::from_ref(&run));
    (run, page)
}

/// A section of the page.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let at = page.find(&format!("<section class=\"part\" id=\"{id}\"")).expect("the section is there");
    let rest = &page[at..];
    rest.find("<section class=\"part\"").map_or(rest, |_| {
        let next = rest[1..].find("<section class=\"part\"").map_or(rest.len(), |next| next + 1);
        &rest[..next]
    })
}

#[test]
fn every_instruction_has_its_lane_and_its_row() {
    let (run, page) = page(include_str!("../runs/riscv-pipeline.json"));
    let diagram = run.results[0].stages.as_ref().expect("a diagram");
    let pipeline = section(&page, "pipeline");
    assert_eq!(pipeline.matches("<g class=\"m ").count(), diagram.rows.len());
    let entered: usize = diagram.rows.iter().map(|row| row.stages.len()).sum();
    assert_eq!(
        pipeline.matches("class=\"stage\"").count(),
        entered,
        "a letter for each stage that was entered"
    );
    let gone = diagram.rows.iter().filter(|row| row.squash.is_some()).count();
    assert_eq!(pipeline.matches("class=\"cross\"").count(), gone);
    let row = diagram.rows.iter().find(|row| row.text == "ecall").expect("the trap");
    let (first, last) = (row.stages[0].first, row.stages[0].last);
    assert_eq!(first, last, "it is fetched in one cycle");
    assert!(pipeline.contains(&format!("ecall at {}: IF {first} ID ", row.place)), "its words");
    assert!(pipeline.contains(&format!(">{}<", row.address)), "its address in the table");
}

#[test]
fn a_cell_of_the_map_has_the_misses_of_its_shape() {
    let (run, page) = page(include_str!("../runs/riscv-icache.json"));
    let caches = section(&page, "icache");
    for result in &run.results {
        let found = result.found.icache().expect("a sweep");
        let curve = found.sweep.iter().find(|curve| (curve.line, curve.ways) == (8, 1)).expect("was swept");
        let misses = curve.misses.iter().find(|(sets, _)| *sets == 8).expect("so many sets").1 as f64;
        let share = misses / result.counters["accesses"];
        assert!((0.0..=1.0).contains(&share));
        let said = format!("8 sets, 1-way, lines of 8 B (64 B): {} misses", grouped(misses));
        assert!(caches.contains(&said), "{said}");
        // The record's own count of the same cache is the same number: one more way to the figure.
        assert_eq!(result.counters["misses"], misses);
    }
}

/// A whole number with its thousands set apart, as the page writes it.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
