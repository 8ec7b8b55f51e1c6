//! Formulas of exercise files: integers, names, `+ - * / %`, parentheses, and at most one comparison.

use std::fmt;

/// Parentheses and signs inside each other.
const DEEPEST: u32 = 50;

/// How two sides are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Differs,
    AtMost,
    AtLeast,
    Below,
    Above,
}

impl Relation {
    /// The longer signs first.
    const SIGNS: [(&'static str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::Differs),
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("<", Self::Below),
        (">", Self::Above),
    ];

    pub(super) fn holds(self, left: i128, right: i128) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Differs => left != right,
            Self::AtMost => left <= right,
            Self::AtLeast => left >= right,
            Self::Below => left < right,
            Self::Above => left > right,
        }
    }
}

/// In front of the right side, in a sentence on what is expected.
impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "",
            Self::Differs => "not ",
            Self::AtMost => "at most ",
            Self::AtLeast => "at least ",
            Self::Below => "less than ",
            Self::Above => "more than ",
        })
    }
}

/// A comparison with the values of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) left: i128,
    pub(super) relation: Relation,
    pub(super) right: i128,
}

impl Comparison {
    pub(super) fn holds(&self) -> bool {
        self.relation.holds(self.left, self.right)
    }
}

/// Gives names their values, or says why it cannot.
pub(super) type Names<'a> = &'a dyn Fn(&str) -> Result<i128, String>;

/// The value of a formula without a comparison.
pub(super) fn value(text: &str, names: Names<'_>) -> Result<i128, String> {
    let mut parser = Parser { rest: text, names, depth: 0 };
    let value = parser.sum()?;
    parser.end()?;
    Ok(value)
}

/// The sides of a comparison.
pub(super) fn comparison(text: &str, names: Names<'_>) -> Result<Comparison, String> {
    let mut parser = Parser { rest: text, names, depth: 0 };
    let left = parser.sum()?;
    let sign = Relation::SIGNS.iter().find(|(sign, _)| parser.takes(sign));
    let (_, relation) = sign.ok_or_else(|| format!("'{text}' compares nothing: write LEFT == RIGHT"))?;
    let right = parser.sum()?;
    parser.end()?;
    Ok(Comparison { left, relation: *relation, right })
}

struct Parser<'a> {
    rest: &'a str,
    names: Names<'a>,
    depth: u32,
}

impl Parser<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn end(&self) -> Result<(), String> {
        match self.rest.trim() {
            "" => Ok(()),
            rest => Err(format!("'{rest}' is not expected here")),
        }
    }

    fn sum(&mut self) -> Result<i128, String> {
        let mut value = self.product()?;
        loop {
            let next = match () {
                () if self.takes("+") => value.checked_add(self.product()?),
                () if self.takes("-") => value.checked_sub(self.product()?),
                () => return Ok(value),
            };
            value = next.ok_or("a number is too large")?;
        }
    }

    fn product(&mut self) -> Result<i128, String> {
        let mut value = self.factor()?;
        loop {
            let next = match () {
                () if self.takes("*") => value.checked_mul(self.factor()?),
                () if self.takes("/") => value.checked_div(self.factor()?),
                () if self.takes("%") => value.checked_rem(self.factor()?),
                () => return Ok(value),
            };
            value = next.ok_or("a number is too large, or a divisor is zero")?;
        }
    }

    fn factor(&mut self) -> Result<i128, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("the formula is nested too deep".into());
        }
        let value = if self.takes("(") {
            let value = self.sum()?;
            if !self.takes(")") {
                return Err("a ')' is missing".into());
            }
            value
        } else if self.takes("-") {
            -self.factor()?
        } else {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '@');
            let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(end);
            self.rest = rest;
            match word.as_bytes().first() {
                None => return Err("a number or a name is missing".into()),
                Some(b'0'..=b'9') => number(word).ok_or_else(|| format!("'{word}' is not a number"))?,
                Some(_) => (self.names)(word)?,
            }
        };
        self.depth -= 1;
        Ok(value)
    }
}

fn number(word: &str) -> Option<i128> {
    match word.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str) -> Result<i128, String> {
        if name == "cycles.save@given" { Ok(7) } else { Err(format!("no {name}")) }
    }

    #[test]
    fn operators_bind_as_in_c() {
        assert_eq!(value("1 + 2 * 3 - 8 / 4 % 2", &names), Ok(7));
        assert_eq!(value("-(0x10 - 4) * cycles.save@given", &names), Ok(-84));
    }

    #[test]
    fn a_comparison_gives_both_sides() {
        let found = comparison("cycles.save@given * 2 <= 13", &names).unwrap();
        assert_eq!(found, Comparison { left: 14, relation: Relation::AtMost, right: 13 });
        assert!(!found.holds());
    }

    #[test]
    fn what_is_not_a_formula_is_an_error() {
        for text in ["", "1 +", "(1", "1 2", "1/0", "x", "9z", &"(".repeat(10_000), &"9".repeat(50)] {
            assert!(value(text, &names).is_err(), "{text}");
        }
        assert!(comparison("1 + 1", &names).is_err());
    }
}
