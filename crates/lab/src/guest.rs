//! The output of a guest. The program's report of its own measurement is one line, see `report` in
//! `guests/riscv/user/bill.c`.

use crate::bill::Spread;

/// The program's own report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// The result of the system call.
    pub(crate) result: Option<i64>,
    /// Differences of two reads of the counter, one of which is the first read itself.
    pub(crate) spread: Spread,
}

impl Report {
    /// The first such line in what a guest printed. Other text, and damaged lines, are passed over.
    pub(crate) fn find(text: &str) -> Option<Self> {
        text.lines().find_map(Self::parse)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        if words.next()? != "toll" {
            return None;
        }
        let kind = words.next()?;
        let mut field = |name: &str| (words.next()? == name).then(|| words.next()?.parse::<i64>().ok())?;
        let _number = field("number")?;
        let result = field("result")?;
        let mut count = |name: &str| u64::try_from(field(name)?).ok();
        let spread = Spread {
            single: count("single")?,
            min: count("min")?,
            max: count("max")?,
            sum: count("sum")?,
            count: count("count").filter(|&n| n > 0)?,
        };
        Some(Self { result: (kind == "call").then_some(result), spread })
    }
}

/// How many bits of an address space identifier a kernel that looks for them found (`guests/riscv/kernel/boot.c`).
pub(crate) fn asid_bits(text: &str) -> Option<u32> {
    text.lines().find_map(|line| line.trim_end().strip_prefix("toll asid bits ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_among_others() {
        let text =
            "bbl loader\r\n...\r\ntoll call number 255 result -38 single 9 min 7 max 8 sum 15 count 2\r\n";
        let report = Report::find(text).unwrap();
        assert_eq!(report.result, Some(-38));
        assert_eq!(report.spread, Spread { single: 9, min: 7, max: 8, sum: 15, count: 2 });
    }

    #[test]
    fn identifiers_are_found_before_the_report() {
        let text =
            "toll asid bits 9\r\ntoll yield number 124 result 0 single 9 min 7 max 8 sum 15 count 2\r\n";
        assert_eq!(asid_bits(text), Some(9));
        assert!(Report::find(text).is_some());
        assert_eq!(asid_bits("toll asid bits\ntoll asid bits -1\n"), None);
    }

    #[test]
    fn damaged_lines_are_not_believed() {
        let good = "toll call number 172 result 1 single 9 min 7 max 8 sum 15 count 2";
        assert!(Report::find(good).is_some());
        for end in 0..good.len() {
            assert_eq!(Report::find(&good[..end]), None, "{}", &good[..end]);
        }
        assert_eq!(Report::find(&good.replace("count 2", "count 0")), None);
        assert_eq!(Report::find(&good.replace("min 7", "min -7")), None);
    }
}
