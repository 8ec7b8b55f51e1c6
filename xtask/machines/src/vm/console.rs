//! What a guest runs, and its console: the output of each script between the marks of [`INIT`].

use regex::Regex;
use std::sync::LazyLock;

/// A shell script for the guest.
#[derive(Clone, Copy)]
pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) line: &'static str,
}

/// The first program of the guest. It runs each file of `/case` as a shell script and prints its output between marks.
///
/// `dmesg -n 1` keeps the kernel's messages out of that output; a panic is still printed.
pub(super) const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
dmesg -n 1
for script in /case/*; do
  name=${script##*/}
  sh "$script" > /tmp/out 2> /tmp/err < /dev/null
  status=$?
  echo "@@ begin $name"
  cat /tmp/out
  echo
  echo "@@ error $name"
  cat /tmp/err
  echo
  echo "@@ end $name $status"
done
echo "@@ done"
poweroff -f
"#;

/// What one script printed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    /// The script's name.
    pub(super) name: String,
    /// Its exit status.
    pub(super) status: i32,
    pub(super) out: String,
    pub(super) error: String,
}

/// The last line of a guest that has run all its scripts.
pub(super) const DONE: &str = "@@ done";

static SECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)@@ begin (\S+)\n(.*?)\n@@ error \S+\n(.*?)\n@@ end \S+ (\d+)\n")
        .expect("a valid pattern")
});

/// The sections in their order. A section without its end is left out.
pub(super) fn sections(console: &str) -> Vec<Section> {
    // The terminal adds a carriage return to each line.
    let console = console.replace('\r', "");
    let section = |[name, out, error, status]: [&str; 4]| {
        let [name, out, error] = [name, out, error].map(|text| text.trim_end().to_owned());
        Some(Section { name, status: status.parse().ok()?, out, error })
    };
    SECTION.captures_iter(&console).filter_map(|found| section(found.extract().1)).collect()
}

/// The last `count` lines that are not blank.
pub(super) fn tail(console: &str, count: usize) -> Vec<&str> {
    let lines: Vec<&str> = console.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::{Section, sections, tail};

    #[test]
    fn only_the_text_between_marks_is_read() {
        let console = "SeaBIOS\x1b[2J@@ begin a\r\n{\r\n \"x\": 1 }\r\n\r\n@@ error a\r\noh\r\n\r\n@@ end a 3\r\n\
                       noise\r\n@@ begin b\r\nhalf";
        assert_eq!(
            sections(console),
            [Section { name: "a".into(), status: 3, out: "{\n \"x\": 1 }".into(), error: "oh".into() }]
        );
        assert_eq!(tail(console, 2), ["@@ begin b", "half"]);
        assert_eq!(tail("one\n", 20), ["one"]);
    }
}
