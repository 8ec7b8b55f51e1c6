//! The picture is well-formed, says what it is, and needs nothing from elsewhere.

/// Checks that every element is closed in its order, and gives the names of all.
fn elements(svg: &str) -> Vec<String> {
    let (mut open, mut all): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        // The style sheet is in a section of plain text.
        if let Some(after) = rest[at..].strip_prefix("<![CDATA[") {
            rest = &after[after.find("]]>").expect("the section ends")..];
            continue;
        }
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

use tollgate_record::Asked;
use tollgate_record::family::PipelineAsked;

#[test]
fn a_picture_of_a_trap() {
    let svg = super::exported(&super::trap(), "svg").expect("a picture");
    let all = elements(&svg);
    assert_eq!(all[..3], ["svg", "title", "desc"]);
    // Each cross is one thrown-away instruction.
    assert_eq!(svg.matches("class=\"cross\"").count(), 3);
    // 5 + 3 + 2 + 1 + 5 stages, drawn with their letter.
    assert_eq!(svg.matches("class=\"stage\"").count(), 16);
    assert!(svg.contains("role=\"img\" aria-labelledby=\"title description\""));
    assert!(!svg.contains("href") && !svg.contains("<script") && !svg.contains("url("));
    // The axis has its name, and the letters of the modes are explained.
    assert!(
        svg.contains(">cycle</text>") && svg.contains(">U user mode   S supervisor mode</text>"),
        "{svg}"
    );
}

#[test]
fn text_cannot_break_the_picture() {
    let mut rows = super::load_use();
    rows[0].text = "</text><script>&\"".into();
    let mut run = super::run(rows);
    run.results[0].asked = Asked::Pipeline(PipelineAsked {
        from: Some("<a & b>".into()),
        core: "\"x\" < y\u{1}".into(),
        ..PipelineAsked::default()
    });
    let svg = super::Format::named("svg").expect("a format").export(&run).expect("a picture");
    let svg = svg.text();
    assert!(elements(svg).iter().all(|name| name != "script" && name != "a"));
    assert!(super::exported(&[], "svg").is_err());
}
