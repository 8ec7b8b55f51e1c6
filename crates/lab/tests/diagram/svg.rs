//! The picture is well-formed, says what it is, and needs nothing from elsewhere.

use tollgate_lab::diagram::svg::draw;

/// Checks that every element is closed in its order, and gives the names of all.
fn elements(svg: &str) -> Vec<String> {
    let (mut open, mut all): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or_default().to_owned();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_ref(), Some(&name), "{tag}");
        } else {
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            all.push(name.clone());
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    all
}

#[test]
fn a_picture_of_a_trap() {
    let svg = draw(&super::trap(), "A trap", "Three instructions are thrown away");
    let all = elements(&svg);
    assert_eq!(all[..3], ["svg", "title", "desc"]);
    // Each cross is one thrown-away instruction.
    assert_eq!(svg.matches("class=\"cross\"").count(), 3);
    // 5 + 3 + 2 + 1 + 5 stages, drawn with their letter.
    assert_eq!(svg.matches("class=\"stage\"").count(), 16);
    assert!(svg.contains("role=\"img\" aria-labelledby=\"title description\""));
    assert!(!svg.contains("href") && !svg.contains("<script") && !svg.contains("url("));
}

#[test]
fn text_cannot_break_the_picture() {
    let mut lanes = super::load_use();
    lanes[0].text = "</text><script>&\"".into();
    elements(&draw(&lanes, "<a & b>", "\"x\" < y\u{1}"));
    elements(&draw(&[], "", ""));
}
