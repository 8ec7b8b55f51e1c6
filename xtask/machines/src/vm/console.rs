//! What a guest runs, and its console: the output of each script between the marks of [`INIT`].

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
now() { cut -d' ' -f1 /proc/uptime; }
for script in /case/*; do
  name=${script##*/}
  begin=$(now)
  sh "$script" > /tmp/out 2> /tmp/err < /dev/null
  status=$?
  end=$(now)
  echo "@@ begin $name"
  cat /tmp/out
  echo
  echo "@@ error $name"
  cat /tmp/err
  echo
  echo "@@ end $name $status $begin $end"
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
    /// Seconds of the guest's clock that it took.
    pub(super) seconds: f64,
}

/// The last line of a guest that has run all its scripts.
pub(super) const DONE: &str = "@@ done";

/// The sections in their order. A section without its end is left out.
pub(super) fn sections(console: &str) -> Vec<Section> {
    enum At {
        Outside,
        Out,
        Error,
    }
    let (mut all, mut at, mut out, mut error) = (Vec::new(), At::Outside, String::new(), String::new());
    for line in console.lines() {
        // The terminal adds a carriage return to each line; the firmware prints control characters before the first mark.
        let line = line.trim_end_matches('\r');
        let mark = line.find("@@ ").map(|place| &line[place + 3..]).unwrap_or_default();
        let mut words = mark.split(' ');
        match words.next() {
            Some("begin") => (at, out, error) = (At::Out, String::new(), String::new()),
            Some("error") if matches!(at, At::Out) => at = At::Error,
            Some("end") if matches!(at, At::Error) => {
                let words: Vec<&str> = words.collect();
                let number = |place: usize| words.get(place).and_then(|word| word.parse::<f64>().ok());
                if let (Some(name), Some(status), Some(begin), Some(end)) =
                    (words.first(), number(1), number(2), number(3))
                {
                    all.push(Section {
                        name: (*name).to_owned(),
                        status: status as i32,
                        out: std::mem::take(&mut out).trim_end().to_owned(),
                        error: std::mem::take(&mut error).trim_end().to_owned(),
                        seconds: end - begin,
                    });
                }
                at = At::Outside;
            }
            _ => {
                let text = match at {
                    At::Outside => continue,
                    At::Out => &mut out,
                    At::Error => &mut error,
                };
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    all
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
        let console = "SeaBIOS\x1b[2J@@ begin a\r\n{\r\n \"x\": 1 }\r\n\r\n@@ error a\r\noh\r\n\r\n@@ end a 3 1.50 2.25\r\n\
                       noise\r\n@@ begin b\r\nhalf";
        assert_eq!(
            sections(console),
            [Section {
                name: "a".into(),
                status: 3,
                out: "{\n \"x\": 1 }".into(),
                error: "oh".into(),
                seconds: 0.75
            }]
        );
        assert_eq!(tail(console, 2), ["@@ begin b", "half"]);
        assert_eq!(tail("one\n", 20), ["one"]);
    }
}
