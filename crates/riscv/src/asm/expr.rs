//! Expressions, with the precedence of GNU `as`: `* / % << >>`, then `| & ^ !`, `+ -`, comparisons, `&&`, `||`.

use super::error::{Fault, fault, quoted};
use super::statement::name_length;

/// A position in a section: behind `point` variable parts and `offset` fixed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub(super) section: u32,
    pub(super) point: u32,
    pub(super) offset: u64,
}

/// Operands of one expression.
const MAX_TERMS: usize = 500;
/// Parentheses inside each other.
const MAX_NESTING: usize = 50;

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Number(i64),
    Symbol(u32),
    Place(Place),
    Unary(Operator, Box<Expr>),
    Binary(Operator, Box<(Expr, Expr)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Neg,
    Not,
    LogicalNot,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    Or,
    And,
    Xor,
    OrNot,
    Add,
    Sub,
    Eq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
    LogicalAnd,
    LogicalOr,
}

/// Binary operators with their rank; a longer one before its beginning.
const BINARY: [(&str, Operator, u8); 21] = [
    ("<<", Operator::Shl, 8),
    (">>", Operator::Shr, 8),
    ("<=", Operator::Le, 4),
    (">=", Operator::Ge, 4),
    ("<>", Operator::Ne, 4),
    ("==", Operator::Eq, 4),
    ("!=", Operator::Ne, 4),
    ("&&", Operator::LogicalAnd, 3),
    ("||", Operator::LogicalOr, 2),
    ("*", Operator::Mul, 8),
    ("/", Operator::Div, 8),
    ("%", Operator::Rem, 8),
    ("|", Operator::Or, 7),
    ("&", Operator::And, 7),
    ("^", Operator::Xor, 7),
    ("!", Operator::OrNot, 7),
    ("+", Operator::Add, 5),
    ("-", Operator::Sub, 5),
    ("<", Operator::Lt, 4),
    (">", Operator::Gt, 4),
    ("=", Operator::Eq, 4),
];

/// The rank of an operator in C, for `#if`.
fn rank_in_c(operator: Operator) -> u8 {
    match operator {
        Operator::Mul | Operator::Div | Operator::Rem => 10,
        Operator::Add | Operator::Sub => 9,
        Operator::Shl | Operator::Shr => 8,
        Operator::Lt | Operator::Gt | Operator::Le | Operator::Ge => 7,
        Operator::Eq | Operator::Ne => 6,
        Operator::And => 5,
        Operator::Xor => 4,
        Operator::Or => 3,
        Operator::LogicalAnd => 2,
        _ => 1,
    }
}

/// Who knows the names in an expression.
pub(super) trait Names {
    /// The value of a name; `None` if there are no names here.
    fn name(&mut self, name: &str) -> Option<Expr>;
    /// A numeric label behind (`1b`) or before the statement (`1f`).
    fn numbered(&mut self, number: u64, forward: bool) -> Option<Expr>;
}

struct NoNames;

impl Names for NoNames {
    fn name(&mut self, _: &str) -> Option<Expr> {
        None
    }
    fn numbered(&mut self, _: u64, _: bool) -> Option<Expr> {
        None
    }
}

/// The value of an expression of numbers with the precedence of C, in which a comparison that holds is 1.
pub(super) fn constant(text: &str) -> Option<i64> {
    match parse_as(text, &mut NoNames, true) {
        Ok(Expr::Number(value)) => Some(value),
        _ => None,
    }
}

pub(super) fn parse(text: &str, names: &mut impl Names) -> Result<Expr, Fault> {
    parse_as(text, names, false)
}

fn parse_as(text: &str, names: &mut impl Names, in_c: bool) -> Result<Expr, Fault> {
    let mut parser = Parser { text, rest: text.trim_start(), names, in_c, terms: 0, nesting: 0 };
    let expr = parser.binary(0)?;
    if !parser.rest.is_empty() {
        return fault(parser.rest, format!("unexpected {} in an expression", quoted(parser.rest)));
    }
    Ok(expr)
}

struct Parser<'t, 'n, N> {
    text: &'t str,
    rest: &'t str,
    names: &'n mut N,
    in_c: bool,
    terms: usize,
    nesting: usize,
}

impl<'t, N: Names> Parser<'t, '_, N> {
    fn advance(&mut self, bytes: usize) -> &'t str {
        let (done, rest) = self.rest.split_at(bytes);
        self.rest = rest.trim_start();
        done
    }

    fn binary(&mut self, least: u8) -> Result<Expr, Fault> {
        let mut left = self.unary()?;
        loop {
            let found = BINARY.iter().find(|(text, _, _)| self.rest.starts_with(text));
            let ranked = found.map(|(text, operator, rank)| {
                (text, operator, if self.in_c { rank_in_c(*operator) } else { *rank })
            });
            let Some((text, operator, rank)) = ranked.filter(|(_, _, rank)| *rank > least) else {
                return Ok(left);
            };
            self.advance(text.len());
            let right = self.binary(rank)?;
            left = match (left, right) {
                (Expr::Number(a), Expr::Number(b)) => match operator.apply(a, b) {
                    Some(-1) if self.in_c && matches!(rank, 6 | 7) => Expr::Number(1),
                    Some(value) => Expr::Number(value),
                    None => return fault(self.text, "division by zero"),
                },
                operands => Expr::Binary(*operator, Box::new(operands)),
            };
        }
    }

    fn unary(&mut self) -> Result<Expr, Fault> {
        self.terms += 1;
        self.nesting += 1;
        if self.terms > MAX_TERMS || self.nesting > MAX_NESTING {
            return fault(self.text, "the expression is too long");
        }
        let operator = match self.rest.bytes().next() {
            Some(b'-') => Some(Operator::Neg),
            Some(b'~') => Some(Operator::Not),
            Some(b'!') => Some(Operator::LogicalNot),
            Some(b'+') => {
                self.advance(1);
                let term = self.unary();
                self.nesting -= 1;
                return term;
            }
            _ => None,
        };
        let term = match operator {
            Some(operator) => {
                self.advance(1);
                match self.unary()? {
                    Expr::Number(value) => Expr::Number(operator.apply_unary(value)),
                    term => Expr::Unary(operator, Box::new(term)),
                }
            }
            None => self.primary()?,
        };
        self.nesting -= 1;
        Ok(term)
    }

    fn primary(&mut self) -> Result<Expr, Fault> {
        match self.rest.bytes().next() {
            None if self.text.trim().is_empty() => fault(self.text, "an expression is missing"),
            None => fault(self.text, format!("an operand is missing in {}", quoted(self.text))),
            Some(b'(') => {
                self.advance(1);
                let inside = self.binary(0)?;
                if !self.rest.starts_with(')') {
                    return fault(self.text, format!("`)` is missing in {}", quoted(self.text)));
                }
                self.advance(1);
                Ok(inside)
            }
            Some(b'\'') => {
                let mut chars = self.rest[1..].chars();
                let (value, length) = match chars.next() {
                    Some('\\') => match escape(&self.rest.as_bytes()[1..]) {
                        Some((value, length)) => (i64::from(value), length),
                        None => return fault(self.rest, "unknown escape sequence"),
                    },
                    Some(c) => (i64::from(u32::from(c)), c.len_utf8()),
                    None => return fault(self.rest, "a character is missing"),
                };
                self.advance(1 + length);
                if self.rest.starts_with('\'') {
                    self.advance(1);
                }
                Ok(Expr::Number(value))
            }
            Some(b) if b.is_ascii_digit() => self.number(),
            Some(_) => {
                let length = name_length(self.rest);
                if length == 0 {
                    let message = format!("unexpected {} in an expression", quoted(self.rest));
                    return fault(self.rest, message);
                }
                let name = self.advance(length);
                match self.names.name(name) {
                    Some(expr) => Ok(expr),
                    None => fault(name, format!("{} is not a number", quoted(name))),
                }
            }
        }
    }

    fn number(&mut self) -> Result<Expr, Fault> {
        let bytes = self.rest.as_bytes();
        let length = bytes.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(bytes.len());
        let word = &self.rest[..length];
        if let Some(digits) = word.strip_suffix(['b', 'f'])
            && digits.bytes().all(|b| b.is_ascii_digit())
            && let Ok(number) = digits.parse()
        {
            self.advance(length);
            return match self.names.numbered(number, word.ends_with('f')) {
                Some(expr) => Ok(expr),
                None => fault(word, format!("there is no label `{digits}:` before this line")),
            };
        }
        let lower = word.to_ascii_lowercase();
        let (digits, radix) = match lower.as_bytes() {
            [b'0', b'x', ..] => (&lower[2..], 16),
            [b'0', b'b', ..] => (&lower[2..], 2),
            [b'0', _, ..] => (&lower[1..], 8),
            _ => (lower.as_str(), 10),
        };
        // The suffixes of C, which headers have.
        let digits = digits.trim_end_matches(['u', 'l']);
        match u64::from_str_radix(digits, radix) {
            Ok(value) => {
                self.advance(length);
                Ok(Expr::Number(value as i64))
            }
            Err(e) if *e.kind() == std::num::IntErrorKind::PosOverflow => {
                fault(word, format!("{} does not fit 64 bits", quoted(word)))
            }
            Err(_) => fault(word, format!("{} is not a number", quoted(word))),
        }
    }
}

/// The byte of an escape sequence that begins with a backslash, and how many bytes it has.
pub(super) fn escape(text: &[u8]) -> Option<(u8, usize)> {
    let simple = |value| Some((value, 2));
    match *text.get(1)? {
        b'n' => simple(b'\n'),
        b't' => simple(b'\t'),
        b'r' => simple(b'\r'),
        b'b' => simple(8),
        b'f' => simple(12),
        b'v' => simple(11),
        c @ (b'\\' | b'"' | b'\'') => simple(c),
        b'0'..=b'7' => {
            let digits = text[1..].iter().take(3).take_while(|b| matches!(b, b'0'..=b'7')).count();
            let value = text[1..=digits].iter().fold(0u32, |v, b| v * 8 + u32::from(b - b'0'));
            Some((value as u8, 1 + digits))
        }
        b'x' | b'X' => {
            let digits = text[2..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
            let digit = |b: &u8| char::from(*b).to_digit(16).unwrap_or(0);
            let value = text[2..2 + digits].iter().fold(0u32, |v, b| v.wrapping_mul(16) | digit(b));
            Some((value as u8, 2 + digits))
        }
        _ => None,
    }
}

impl Operator {
    pub(super) fn apply_unary(self, a: i64) -> i64 {
        match self {
            Self::Neg => a.wrapping_neg(),
            Self::Not => !a,
            _ => i64::from(a == 0),
        }
    }

    /// The value, or `None` for a division by zero. A comparison that holds is -1.
    pub(super) fn apply(self, a: i64, b: i64) -> Option<i64> {
        let truth = |t: bool| -i64::from(t);
        let shift = |value: u64| if (0..64).contains(&b) { value as i64 } else { 0 };
        Some(match self {
            Self::Mul => a.wrapping_mul(b),
            Self::Div if b == 0 => return None,
            Self::Rem if b == 0 => return None,
            Self::Div => a.wrapping_div(b),
            Self::Rem => a.wrapping_rem(b),
            Self::Shl => shift((a as u64).wrapping_shl(b as u32)),
            Self::Shr => shift((a as u64).wrapping_shr(b as u32)),
            Self::Or => a | b,
            Self::And => a & b,
            Self::Xor => a ^ b,
            Self::OrNot => a | !b,
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Eq => truth(a == b),
            Self::Ne => truth(a != b),
            Self::Lt => truth(a < b),
            Self::Gt => truth(a > b),
            Self::Le => truth(a <= b),
            Self::Ge => truth(a >= b),
            Self::LogicalAnd => i64::from(a != 0 && b != 0),
            Self::LogicalOr => i64::from(a != 0 || b != 0),
            Self::Neg | Self::Not | Self::LogicalNot => self.apply_unary(a),
        })
    }
}
